package io.icebergzorder.spark4;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** The result of a procedure. */
final class Rows implements LocalScan {
  private final StructType schema;
  private final List<Object[]> values;

  private Rows(StructType schema, List<Object[]> values) {
    this.schema = schema;
    this.values = values;
  }

  /** Results, as procedures return them. */
  static Iterator<Scan> of(StructType schema, List<Object[]> values) {
    return List.<Scan>of(new Rows(schema, values)).iterator();
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public InternalRow[] rows() {
    return values.stream().map(GenericInternalRow::new).toArray(InternalRow[]::new);
  }
}
