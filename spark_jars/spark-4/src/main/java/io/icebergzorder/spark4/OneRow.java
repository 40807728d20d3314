package io.icebergzorder.spark4;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** The result of a procedure that returns one row. */
final class OneRow implements LocalScan {
  private final StructType schema;
  private final Object[] values;

  OneRow(StructType schema, Object... values) {
    this.schema = schema;
    this.values = values;
  }

  Iterator<Scan> iterator() {
    return List.<Scan>of(this).iterator();
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public InternalRow[] rows() {
    return new InternalRow[] {new GenericInternalRow(values)};
  }
}
