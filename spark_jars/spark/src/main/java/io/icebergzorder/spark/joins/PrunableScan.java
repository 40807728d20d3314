package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.bounds.TrustedBounds;
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
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.BaseMetadataTable;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.expressions.Expressions;
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
import org.apache.spark.sql.connector.read.partitioning.KeyGroupedPartitioning;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A proxy of Iceberg's scan that accepts the keys of joins for partition columns and for tight columns. While {@link KeyFilters} has Spark add
 * keys, it names columns of both kinds, otherwise those of partitions alone.
 *
 * <p>Keys of partition columns go to Iceberg's own filter. Keys of tight columns drop planned files by the files' own bounds. They do not
 * filter row groups or rows.
 *
 * <p>Spark calls {@code toBatch} once before the keys arrive; then {@code filter}, {@code toBatch} and {@code reportDriverMetrics} in one
 * thread, so {@code filter} leaves what it finds in thread-locals for the two. Keys of tight columns do not change Iceberg's scan, which
 * other queries may share. Keys of partition columns change it, as without the jar.
 */
final class PrunableScan extends StandIn {
  private static final Logger LOG = LoggerFactory.getLogger(PrunableScan.class);
  private static final String RESULT_DATA_FILES = "resultDataFiles";
  private static final String TOTAL_DATA_FILE_SIZE = "totalDataFileSize";

  /** What Spark estimates for a row of a wide scan, of which the join needs a key of 8 bytes only. */
  private static final long BYTES_OF_A_ROW = 16;

  private final SupportsRuntimeV2Filtering icebergScan;
  private final DataSourceV2ScanRelation relation;
  private final Table table;
  private final BatchScan batchScan;
  private final Scan forSpark;
  private final boolean isOfTarget;

  /** The columns, none of partitions, whose keys may skip files; those that turn out not to be tight are taken out. */
  private final Map<String, Types.NestedField> candidates;

  private volatile boolean namesCandidates;
  private final ThreadLocal<Batch> nextBatch = new ThreadLocal<>();
  private final ThreadLocal<Map<String, Long>> nextMetrics = ThreadLocal.withInitial(Map::of);

  private PrunableScan(DataSourceV2ScanRelation relation, Table table, BatchScan batchScan, boolean isOfTarget) {
    super(relation.scan());
    this.isOfTarget = isOfTarget;
    this.icebergScan = (SupportsRuntimeV2Filtering) relation.scan();
    this.relation = relation;
    this.table = table;
    this.batchScan = batchScan;
    this.forSpark = as(Scan.class);
    Set<String> ofPartitions = namesOfPartitions();
    this.candidates =
        batchScan.schema().columns().stream()
            .filter(each -> TrustedBounds.serves(each) && !ofPartitions.contains(SparkInternals.quoted(each.name())))
            .collect(Collectors.toMap(Types.NestedField::name, each -> each, (one, other) -> one, PrunableScan::byName));
  }

  /** A proxy for a scan of Iceberg's; nothing if the scan is of another kind, is one of those already, or may be broadcast. */
  static Optional<PrunableScan> of(DataSourceV2ScanRelation relation) {
    return of(relation, relation.relation().table(), false);
  }

  /** The same for the scan of a statement's target, which takes no keys but those of {@link TargetKeys}. */
  static Optional<PrunableScan> ofTarget(DataSourceV2ScanRelation relation) {
    org.apache.spark.sql.connector.catalog.Table table = relation.relation().table();
    return of(relation, table instanceof RowLevelOperationTable target ? target.table() : table, true);
  }

  /** Whether a scan is the one of a merge-on-read statement that looks for the rows to change. */
  static boolean isOfChange(DataSourceV2ScanRelation relation) {
    return relation.relation().table() instanceof RowLevelOperationTable target && target.operation() instanceof SupportsDelta;
  }

  private static Optional<PrunableScan> of(
      DataSourceV2ScanRelation relation, org.apache.spark.sql.connector.catalog.Table of, boolean isOfTarget) {
    Scan scan = relation.scan();
    // Subclasses of Iceberg's table (those of staged rewrites among them) read in ways of their own. Spark relies on what is grouped by key.
    boolean isServed =
        of.getClass() == SparkTable.class
            && !(((SparkTable) of).table() instanceof BaseMetadataTable)
            && !(scan instanceof Marker)
            && scan instanceof SupportsRuntimeV2Filtering
            && scan instanceof SupportsReportStatistics statistics
            && scan instanceof SupportsReportPartitioning partitioned
            && !(partitioned.outputPartitioning() instanceof KeyGroupedPartitioning)
            && !mayBeBroadcast(statistics.estimateStatistics());
    BatchScan batchScan = isServed ? PlannedTasks.scan(scan) : null;
    if (batchScan == null || batchScan.snapshot() == null) { // An incremental read, an empty table.
      return Optional.empty();
    }
    return Optional.of(new PrunableScan(relation, ((SparkTable) of).table(), batchScan, isOfTarget));
  }

