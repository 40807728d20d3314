package io.icebergzorder.spark.api;

import io.icebergzorder.spark.run.Rewrite;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RewriteDataFiles;

/** The result of a rewrite, or of a dry run: Iceberg's counts, and scan fractions before and after. */
public final class ZOrderResult implements RewriteDataFiles.Result {
  private static final RewriteDataFiles.Result NONE = ImmutableRewriteDataFiles.Result.builder().build();

  private final RewriteDataFiles.Result counts;
  private final String message;
  private final List<ColumnScan> scanFractions;
  private final Optional<WorkloadScan> workload;
  private final Optional<TableFiles> before;
  private final Optional<TableFiles> after;
  private final RewritePlan dryRun;

  private ZOrderResult(
      RewriteDataFiles.Result counts,
      String message,
      List<ColumnScan> scanFractions,
      Optional<WorkloadScan> workload,
      Optional<TableFiles> before,
      Optional<TableFiles> after,
      RewritePlan dryRun) {
    this.counts = counts;
    this.message = message;
    this.scanFractions = scanFractions;
    this.workload = workload;
    this.before = before;
    this.after = after;
    this.dryRun = dryRun;
  }

  /** Of a rewrite for which there was nothing to do. */
  static ZOrderResult nothing(RewritePlan plan, String message) {
    return plan.isDryRun()
        ? dryRun(plan, message)
        : new ZOrderResult(NONE, message, List.of(), Optional.empty(), Optional.empty(), Optional.empty(), null);
  }

  /** Of a rewrite. */
  static ZOrderResult of(Rewrite.RewriteResult outcome) {
    return new ZOrderResult(
        outcome.result().orElseThrow(),
        outcome.messages().isEmpty() ? null : String.join(" ", outcome.messages()),
        ColumnScan.of(outcome.before(), outcome.predicted(), outcome.actual()),
        outcome.workload().map(WorkloadScan::of),
        TableFiles.of(outcome.before()),
        TableFiles.of(outcome.actual()),
        null);
  }

  /** Of a plan that was sampled only: the counts that would be, which Iceberg's result has from files that were written. */
  static ZOrderResult dryRun(RewritePlan plan, String message) {
    return new ZOrderResult(
        NONE,
        "Dry run: nothing was written." + (message == null ? "" : " " + message),
        plan.scans(),
        plan.groups().isEmpty() ? Optional.empty() : plan.workload(),
        plan.before(),
        plan.after(),
        plan);
  }

  /** Why nothing was rewritten, if so; what the rewrite costs; whether it was a dry run. In sentences; empty if there is nothing to say. */
  public Optional<String> message() {
    return Optional.ofNullable(message);
  }

  /** What filters read of the table before and after, column by column; empty if nothing was rewritten. */
  public List<ColumnScan> scanFractions() {
    return scanFractions;
  }

  /** What the queries of the workload read of the table before and after; empty without one, and if nothing was rewritten. */
  public Optional<WorkloadScan> workload() {
    return workload;
  }

  /** The data files of the table before, or those that the filter selects; empty if nothing was rewritten. */
  public Optional<TableFiles> before() {
    return before;
  }

  /** The same after the rewrite, or as predicted in a dry run. */
  public Optional<TableFiles> after() {
    return after;
  }

  /** Whether nothing was written because option {@code dry-run} said so: the counts are those that would be. */
  public boolean isDryRun() {
    return dryRun != null;
  }

  /** Of a dry run, how long the rewrite is expected to take, by the rewrites before it; empty if there were none. */
  public OptionalDouble expectedSeconds() {
    return dryRun == null ? OptionalDouble.empty() : dryRun.expectedSeconds();
  }

  /** Of a dry run, what was asked for by conditions; see {@link RewritePlan#sampled(List)}. */
  public List<PredicateScan> predicates() {
    return dryRun == null ? List.of() : dryRun.predicates();
  }

  @Override
  public List<RewriteDataFiles.FileGroupRewriteResult> rewriteResults() {
    return counts.rewriteResults();
  }

  @Override
  public List<RewriteDataFiles.FileGroupFailureResult> rewriteFailures() {
    return counts.rewriteFailures();
  }

  @Override
  public int addedDataFilesCount() {
    return dryRun == null
        ? counts.addedDataFilesCount()
        : dryRun.groups().stream().mapToInt(each -> each.layout().map(PlannedLayout::files).orElse(0)).sum();
  }

  @Override
  public int rewrittenDataFilesCount() {
    return dryRun == null ? counts.rewrittenDataFilesCount() : dryRun.groups().stream().mapToInt(each -> each.files().size()).sum();
  }

  @Override
  public long rewrittenBytesCount() {
    return dryRun == null ? counts.rewrittenBytesCount() : dryRun.groups().stream().mapToLong(PlannedFileGroup::bytes).sum();
  }

  @Override
  public int failedDataFilesCount() {
    return counts.failedDataFilesCount();
  }

  @Override
  public int removedDeleteFilesCount() {
    return counts.removedDeleteFilesCount();
  }

  /** The result as JSON, with the keys of {@code RewriteResult} in Python. */
  public String toJson() {
    return ApiJson.of(this);
  }
}
