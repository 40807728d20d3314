package io.icebergzorder.spark.api;

import io.icebergzorder.core.Reason;
import io.icebergzorder.spark.internals.SupportedVersions;
import io.icebergzorder.spark.layout.SampledPlan;
import io.icebergzorder.spark.layout.ScanFractions.TableReads;
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
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;

/**
 * The plan of a rewrite, which can be shown, stored and executed. {@link #sampled} adds layouts and predictions.
 *
 * <p>A plan belongs to one snapshot. Appends do not invalidate it. A change to the files of the plan, to the schema or to the partition
 * spec makes it stale, and stale plans are refused.
 */
public final class RewritePlan {
  final CatalogTable target;
  final TablePlan plan;
  final Optional<SampledPlan> sampled;
  private final List<PredicateScan> predicates;

  /**
   * Reads a plan that {@link #toJson} or the PyIceberg engine wrote. The plan is not sampled: its layouts are computed again.
   *
   * @param session the session whose catalogs, settings and cluster it uses
   * @param table the table's name: with its catalog, or in the session's current one
   * @param json the plan
   * @throws IllegalArgumentException if this version cannot read the plan
   * @throws IllegalStateException if the plan is stale, or for another table
   */
  public static RewritePlan fromJson(SparkSession session, String table, String json) {
    return fromJson(table, json, name -> CatalogTable.load(session, name));
  }

  /** Reads a plan for a table of one catalog; the table's name may omit the catalog. */
  public static RewritePlan fromJson(SparkSession session, TableCatalog catalog, String table, String json) {
    return fromJson(table, json, name -> CatalogTable.load(session, catalog, name));
  }

  private static RewritePlan fromJson(String table, String json, Function<String, CatalogTable> load) {
    SupportedVersions.checkIceberg();
    StoredPlan stored = StoredPlan.read(table, json);
    CatalogTable target = load.apply(table).byCase(stored.caseSensitive());
    return new RewritePlan(target, stored.on(target));
  }

  RewritePlan(CatalogTable target, TablePlan plan) {
    this(target, plan, Optional.empty(), List.of());
  }

  private RewritePlan(CatalogTable target, TablePlan plan, Optional<SampledPlan> sampled, List<PredicateScan> predicates) {
    this.target = target;
    this.plan = plan;
    this.sampled = sampled;
    this.predicates = List.copyOf(predicates);
  }

  /** The table's name. */
  public String table() {
    return target.name();
  }

  /** The branch that is rewritten. */
  public String branch() {
    return plan.spec().branch();
  }

  /** The planned snapshot; empty if the table has none. */
  public OptionalLong snapshotId() {
    Long id = plan.start().snapshotId();
    return id == null ? OptionalLong.empty() : OptionalLong.of(id);
  }

  /** The sort order, as written. */
  public String sortOrder() {
    return plan.spec().written().sortOrder();
  }

  /** The options, as written. */
  public Map<String, String> options() {
    return plan.spec().written().options();
  }

  /** The {@code where} condition, as written; empty without one. */
  public Optional<String> where() {
    return Optional.ofNullable(plan.spec().written().where());
  }

  /** The file groups to rewrite, in order, each with the reason why it was chosen. */
  public List<PlannedFileGroup> groups() {
    return fileGroups().stream().map(this::group).toList();
  }

  List<FileGroup> fileGroups() {
    return sampled.map(each -> List.copyOf(each.groups().keySet())).orElseGet(plan::groups);
  }

  PlannedFileGroup group(FileGroup group) {
    Optional<PlannedLayout> layout = sampled.map(layouts -> new PlannedLayout(layouts.groups().get(group)));
    return new PlannedFileGroup(
        FileGroup.partitionPath(target.table(), group.files()),
        group.locations(),
        group.bytes(),
        group.rows(),
        Math.max(group.expectedFiles(), layout.map(PlannedLayout::files).orElse(0)),
        Reason.text(group.reasons()),
        layout);
  }

  /** The data files that may match {@code where} and are left, with the reasons. */
  public List<LeftFiles> left() {
    return leftGroups().stream()
        .map(each -> new LeftFiles(each.partition(), each.dataFilesCount(), each.bytes(), each.rows(), Reason.text(each.reasons())))
        .toList();
  }

  List<LeftGroup> leftGroups() {
    return sampled.map(SampledPlan::left).orElseGet(plan::left);
  }

  /** Why there is nothing to rewrite, and which option would force a rewrite; empty if there is a file group. */
  public Optional<String> message() {
    return Optional.ofNullable(plan.whyNothing()).or(() -> sampled.map(SampledPlan::whyNothing));
  }

  /** Warnings for the user, one sentence each; empty before {@link #sampled}. */
  public List<String> warnings() {
    return sampled.map(SampledPlan::warningsOfPlan).orElse(List.of());
  }

  /** The reads of filters before the rewrite and as predicted after it, by column; empty before {@link #sampled}. */
  public List<ColumnScan> scans() {
    return sampled.map(each -> ColumnScan.of(each.before(), each.predicted(), TableReads.NONE)).orElse(List.of());
  }