  /**
   * Whether Spark may broadcast the rows of a scan. Spark prunes one side of each join, the left one if possible: if a small table on the
   * left took keys, the large one would not.
   */
  private static boolean mayBeBroadcast(Statistics found) {
    long threshold = SQLConf.get().autoBroadcastJoinThreshold();
    return found.sizeInBytes().orElse(Long.MAX_VALUE) <= threshold || found.numRows().orElse(Long.MAX_VALUE) <= threshold / BYTES_OF_A_ROW;
  }

  /** What stands behind a scan of a plan; null if it is no proxy. */
  static PrunableScan behind(Scan scan) {
    return scan instanceof Marker ? (PrunableScan) Proxy.getInvocationHandler(scan) : null;
  }

  /** Iceberg's own scan, whether a plan has a proxy of it or not. */
  static Scan icebergScan(Scan scan) {
    return scan instanceof Marker ? behind(scan).relation.scan() : scan;
  }

  /** What reads Iceberg's own scan. */
  DataSourceV2ScanRelation relation() {
    return relation;
  }

  /** The same for this scan; a new one, because Spark keeps which columns the scan of a relation names. */
  LogicalPlan forSpark() {
    return SparkInternals.withScan(relation, forSpark);
  }

  long tableBytes() {
    return PropertyUtil.propertyAsLong(table.currentSnapshot().summary(), SnapshotSummary.TOTAL_FILE_SIZE_PROP, 0);
  }

  /** Begins or ends to name the candidates to Spark, beside the partition columns. */
  void nameCandidates(boolean namesCandidates) {
    this.namesCandidates = namesCandidates;
  }

  boolean isCandidate(String column) {
    return candidates.containsKey(column);
  }

  /** Takes those of some candidates that are not tight out of the candidates; returns whether there were any. */
  boolean removesLoose(Set<String> columns) {
    List<Types.NestedField> fields = columns.stream().map(candidates::get).toList();
    Set<Integer> tight = TightColumns.of(table, fields, () -> PlannedTasks.tasks(icebergScan).size());
    return candidates.values().removeIf(each -> fields.contains(each) && !tight.contains(each.fieldId()));
  }

  /** Whether keys of a column are for Iceberg's own filter. */
  boolean isOfPartitions(Attribute column) {
    return namesOfPartitions().contains(SparkInternals.quoted(column.name()));
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
    Stream<NamedReference> others =
        namesCandidates ? candidates.keySet().stream().map(each -> Expressions.column(SparkInternals.quoted(each))) : Stream.empty();
    return Stream.concat(Arrays.stream(partitionColumns), others).toArray(NamedReference[]::new);
  }

  /** The columns whose keys are for Iceberg's own filter. A target's filter would change the scan that its commit looks at. */
  private Set<String> namesOfPartitions() {
    return isOfTarget ? Set.of() : names(icebergScan.filterAttributes());
  }

  /** Quoted names; they are in the case that the query has. */
  private static Set<String> names(NamedReference[] columns) {
    Map<String, Boolean> names = byName();
    Arrays.stream(columns).forEach(each -> names.put(each.toString(), true));
    return names.keySet();
  }

  /** A map by names of columns, compared as the session compares them. */
  private static <T> Map<String, T> byName() {
    return new TreeMap<>(SQLConf.get().caseSensitiveAnalysis() ? Comparator.naturalOrder() : String.CASE_INSENSITIVE_ORDER);
  }

  private void warn(Throwable cause) {
    JoinPruning.warnOnce("Joins skip files of %s by partitions only, because of an error".formatted(table.name()), cause);
  }

  private void filter(Predicate[] predicates) {
    nextBatch.remove();
    nextMetrics.remove();
    Set<String> ofPartitions = namesOfPartitions();
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
      if (isOfTarget) {
        LOG.info("A statement reads {} of {} files of {} by the keys of its source", kept.size(), planned, table.name());
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
    List<ColumnKeys> found =
        predicates.stream()
            .map(each -> ColumnKeys.from(each, batchScan.schema(), batchScan.isCaseSensitive(), isOfTarget))
            .flatMap(Optional::stream)
            .toList();
    if (found.isEmpty() || files.isEmpty()) {
      return files;
    }
    Set<String> dropped = BoundsReader.filesWithout(table, batchScan, files, found);
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
