package io.icebergzorder.spark.joins;

import java.lang.reflect.Method;
import java.util.Set;
import org.apache.iceberg.Table;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsReportPartitioning;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.partitioning.KeyGroupedPartitioning;

/** Iceberg's scan builder, whose scans take the keys of joins, unless Spark relies on which files they read. */
final class PrunableScanBuilder extends StandIn {
  private final Table table;
  private final Set<String> compared;
  private boolean hasLimit;

  private PrunableScanBuilder(ScanBuilder iceberg, Table table, Set<String> compared) {
    super(iceberg);
    this.table = table;
    this.compared = compared;
  }

  static ScanBuilder wrap(ScanBuilder iceberg, Table table, Set<String> compared) {
    return new PrunableScanBuilder(iceberg, table, compared).as(ScanBuilder.class);
  }

  @Override
  Object answer(Method method, Object[] arguments) throws Throwable {
    Object answer = passOn(method, arguments);
    hasLimit |= method.getName().equals("pushLimit") && Boolean.TRUE.equals(answer);
    return answer instanceof Scan scan && isServed(scan) ? PrunableScan.wrap(scan, table, compared) : answer;
  }

  private boolean isServed(Scan scan) {
    return !hasLimit
        && scan instanceof SupportsRuntimeV2Filtering
        && scan instanceof SupportsReportStatistics
        && scan instanceof SupportsReportPartitioning partitioned
        && !(partitioned.outputPartitioning() instanceof KeyGroupedPartitioning);
  }
}
