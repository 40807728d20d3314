package io.icebergzorder.spark.sample;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.request.PartitionColumn;
import io.icebergzorder.spark.request.RowOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Where the values of a row order's columns come from in a data frame of the table: {@link RowOrder#all()} in that order. */
public final class KeySources {
  private final Table table;
  private final RowOrder order;
  private final FunctionScope scope;

  public KeySources(Table table, RowOrder order, FunctionScope scope) {
    this.table = table;
    this.order = order;
    this.scope = scope;
  }

  /** The value of a column: one of the table's, or a partition field's key. */
  public Column value(int ordinal) {
    if (ordinal >= order.partition().size()) {
      return functions.col(order.all().get(ordinal).name());
    }
    PartitionColumn field = order.partition().get(ordinal);
    return scope.call(field.value(), functions.col(field.source().name()));
  }

  /** The type as which Spark reads that value. */
  public DataType type(int ordinal) {
    ClusteringColumn column = order.all().get(ordinal);
    if (ordinal < order.partition().size()) {
      return column.type().equals("long") ? DataTypes.LongType : DataTypes.BinaryType;
    }
    Type type = table.schema().asStruct();
    for (String part : column.parts()) {
    type = type.asStructType().field(part).type();
    }
    return SparkSchemaUtil.convert(type);
  }
}
