package io.icebergzorder.spark.joins;

import java.lang.reflect.Method;
import java.util.Set;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.read.ScanBuilder;

/** Iceberg's table for reading, with scans that take the keys of joins. */
final class PrunableTable extends StandIn {
  private final SparkTable iceberg;
  private final Set<String> compared;

  private PrunableTable(SparkTable iceberg, Set<String> compared) {
    super(iceberg);
    this.iceberg = iceberg;
    this.compared = compared;
  }

  /** The table for a plan; {@code compared} are the columns that may be keys of joins. */
  static Table wrap(SparkTable iceberg, Set<String> compared) {
    return new PrunableTable(iceberg, compared).as(Table.class);
  }

  @Override
  Object answer(Method method, Object[] arguments) throws Throwable {
    Object answer = passOn(method, arguments);
    return answer instanceof ScanBuilder builder ? PrunableScanBuilder.wrap(builder, iceberg.table(), compared) : answer;
  }
}
