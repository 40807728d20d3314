package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.PlannedTasks;
import io.icebergzorder.spark.internals.SparkInternals;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
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
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.internal.SQLConf;

/**
 * A proxy of Iceberg's scan that accepts the keys of joins for partition columns and for tight columns.
 *
 * <p>Keys of partition columns go to Iceberg's own filter. Keys of tight columns drop planned files by the files' own bounds. They do not
 * filter row groups or rows.
 *
 * <p>Spark calls {@code toBatch} once before the keys arrive; then {@code filter}, {@code toBatch} and {@code reportDriverMetrics} in one
 * thread, so {@code filter} leaves what it finds in thread-locals for the two. Keys of tight columns do not change Iceberg's scan, which
 * other queries may share. Keys of partition columns change it, as without the jar.
 */
final class PrunableScan extends StandIn {
  private static final String RESULT_DATA_FILES = "resultDataFiles";
  private static final String TOTAL_DATA_FILE_SIZE = "totalDataFileSize";

  /** What Spark estimates for a row of a wide scan, of which the join needs a key of 8 bytes only. */
  private static final long BYTES_OF_A_ROW = 16;

  private final SupportsRuntimeV2Filtering icebergScan;
  private final Table table;
  private volatile Set<String> compared;
  private final ThreadLocal<Batch> nextBatch = new ThreadLocal<>();
  private final ThreadLocal<Map<String, Long>> nextMetrics = ThreadLocal.withInitial(Map::of);

  private PrunableScan(SupportsRuntimeV2Filtering icebergScan, Table table, Set<String> compared) {
    super(icebergScan);
    this.icebergScan = icebergScan;
    this.table = table;
    this.compared = compared;
  }

  static Scan wrap(Scan scan, Table table, Set<String> compared) {
    return new PrunableScan((SupportsRuntimeV2Filtering) scan, table, compared).as(Scan.class);
  }

  /** The table that such a scan reads. */
  static Table table(Scan scan) {
    return of(scan).table;
  }

  /** Has such a scan take no keys from now on but those of partition columns; it keeps those that Spark has added. */
  static void takeNoMoreKeys(Scan scan) {
    of(scan).compared = Set.of();
  }

  private static PrunableScan of(Scan scan) {
    return (PrunableScan) Proxy.getInvocationHandler(scan);
  }

