package io.icebergzorder.spark.joins;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.apache.iceberg.TableMetadata;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportPartitioning;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.partitioning.Partitioning;
import org.apache.spark.sql.types.StructType;

/**
 * Iceberg's scan, which takes the keys of joins on every column in which the files' bounds are tight.
 *
 * <p>Spark calls {@link #filter} with the keys, then {@link #toBatch} and {@link #reportDriverMetrics}, all in one thread. What
 * {@code filter} plans is handed to these two calls alone. Iceberg's scan itself never changes, so that its equality, by which adaptive
 * execution finds equal stages, holds before and after, and other queries that share it read what they should.
 */
final class PrunableScan implements SupportsRuntimeV2Filtering, SupportsReportStatistics, SupportsReportPartitioning {
  private static final String FILES_READ = "resultDataFiles";

  private final PrunableScanBuilder builder;
  private final Scan iceberg;
  private final TableMetadata metadata;

  /** The extents of tight columns, as they were when Spark asked for the columns: measuring them again may take seconds. */
  private final Map<String, Extent> extents = new ConcurrentHashMap<>();

  private final ThreadLocal<Batch> nextBatch = new ThreadLocal<>();
  private final ThreadLocal<Scan> nextMetrics = new ThreadLocal<>();

  PrunableScan(PrunableScanBuilder builder, Scan iceberg, TableMetadata metadata) {
    this.builder = builder;
    this.iceberg = iceberg;
    this.metadata = metadata;
  }

  @Override
  public NamedReference[] filterAttributes() {
    NamedReference[] partitions = ((SupportsRuntimeV2Filtering) iceberg).filterAttributes();
    try {
      Set<String> names = new HashSet<>();
      Map<NamedReference, Extent> tight = TightColumns.of(builder.table().table(), metadata, readSchema());
      tight.forEach((column, extent) -> extents.put(column.toString(), extent));
      return Stream.concat(Arrays.stream(partitions), tight.keySet().stream()).filter(each -> names.add(each.toString())).toArray(NamedReference[]::new);
    } catch (RuntimeException | LinkageError e) {
      JoinPruning.warnOnce("Joins skip no files, because the bounds of a table's files cannot be read", e);
      return partitions;
    }
  }

  @Override
  public void filter(Predicate[] predicates) {
    nextBatch.remove();
    nextMetrics.remove();
    Set<String> partitions = new HashSet<>();
    for (NamedReference each : ((SupportsRuntimeV2Filtering) iceberg).filterAttributes()) {
      partitions.add(each.toString());
    }
    Predicate[] ofPartitions =
        Arrays.stream(predicates)
            .filter(each -> each.children().length > 0 && partitions.contains(each.children()[0].toString()))
            .toArray(Predicate[]::new);
    if (!planAgain(predicates, ofPartitions) && ofPartitions.length > 0) {
      ((SupportsRuntimeV2Filtering) iceberg).filter(ofPartitions);
    }
  }

  /** Whether the files that may hold the keys are planned. */
  private boolean planAgain(Predicate[] predicates, Predicate[] ofPartitions) {
    try {
      List<Predicate> ranges = new ArrayList<>();
      for (Predicate predicate : predicates) {
        String column = predicate.children().length == 0 ? "" : predicate.children()[0].toString();
        KeyRanges.of(predicate, extents.getOrDefault(column, Extent.UNKNOWN)).ifPresent(ranges::add);
      }
      Scan again = ranges.isEmpty() ? null : builder.buildAgain(ranges, metadata);
      if (!(again instanceof SupportsRuntimeV2Filtering filtered) || !again.readSchema().equals(readSchema())) {
        return false;
      }
      if (ofPartitions.length > 0) {
        filtered.filter(ofPartitions);
      }
      nextBatch.set(again.toBatch()); // reads manifests
      nextMetrics.set(again);
      return true;
    } catch (RuntimeException | LinkageError e) {
      JoinPruning.warnOnce("Joins skip no files, because a scan cannot be planned with their keys", e);
      return false;
    }
  }

  @Override
  public Batch toBatch() {
    Batch again = nextBatch.get();
    nextBatch.remove();
    return again == null ? iceberg.toBatch() : again;
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    Scan again = nextMetrics.get();
    nextMetrics.remove();
    CustomTaskMetric[] all = iceberg.reportDriverMetrics();
    CustomTaskMetric[] read = again == null ? all : again.reportDriverMetrics();
    long skipped = Math.max(0, filesRead(all) - filesRead(read));
    return Stream.concat(Arrays.stream(read), Stream.of(new FilesSkipped(skipped))).toArray(CustomTaskMetric[]::new);
  }

  private static long filesRead(CustomTaskMetric[] metrics) {
    return Arrays.stream(metrics).filter(each -> each.name().equals(FILES_READ)).mapToLong(CustomTaskMetric::value).sum();
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return Stream.concat(Arrays.stream(iceberg.supportedCustomMetrics()), Stream.of(new FilesSkippedByJoins()))
        .toArray(CustomMetric[]::new);
  }

  @Override
  public StructType readSchema() {
    return iceberg.readSchema();
  }

  @Override
  public String description() {
    return iceberg.description();
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return iceberg.columnarSupportMode();
  }

  @Override
  public Statistics estimateStatistics() {
    return ((SupportsReportStatistics) iceberg).estimateStatistics();
  }

  @Override
  public Partitioning outputPartitioning() {
    return ((SupportsReportPartitioning) iceberg).outputPartitioning();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PrunableScan that && iceberg.equals(that.iceberg);
  }

  @Override
  public int hashCode() {
    return iceberg.hashCode();
  }

  @Override
  public String toString() {
    return iceberg.toString();
  }

  /** The metric in Spark's plans. Spark makes it by its name, so that it is public. */
  public static final class FilesSkippedByJoins extends CustomSumMetric {
    static final String NAME = "filesSkippedByJoins";

    @Override
    public String name() {
      return NAME;
    }

    @Override
    public String description() {
      return "number of files skipped by joins";
    }
  }

  private record FilesSkipped(long value) implements CustomTaskMetric {
    @Override
    public String name() {
      return FilesSkippedByJoins.NAME;
    }
  }
}
