package io.icebergzorder.spark.api;

import io.icebergzorder.spark.run.Rewrite;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RewriteDataFiles;

/**
 * The result of a rewrite, or of a dry run: Iceberg's counts, and what filters read before and after.
 *
 * @param counts Iceberg's counts of files that were written
 * @param message why nothing was rewritten, if so; what the rewrite costs; whether it was a dry run. In sentences; empty if there is nothing
 *     to say
 * @param scanFractions what filters read of the table before and after, column by column; empty if nothing was rewritten
 * @param workload what the queries of the workload read of the table before and after; empty without one, and if nothing was rewritten
 * @param before the data files of the table before, or those that the filter selects; empty if nothing was rewritten
 * @param after the same after the rewrite, or as predicted in a dry run
 * @param dryRun the sampled plan, if nothing was written because option {@code dry-run} said so: the counts are those that would be
 */
public record ZOrderResult(
    RewriteDataFiles.Result counts,
    Optional<String> message,
    List<ColumnScan> scanFractions,
    Optional<WorkloadScan> workload,
    Optional<TableFiles> before,
    Optional<TableFiles> after,
    Optional<RewritePlan> dryRun)
    implements RewriteDataFiles.Result {
  private static final RewriteDataFiles.Result NONE = ImmutableRewriteDataFiles.Result.builder().build();

  /** Of a rewrite for which there was nothing to do. */
  static ZOrderResult nothing(RewritePlan plan, String message) {
    return plan.isDryRun()
        ? dryRun(plan, message)
        : new ZOrderResult(
            NONE, Optional.of(message), List.of(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());
  }

  /** Of a rewrite. */
  static ZOrderResult of(Rewrite.RewriteResult outcome) {
    return new ZOrderResult(
        outcome.result().orElseThrow(),
        Optional.of(String.join(" ", outcome.messages())).filter(text -> !text.isEmpty()),
        ColumnScan.of(outcome.before(), outcome.predicted(), outcome.actual()),
        outcome.workload().map(WorkloadScan::of),
        TableFiles.of(outcome.before()),
        TableFiles.of(outcome.actual()),
        Optional.empty());
  }

  /** Of a plan that was sampled only: the counts that would be, which Iceberg's result has from files that were written. */
  static ZOrderResult dryRun(RewritePlan plan, String message) {
    return new ZOrderResult(
        NONE,
        Optional.of("Dry run: nothing was written." + (message == null ? "" : " " + message)),
        plan.scans(),
        plan.groups().isEmpty() ? Optional.empty() : plan.workload(),
        plan.before(),
        plan.after(),
        Optional.of(plan));
  }

  /** Whether nothing was written because option {@code dry-run} said so: the counts are those that would be. */
  public boolean isDryRun() {
    return dryRun.isPresent();
  }

  /** Of a dry run, how long the rewrite is expected to take, by the rewrites before it; empty if there were none. */
  public OptionalDouble expectedSeconds() {
    return dryRun.map(RewritePlan::expectedSeconds).orElse(OptionalDouble.empty());
  }

  /** Of a dry run, what was asked for by conditions; see {@link RewritePlan#sampled(List)}. */
  public List<PredicateScan> predicates() {
    return dryRun.map(RewritePlan::predicates).orElse(List.of());
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
    return dryRun
        .map(plan -> plan.groups().stream().mapToInt(each -> each.layout().map(PlannedLayout::files).orElse(0)).sum())
        .orElseGet(counts::addedDataFilesCount);
  }

  @Override
  public int rewrittenDataFilesCount() {
    return dryRun
        .map(plan -> plan.groups().stream().mapToInt(each -> each.files().size()).sum())
        .orElseGet(counts::rewrittenDataFilesCount);
  }

  @Override
  public long rewrittenBytesCount() {
    return dryRun
        .map(plan -> plan.groups().stream().mapToLong(PlannedFileGroup::bytes).sum())
        .orElseGet(counts::rewrittenBytesCount);
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
