package io.icebergzorder.spark.api;

import io.icebergzorder.core.Reason;
import io.icebergzorder.spark.internals.SupportedVersions;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.layout.SampledGroup;
import io.icebergzorder.spark.layout.SampledPlan;
import io.icebergzorder.spark.layout.TableReads;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.LeftGroup;
import io.icebergzorder.spark.plan.StoredPlan;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.run.Rewrite;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.Condition;
import io.icebergzorder.spark.spec.ResolvedSpec;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The plan of a rewrite: a value to look at, to keep, and to execute. {@link #sampled} adds layouts and predictions.
 *
 * <p>A plan belongs to one snapshot. Appends do not invalidate it. A change to the files of the plan, to the schema or to the partition
 * spec makes it stale, and stale plans are refused.
 */
public final class RewritePlan {
  private static final Logger LOG = LoggerFactory.getLogger(RewritePlan.class);

  private final TablePlan plan;
  private final Optional<SampledPlan> sampled;
  private final List<PredicateScan> predicates;

  /**
   * Reads a plan that {@link #toJson} has written, or the engine without Spark. It is not sampled: the layouts are found again.
   *
   * @param session the session whose catalogs, settings and cluster it uses
   * @param table the table's name: with its catalog, or in the session's current one
   * @param json the plan
   * @throws IllegalArgumentException if it is no plan that this version can read
   * @throws IllegalStateException if the plan is stale, or of another table
   */
  public static RewritePlan fromJson(SparkSession session, String table, String json) {
    return fromJson(table, json, name -> CatalogTable.load(session, name));
  }

  /** Does the same for a table of one catalog, which is named with or without it. */
  public static RewritePlan fromJson(SparkSession session, TableCatalog catalog, String table, String json) {
    return fromJson(table, json, name -> CatalogTable.load(session, catalog, name));
  }

  private static RewritePlan fromJson(String table, String json, Function<String, CatalogTable> load) {
    SupportedVersions.checkIceberg();
    StoredPlan stored = StoredPlan.read(table, json);
    return new RewritePlan(stored.on(load.apply(table)));
  }

  RewritePlan(TablePlan plan) {
    this(plan, Optional.empty(), List.of());
  }

  private RewritePlan(TablePlan plan, Optional<SampledPlan> sampled, List<PredicateScan> predicates) {
    this.plan = plan;
    this.sampled = sampled;
    this.predicates = List.copyOf(predicates);
  }

  /** The table's name. */
  public String table() {
    return plan.target().name();
  }

  /** The branch that is rewritten. */
  public String branch() {
    return plan.branch();
  }

  /** The snapshot that was planned from; empty if the table has none. */
  public OptionalLong snapshotId() {
    return plan.snapshotId();
  }

  /** The order of the rows, as written or chosen by a workload; null if that chose nothing. */
  public String sortOrder() {
    return plan.spec().sortOrder();
  }

  /** The options, as written. */
  public Map<String, String> options() {
    return plan.spec().options();
  }

  /** The predicate that selects data files, as written; empty for all. */
  public Optional<String> where() {
    return Optional.ofNullable(plan.spec().where());
  }

  /** The file groups to rewrite, each with the reason why it was chosen, in the order in which they are to be. */
  public List<PlannedFileGroup> groups() {
    return plannedGroups().stream().map(this::group).toList();
  }

  List<FileGroup> plannedGroups() {
    return plan.groups().stream().filter(group -> !leftAfterSampling().containsKey(group)).toList();
  }

  private Map<FileGroup, Reason> leftAfterSampling() {
    return sampled.map(SampledPlan::left).orElse(Map.of());
  }

  PlannedFileGroup group(FileGroup group) {
    Optional<SampledGroup> layout = sampled.map(layouts -> layouts.groups().get(group));
    return new PlannedFileGroup(
        LeftGroup.partition(target().table(), group.files()),
        group.locations(),
        group.bytes(),
        group.rows(),
        Math.max(group.expectedFiles(), layout.map(each -> each.layout().files()).orElse(0)),
        Reason.text(group.reasons()),
        layout.map(each -> new PlannedLayout(each.layout(), each.predicted().fractions(), each.before().fractions())));
  }

  /** The data files that the filter selects and that are left alone, with the reasons. */
  public List<LeftFiles> left() {
    return leftGroups().stream()
        .map(each -> new LeftFiles(each.partition(), each.dataFilesCount(), each.bytes(), each.rows(), Reason.text(each.reasons())))
        .toList();
  }

  List<LeftGroup> leftGroups() {
    Stream<LeftGroup> notChosen = plan.left().stream();
    Stream<LeftGroup> notWorth =
        plan.groups().stream()
            .filter(leftAfterSampling()::containsKey)
            .map(group -> LeftGroup.of(target().table(), group.files(), List.of(leftAfterSampling().get(group))));
    return Stream.concat(notChosen, notWorth).toList();
  }

  /** Why there is nothing to rewrite, and what would force it; empty if there is something. */
  public Optional<String> message() {
    return Optional.ofNullable(plan.whyNothing()).or(() -> sampled.map(SampledPlan::whyNothing));
  }

  /** What its user should know once it is sampled, in sentences; empty before {@link #sampled}. */
  public List<String> warnings() {
    return sampled.map(SampledPlan::warningsOfPlan).orElse(List.of());
  }

  /** What filters read of the table before the rewrite and are predicted to read after it, by column; empty before {@link #sampled}. */
  public List<ColumnScan> scans() {
    return ColumnScan.of(reads().get(0), reads().get(1), TableReads.NONE);
  }

  /** The data files of the table, or those that the filter selects; empty before {@link #sampled}, and if nothing is rewritten. */
  public Optional<TableFiles> before() {
    return TableFiles.of(reads().get(0));
  }

  /** The same as predicted after the rewrite. */
  public Optional<TableFiles> after() {
    return TableFiles.of(reads().get(1));
  }

  /** What is read before, and as predicted. */
  List<TableReads> reads() {
    return sampled.map(each -> List.of(each.before(), each.predicted())).orElse(List.of(TableReads.NONE, TableReads.NONE));
  }

  /** The size that new files are to have, in bytes. */
  public long targetFileSizeBytes() {
    return plan.targetSize().bytes();
  }

  /** Who says so: {@code option}, {@code property}, {@code last layout} (the last rewrite) or {@code data} (the sizes of partitions). */
  public String targetFileSizeFrom() {
    return plan.targetSize().from();
  }

  /**
   * How long the rewrite is expected to take, by the time per byte of the rewrites before it; empty before {@link #sampled}, and if there
   * were none.
   */
  public OptionalDouble expectedSeconds() {
    return isSampled() && !groups().isEmpty()
        ? plan.history().expectedSeconds(groups().stream().mapToLong(PlannedFileGroup::bytes).sum())
        : OptionalDouble.empty();
  }

  /** What was asked for by conditions, in their order; empty before {@link #sampled(List)}. */
  public List<PredicateScan> predicates() {
    return predicates;
  }

  /** What the queries read that files are cut for; empty without option {@code workload}. */
  public Optional<WorkloadScan> workload() {
    OptionalDouble no = OptionalDouble.empty();
    return plan.workload().map(workload -> sampled.map(each -> WorkloadScan.of(each.read(workload, each.groups().values(), List.of())))
        .orElseGet(() -> new WorkloadScan(workload.queries().size(), no, no, no)));
  }

  TablePlan tablePlan() {
    return plan;
  }

  /** Whether option {@code dry-run} keeps {@link #execute} from writing. */
  boolean isDryRun() {
    return plan.options().layout().dryRun();
  }

  /** Whether the layouts are known. */
  public boolean isSampled() {
    return sampled.isPresent();
  }

  /**
   * Samples the clustering columns: the same plan with its layouts, which are those that {@link #execute} would find, and with
   * predictions. File groups whose rewrite is not predicted to pay are left. One Spark job, which reads no other column; nothing is
   * written.
   *
   * @throws IllegalArgumentException if lower/upper bounds do not serve, and option {@code metrics-check} refuses that, or if no reader
   *     in Spark makes the right values of a file
   * @throws IllegalStateException if the plan is stale
   * @throws RuntimeException if a file group cannot be read, also with partial progress
   */
  public RewritePlan sampled() {
    if (isSampled() || plan.groups().isEmpty()) {
      return this;
    }
    plan.checkIsCurrent();
    return sampledAsIs();
  }

  /**
   * Samples, if that is not done yet, and measures how much filters by some conditions read of the files of all groups, and how much they
   * are predicted to read of the new ones. Manifests are read once more.
   *
   * @param predicates the conditions, in Spark SQL
   * @throws IllegalArgumentException as {@link #sampled()}, and if a condition is null or not one that Iceberg filters by, before anything
   *     is read
   * @throws IllegalStateException if the plan is stale
   * @throws RuntimeException as {@link #sampled()}
   */
  public RewritePlan sampled(List<String> predicates) {
    if (predicates.isEmpty()) {
      return sampled();
    }
    plan.checkIsCurrent();
    List<Condition> conditions = ResolvedSpec.conditions(target(), predicates);
    RewritePlan sampled = plan.groups().isEmpty() ? this : sampledAsIs();
    return new RewritePlan(sampled.plan, sampled.sampled, sampled.measured(conditions));
  }

  private List<PredicateScan> measured(List<Condition> conditions) {
    List<BytesRead> read = sampled.map(layouts -> layouts.read(conditions)).orElse(List.of());
    return IntStream.range(0, conditions.size())
        .mapToObj(i -> new PredicateScan(conditions.get(i).text(), share(read, 0, i), share(read, 1, i)))
        .toList();
  }

  private static OptionalDouble share(List<BytesRead> read, int place, int condition) {
    return read.isEmpty() ? OptionalDouble.empty() : read.get(place).share(condition);
  }

  private RewritePlan sampledAsIs() {
    if (isSampled()) {
      return this;
    }
    return new RewritePlan(plan, Optional.of(Rewrite.sample(plan)), List.of());
  }

  /**
   * Rewrites the data files, by the layouts of this plan if it is sampled; with option {@code dry-run} it only samples.
   *
   * @return Iceberg's result, and what filters read before and after; without files if there is nothing to rewrite
   * @throws IllegalArgumentException if lower/upper bounds do not serve, and option {@code metrics-check} refuses that, or if no reader
   *     in Spark makes the right values of a file; nothing was written then
   * @throws IllegalStateException if the plan is stale; nothing was read or written then
   * @throws RuntimeException if sampling or a file group failed, or the commit did; new files are deleted unless the outcome of the
   *     commit is unknown. Whatever was committed before is visible to later queries of the session
   */
  public ZOrderResult execute() {
    plan.checkIsCurrent();
    return executeAsIs();
  }

  /** Does the same with a plan that was made just now: what has changed since is a conflict of the file groups concerned. */
  ZOrderResult executeAsIs() {
    if (plan.groups().isEmpty()) {
      return nothing();
    }
    if (isDryRun()) {
      RewritePlan sampled = sampledAsIs();
      return sampled.groups().isEmpty()
          ? sampled.nothing()
          : ZOrderResult.dryRun(sampled, sampled.warnings().isEmpty() ? null : String.join(" ", sampled.warnings()));
    }
    Rewrite.RewriteResult outcome = Rewrite.execute(plan, sampled);
    return outcome.result().isPresent()
        ? ZOrderResult.of(outcome)
        : new RewritePlan(plan, Optional.of(outcome.sampled()), List.of()).nothing();
  }

  private ZOrderResult nothing() {
    String why = message().orElseThrow();
    LOG.warn(why);
    return ZOrderResult.nothing(this, Stream.concat(Stream.of(why), warnings().stream()).collect(Collectors.joining(" ")));
  }

  private CatalogTable target() {
    return plan.target();
  }

  /**
   * The plan as JSON, with the keys that {@code docs/reference/json.md} lists. Both engines write the same, and execute what the other has
   * written; keys are added in later versions, and none is taken away while {@code "version"} is 1.
   */
  public String toJson() {
    return ApiJson.of(this);
  }

  /** The plan as a text of several lines. */
  @Override
  public String toString() {
    return PlanText.of(this);
  }
}