  /** Synchronized, because {@code PlannedTasks.batch} replaces the scan's tasks for a moment. */
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
        return append((CustomMetric[]) passOn(method, arguments), new FilesSkippedByJoins());
      case "reportDriverMetrics":
        return metrics((CustomTaskMetric[]) passOn(method, arguments));
      default:
        return passOn(method, arguments);
    }
  }

  private static <T> T[] append(T[] array, T element) {
    T[] all = Arrays.copyOf(array, array.length + 1);
    all[array.length] = element;
    return all;
  }

  /** Iceberg's metrics; with the number of files and their size after join pruning. */
  private CustomTaskMetric[] metrics(CustomTaskMetric[] planned) {
    Map<String, Long> pruned = nextMetrics.get();
    nextMetrics.remove();
    CustomTaskMetric[] all = append(planned, new Metric(FilesSkippedByJoins.NAME, 0));
    Arrays.setAll(all, i -> pruned.containsKey(all[i].name()) ? new Metric(all[i].name(), pruned.get(all[i].name())) : all[i]);
    return all;
  }

  private NamedReference[] filterAttributes() {
    NamedReference[] partitionColumns = icebergScan.filterAttributes();
    try {
      BatchScan scan = PlannedTasks.scan(icebergScan);
      if (scan == null || scan.snapshot() == null || mayBeBroadcast()) { // null: an incremental read, an empty table
        return partitionColumns;
      }
      Set<Integer> tight = TightColumns.of(table, scan.schema(), compared, () -> PlannedTasks.tasks(icebergScan).size());
      Set<String> ofPartitions = names(partitionColumns);
      Stream<NamedReference> others =
          scan.schema().columns().stream()
              .filter(each -> tight.contains(each.fieldId()) && compared.contains(each.name()))
              .map(each -> Expressions.column(SparkInternals.quoted(each.name())))
              .filter(each -> !ofPartitions.contains(each.toString()));
      return Stream.concat(Arrays.stream(partitionColumns), others).toArray(NamedReference[]::new);
    } catch (RuntimeException | LinkageError e) {
      warn(e);
      return partitionColumns;
    }
  }

  /**
   * Whether Spark may broadcast the rows of this scan. Spark prunes one side of each join, the left one if possible: if a small table on
   * the left took keys, the large one would not.
   */
  private boolean mayBeBroadcast() {
    Statistics found = ((SupportsReportStatistics) icebergScan).estimateStatistics();
    long threshold = SQLConf.get().autoBroadcastJoinThreshold();
    return found.sizeInBytes().orElse(Long.MAX_VALUE) <= threshold || found.numRows().orElse(Long.MAX_VALUE) <= threshold / BYTES_OF_A_ROW;
  }

  /** Quoted names; they are in the case that the query has. */
  private static Set<String> names(NamedReference[] columns) {
    boolean isCaseSensitive = SQLConf.get().caseSensitiveAnalysis();
    Set<String> names = new TreeSet<>(isCaseSensitive ? Comparator.naturalOrder() : String.CASE_INSENSITIVE_ORDER);
    Arrays.stream(columns).map(Object::toString).forEach(names::add);
    return names;
  }

  private void warn(Throwable cause) {
    JoinPruning.warnOnce("Joins skip files of %s by partitions only, because of an error".formatted(table.name()), cause);
  }

  private void filter(Predicate[] predicates) {
    nextBatch.remove();
    nextMetrics.remove();
    Set<String> ofPartitions = names(icebergScan.filterAttributes());
    Map<Boolean, List<Predicate>> byPartition =
        Arrays.stream(predicates)
            .collect(Collectors.partitioningBy(each -> each.children().length > 0 && ofPartitions.contains(each.children()[0].toString())));
    long planned = 0;
    try {
      planned = PlannedTasks.tasks(icebergScan).size();
    } catch (RuntimeException | LinkageError e) {
      warn(e);
    }
    if (!byPartition.get(true).isEmpty()) {
      icebergScan.filter(byPartition.get(true).toArray(Predicate[]::new));
    }
    try {
      List<FileScanTask> files = PlannedTasks.tasks(icebergScan).stream().map(FileScanTask.class::cast).toList();
      List<FileScanTask> kept = filesWithKeys(files, byPartition.get(false));
      if (kept.size() < files.size()) {
        nextBatch.set(PlannedTasks.batch(icebergScan, kept));
      }
      nextMetrics.set(
          Map.of(
              FilesSkippedByJoins.NAME,
              planned - kept.size(),
              RESULT_DATA_FILES,
              (long) kept.size(),
              TOTAL_DATA_FILE_SIZE,
              kept.stream().mapToLong(each -> each.file().fileSizeInBytes()).sum()));
    } catch (RuntimeException | LinkageError e) {
      warn(e);
    }
  }

  /** Files that may hold a key of each predicate. */
  private List<FileScanTask> filesWithKeys(List<FileScanTask> files, List<Predicate> predicates) {
    BatchScan scan = PlannedTasks.scan(icebergScan);
    List<ColumnKeys> found =
        predicates.stream().map(each -> ColumnKeys.from(each, scan.schema(), scan.isCaseSensitive())).flatMap(Optional::stream).toList();
    if (found.isEmpty() || files.isEmpty()) {
      return files;
    }
    Set<String> dropped = BoundsReader.filesWithout(table, scan, files, found);
    return files.stream().filter(each -> !dropped.contains(each.file().location())).toList();
  }

  /** The metric in Spark's UI. Public, because Spark instantiates it by the name of its class. */
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