  /** The data files of the table, or those that may match {@code where}; empty before {@link #sampled}, and if nothing is rewritten. */
  public Optional<TableFiles> before() {
    return sampled.map(SampledPlan::before).flatMap(TableFiles::of);
  }

  /** The predicted data files after the rewrite; empty as {@link #before}. */
  public Optional<TableFiles> after() {
    return sampled.map(SampledPlan::predicted).flatMap(TableFiles::of);
  }

  /** The target size of new files, in bytes. */
  public long targetFileSizeBytes() {
    return plan.targetSize().bytes();
  }

  /** The origin of the target size: {@code option}, {@code property}, {@code last layout} (the last rewrite) or {@code data}. */
  public String targetFileSizeFrom() {
    return plan.targetSize().from();
  }

  /**
   * The expected duration in seconds, from the time per byte of earlier rewrites; empty before {@link #sampled}, and without earlier
   * rewrites.
   */
  public OptionalDouble expectedSeconds() {
    return isSampled() && !groups().isEmpty()
        ? plan.history().expectedSeconds(groups().stream().mapToLong(PlannedFileGroup::bytes).sum())
        : OptionalDouble.empty();
  }

  /** The reads of the given conditions, in their order; empty before {@link #sampled(List)}. */
  public List<PredicateScan> predicates() {
    return predicates;
  }

  /** The reads of the workload's queries; empty without option {@code workload}. */
  public Optional<WorkloadScan> workload() {
    OptionalDouble no = OptionalDouble.empty();
    return plan.workload().map(workload -> sampled.map(each -> WorkloadScan.of(each, workload, each.groups().values(), List.of()))
        .orElseGet(() -> new WorkloadScan(workload.queries().size(), no, no, no)));
  }

  /** Whether the layouts are known. */
  public boolean isSampled() {
    return sampled.isPresent();
  }

  /**
   * Samples the clustering columns in one Spark job, and returns the plan with layouts and predictions. {@link #execute} would compute the
   * same layouts. File groups without predicted gain are left. Nothing is written.
   *
   * @throws IllegalArgumentException if lower/upper bounds are missing or too short and {@code metrics-check} is {@code fail}, or if
   *     Spark's readers cannot read a file correctly
   * @throws IllegalStateException if the plan is stale
   * @throws RuntimeException if a file group cannot be read, also with partial progress
   */
  public RewritePlan sampled() {
    if (!isSampled()) {
      plan.checkIsCurrent(target.table());
    }
    return sampledAsIs();
  }

  /**
   * Samples the plan, unless sampled, and adds how much conditions read of all groups' files, today and as predicted. Reads manifests once
   * more.
   *
   * @param predicates the conditions, in Spark SQL
   * @throws IllegalArgumentException as {@link #sampled()}, and before any read if a condition is null or one that Iceberg cannot filter by
   * @throws IllegalStateException if the plan is stale
   * @throws RuntimeException as {@link #sampled()}
   */
  public RewritePlan sampled(List<String> predicates) {
    if (predicates.isEmpty()) {
      return sampled();
    }
    plan.checkIsCurrent(target.table());
    List<Condition> conditions = ResolvedSpec.conditions(target, predicates);
    Optional<SampledPlan> layouts = sampledAsIs().sampled;
    return new RewritePlan(target, plan, layouts, PredicateScan.of(target, conditions, layouts));
  }

  private RewritePlan sampledAsIs() {
    return isSampled() || plan.groups().isEmpty() ? this : with(Rewrite.sample(target, plan));
  }

  private RewritePlan with(SampledPlan layouts) {
    return new RewritePlan(target, plan, Optional.of(layouts), List.of());
  }

  /**
   * Rewrites the data files, with the layouts of this plan if it is sampled. Option {@code dry-run} only samples.
   *
   * @return Iceberg's result, with the reads of filters before and after; without files if there is nothing to rewrite
   * @throws IllegalArgumentException if lower/upper bounds are missing or too short and {@code metrics-check} is {@code fail}, or if
   *     Spark's readers cannot read a file correctly; nothing is written
   * @throws IllegalStateException if the plan is stale; nothing is read or written
   * @throws RuntimeException if sampling, a file group or the commit failed. New files are deleted, unless the outcome of the commit is
   *     unknown. Later queries of the session see earlier commits
   */
  public ZOrderResult execute() {
    plan.checkIsCurrent(target.table());
    return executeAsIs();
  }

  /** Executes a plan that was just made: concurrent changes are conflicts of the file groups concerned. */
  ZOrderResult executeAsIs() {
    if (plan.options().layout().dryRun()) {
      return ZOrderResult.dryRun(sampledAsIs());
    }
    if (plan.groups().isEmpty()) {
      return ZOrderResult.nothing(this);
    }
    Rewrite.RewriteResult outcome = Rewrite.execute(target, plan, sampled);
    return outcome.result().isPresent() ? ZOrderResult.of(outcome) : ZOrderResult.nothing(with(outcome.sampled()));
  }

  /**
   * The plan as JSON, with the keys that {@code docs/reference/json.md} lists. Both engines write and execute the same JSON. Keys may be
   * added; none is removed while {@code "version"} is 1.
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
