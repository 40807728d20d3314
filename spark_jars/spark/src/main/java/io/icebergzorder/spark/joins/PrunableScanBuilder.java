package io.icebergzorder.spark.joins;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.TableMetadata;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.connector.read.SupportsReportPartitioning;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.partitioning.KeyGroupedPartitioning;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Iceberg's scan builder, and a record of what Spark pushes into it, so that the same scan can be planned again with further predicates.
 * Iceberg decides whatever is decided.
 */
final class PrunableScanBuilder
    implements SupportsPushDownV2Filters, SupportsPushDownRequiredColumns, SupportsPushDownLimit, SupportsPushDownAggregates {
  private static final Set<Class<?>> BUILDER_CALLS =
      Set.of(
          ScanBuilder.class,
          SupportsPushDownV2Filters.class,
          SupportsPushDownRequiredColumns.class,
          SupportsPushDownLimit.class,
          SupportsPushDownAggregates.class,
          SupportsReportStatistics.class,
          Scan.class);

  private static final Set<Class<?>> SCAN_CALLS =
      Set.of(Scan.class, SupportsRuntimeV2Filtering.class, SupportsReportStatistics.class, SupportsReportPartitioning.class);

  private final PrunableTable table;
  private final CaseInsensitiveStringMap options;
  private final ScanBuilder iceberg;
  private Predicate[] predicates = {};
  private StructType columns;
  private boolean hasLimit;

  private PrunableScanBuilder(PrunableTable table, CaseInsensitiveStringMap options, ScanBuilder iceberg) {
    this.table = table;
    this.options = options;
    this.iceberg = iceberg;
  }

  /** A builder around Iceberg's, or Iceberg's own if Spark can push more into it than is recorded here. */
  static ScanBuilder around(PrunableTable table, CaseInsensitiveStringMap options) {
    ScanBuilder iceberg = table.iceberg().newScanBuilder(options);
    boolean isWhole =
        iceberg instanceof SupportsPushDownV2Filters
            && iceberg instanceof SupportsPushDownRequiredColumns
            && iceberg instanceof SupportsPushDownLimit
            && iceberg instanceof SupportsPushDownAggregates;
    return isWhole && hasOnly(iceberg, BUILDER_CALLS) ? new PrunableScanBuilder(table, options, iceberg) : iceberg;
  }

  /** Whether Spark sees no other of its interfaces in an object, so that none is hidden by an object around it. */
  private static boolean hasOnly(Object object, Set<Class<?>> known) {
    List<Class<?>> open = new ArrayList<>(List.of(object.getClass()));
    while (!open.isEmpty()) {
      Class<?> type = open.remove(open.size() - 1);
      if (type.isInterface() && type.getName().startsWith("org.apache.spark.") && !known.contains(type)
          && Arrays.stream(type.getInterfaces()).anyMatch(parent -> parent.getName().startsWith("org.apache.spark."))) {
        return false;
      }
      open.addAll(Arrays.asList(type.getInterfaces()));
      if (type.getSuperclass() != null) {
        open.add(type.getSuperclass());
      }
    }
    return true;
  }

  @Override
  public Scan build() {
    TableMetadata before = table.metadata();
    Scan scan = iceberg.build();
    boolean isServed =
        !hasLimit
            && scan instanceof SupportsRuntimeV2Filtering
            && scan instanceof SupportsReportStatistics
            && scan instanceof SupportsReportPartitioning partitioned
            && hasOnly(scan, SCAN_CALLS)
            && !(partitioned.outputPartitioning() instanceof KeyGroupedPartitioning);
    return isServed && table.metadata() == before ? new PrunableScan(this, scan, before) : scan;
  }

  PrunableTable table() {
    return table;
  }

  /** The same scan with further predicates; null if the table has changed since, so that it would read something else. */
  Scan buildAgain(List<Predicate> further, TableMetadata metadata) {
    if (table.metadata() != metadata) {
      return null;
    }
    ScanBuilder again = table.iceberg().newScanBuilder(options);
    List<Predicate> all = new ArrayList<>(List.of(predicates));
    all.addAll(further);
    ((SupportsPushDownV2Filters) again).pushPredicates(all.toArray(Predicate[]::new));
    if (columns != null) {
      ((SupportsPushDownRequiredColumns) again).pruneColumns(columns);
    }
    Scan scan = again.build();
    return table.metadata() == metadata ? scan : null;
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] pushed) {
    predicates = pushed.clone();
    return ((SupportsPushDownV2Filters) iceberg).pushPredicates(pushed);
  }

  @Override
  public Predicate[] pushedPredicates() {
    return ((SupportsPushDownV2Filters) iceberg).pushedPredicates();
  }

  @Override
  public void pruneColumns(StructType required) {
    columns = required;
    ((SupportsPushDownRequiredColumns) iceberg).pruneColumns(required);
  }

  @Override
  public boolean pushLimit(int limit) {
    boolean isPushed = ((SupportsPushDownLimit) iceberg).pushLimit(limit);
    hasLimit |= isPushed;
    return isPushed;
  }

  @Override
  public boolean isPartiallyPushed() {
    return ((SupportsPushDownLimit) iceberg).isPartiallyPushed();
  }

  @Override
  public boolean supportCompletePushDown(Aggregation aggregation) {
    return ((SupportsPushDownAggregates) iceberg).supportCompletePushDown(aggregation);
  }

  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    return ((SupportsPushDownAggregates) iceberg).pushAggregation(aggregation);
  }
}
