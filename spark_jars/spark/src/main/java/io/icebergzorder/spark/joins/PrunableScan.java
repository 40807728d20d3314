package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.PlannedTasks;
import io.icebergzorder.spark.internals.SparkInternals;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;

/**
 * Iceberg's scan, which takes the keys of joins on every column in which the files' bounds are tight.
 *
 * <p>Keys of partition columns go to Iceberg's own filter. Keys of other columns drop whole files from those that Iceberg has planned, by
 * the bounds of each. They become no filter: nothing that reads a file knows them.
 *
 * <p>Spark calls {@code filter} with the keys, then {@code toBatch} and {@code reportDriverMetrics}, all in one thread. What {@code
 * filter} finds is handed to these two calls alone. Iceberg's scan stays as it was but for its own filter, so that other queries that
 * share it read what they should.
 */
final class PrunableScan extends StandIn {
  private static final String FILES_READ = "resultDataFiles";
  private static final String BYTES_READ = "totalDataFileSize";

  private final SupportsRuntimeV2Filtering iceberg;
  private final Table table;
  private final Set<String> withheld;
  private final ThreadLocal<Batch> nextBatch = new ThreadLocal<>();
  private final ThreadLocal<Map<String, Long>> nextMetrics = new ThreadLocal<>();

  private PrunableScan(SupportsRuntimeV2Filtering iceberg, Table table, Set<String> withheld) {
    super(iceberg);
    this.iceberg = iceberg;
    this.table = table;
    this.withheld = withheld;
  }

  static Scan before(Scan iceberg, Table table, Set<String> withheld) {
    return new PrunableScan((SupportsRuntimeV2Filtering) iceberg, table, withheld).as(Scan.class);
  }

  /** One call at a time: while a batch of some files is made, the scan's files are those. */
  @Override
  synchronized Object answer(Method method, Object[] arguments) throws Throwable {
    switch (method.getName()) {
      case "filterAttributes":
        return filterAttributes();
      case "filter":
        filter((Predicate[]) arguments[0]);
        return null;
      case "toBatch":
        Batch next = nextBatch.get();
        nextBatch.remove();
        return next == null ? passOn(method, arguments) : next;
      case "supportedCustomMetrics":
        return with((CustomMetric[]) passOn(method, arguments), new FilesSkippedByJoins());
      case "reportDriverMetrics":
        return metrics((CustomTaskMetric[]) passOn(method, arguments));
      default:
        return passOn(method, arguments);
    }
  }

  private static <T> T[] with(T[] some, T another) {
    T[] all = Arrays.copyOf(some, some.length + 1);
    all[some.length] = another;
    return all;
  }

  /** Iceberg's metrics, with the files that are read in the place of those that it planned. */
  private CustomTaskMetric[] metrics(CustomTaskMetric[] planned) {
    Map<String, Long> read = Optional.ofNullable(nextMetrics.get()).orElse(Map.of());
    nextMetrics.remove();
    CustomTaskMetric[] all = with(planned, new Metric(FilesSkippedByJoins.NAME, 0));
    Arrays.setAll(all, i -> read.containsKey(all[i].name()) ? new Metric(all[i].name(), read.get(all[i].name())) : all[i]);
    return all;
  }

  private NamedReference[] filterAttributes() {
    NamedReference[] ofPartitions = iceberg.filterAttributes();
    try {
      BatchScan scan = PlannedTasks.scan(iceberg);
      if (scan == null || scan.snapshot() == null) {
        return ofPartitions;
      }
      Set<Integer> tight = TightColumns.of(table);
      Set<String> partitions = names(ofPartitions);
      Stream<NamedReference> others =
          scan.schema().columns().stream()
              .filter(each -> tight.contains(each.fieldId()) && !withheld.contains(each.name()))
              .map(each -> Expressions.column(SparkInternals.quoted(each.name())))
              .filter(each -> !partitions.contains(each.toString()));
      return Stream.concat(Arrays.stream(ofPartitions), others).toArray(NamedReference[]::new);
    } catch (RuntimeException | LinkageError e) {
      JoinPruning.warnOnce("Joins skip no files, because the bounds of a table's files cannot be read", e);
      return ofPartitions;
    }
  }

  private static Set<String> names(NamedReference[] columns) {
    return Arrays.stream(columns).map(Object::toString).collect(Collectors.toSet());
  }

  private void filter(Predicate[] predicates) {
    nextBatch.remove();
    nextMetrics.remove();
    Set<String> partitions = names(iceberg.filterAttributes());
    List<Predicate> ofPartitions = new ArrayList<>();
    List<Predicate> others = new ArrayList<>();
    for (Predicate each : predicates) {
      boolean isOfPartition = each.children().length > 0 && partitions.contains(each.children()[0].toString());
      (isOfPartition ? ofPartitions : others).add(each);
    }
    int planned = PlannedTasks.tasks(iceberg).size();
    if (!ofPartitions.isEmpty()) {
      iceberg.filter(ofPartitions.toArray(Predicate[]::new));
    }
    try {
      List<FileScanTask> left = PlannedTasks.tasks(iceberg).stream().map(FileScanTask.class::cast).toList();
      List<FileScanTask> read = withKeys(left, others);
      if (read.size() < left.size()) {
        nextBatch.set(PlannedTasks.batch(iceberg, read));
      }
      nextMetrics.set(
          Map.of(
              FilesSkippedByJoins.NAME,
              (long) planned - read.size(),
              FILES_READ,
              (long) read.size(),
              BYTES_READ,
              read.stream().mapToLong(each -> each.file().fileSizeInBytes()).sum()));
    } catch (RuntimeException | LinkageError e) {
      JoinPruning.warnOnce("Joins skip no files, because the bounds of a table's files cannot be read", e);
    }
  }

  /** The files that may hold the keys of all predicates. */
  private List<FileScanTask> withKeys(List<FileScanTask> files, List<Predicate> predicates) {
    BatchScan scan = PlannedTasks.scan(iceberg);
    List<ColumnKeys> keys = predicates.stream().map(each -> ColumnKeys.from(each, scan.schema())).flatMap(Optional::stream).toList();
    if (keys.isEmpty() || files.isEmpty()) {
      return files;
    }
    Set<String> without = BoundsReader.filesWithout(table, scan, files, keys);
    return files.stream().filter(each -> !without.contains(each.file().location())).toList();
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

  private record Metric(String name, long value) implements CustomTaskMetric {}
}
