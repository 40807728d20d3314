package io.icebergzorder.spark.api;

import io.icebergzorder.spark.layout.SampledGroup;
import io.icebergzorder.spark.run.GroupResult;
import io.icebergzorder.spark.run.Rewrite;
import io.icebergzorder.spark.spec.Workload;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The result of a rewrite or a dry run: Iceberg's counts, and the reads of filters before and after.
 *
 * @param counts Iceberg's counts of written files
 * @param message why nothing was rewritten, which columns cost more, and whether it was a dry run, one sentence each; empty without a
 *     message
 * @param scanFractions the reads of filters on the table before and after, by column; empty if nothing was rewritten
 * @param workload the reads of the workload's queries before and after; empty without a workload, and if nothing was rewritten
 * @param before the data files of the table before, or those that may match {@code where}; empty if nothing was rewritten
 * @param after the data files after the rewrite, or as predicted in a dry run
 * @param dryRun the sampled plan of a dry run; the counts are then expected ones
 * @param translatedDeletes rows that other writers deleted meanwhile, and that the rewrite deleted from its new files
 */
public record ZOrderResult(
    RewriteDataFiles.Result counts,
    Optional<String> message,
    List<ColumnScan> scanFractions,
    Optional<WorkloadScan> workload,
    Optional<TableFiles> before,
    Optional<TableFiles> after,
    Optional<RewritePlan> dryRun,
    long translatedDeletes)
    implements RewriteDataFiles.Result {
  private static final Logger LOG = LoggerFactory.getLogger(ZOrderResult.class);
  private static final RewriteDataFiles.Result NONE = ImmutableRewriteDataFiles.Result.builder().build();

  /** The result of a rewrite with nothing to do. */
  static ZOrderResult nothing(RewritePlan plan) {
    return new ZOrderResult(
        NONE, Optional.of(String.join(" ", sentences(plan))), List.of(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), 0);
  }

  /** Why nothing is rewritten, which is also logged because Iceberg's procedure returns counts only; then warnings. */
  private static List<String> sentences(RewritePlan plan) {
    plan.message().ifPresent(LOG::warn);
    return Stream.concat(plan.message().stream(), plan.warnings().stream()).toList();
  }

  /** The result of a rewrite. */
  static ZOrderResult of(Rewrite.RewriteResult outcome) {
    return new ZOrderResult(
        outcome.result().orElseThrow(),
        Optional.of(String.join(" ", outcome.messages())).filter(text -> !text.isEmpty()),
        ColumnScan.of(outcome.measured().before(), outcome.measured().predicted(), outcome.measured().actual()),
        outcome.sampled().plan().workload().filter(workload -> !outcome.groups().isEmpty()).map(workload -> workload(outcome, workload)),
        TableFiles.of(outcome.measured().before()),
        TableFiles.of(outcome.measured().actual()),
        Optional.empty(),
        outcome.translatedDeletes());
  }

  private static WorkloadScan workload(Rewrite.RewriteResult outcome, Workload workload) {
    List<SampledGroup> groups = outcome.groups().stream().map(GroupResult::group).toList();
    return WorkloadScan.of(outcome.sampled(), workload, groups, outcome.groups().stream().map(GroupResult::read).toList());
  }

  /** The result of a dry run, with expected counts. */
  static ZOrderResult dryRun(RewritePlan plan) {
    return new ZOrderResult(
        NONE,
        Optional.of(Stream.concat(Stream.of("Dry run: nothing was written."), sentences(plan).stream()).collect(Collectors.joining(" "))),
        plan.scans(),
        plan.groups().isEmpty() ? Optional.empty() : plan.workload(),
        plan.before(),
        plan.after(),
        Optional.of(plan),
        0);
  }

  /** Whether this is a dry run: nothing was written, and the counts are expected ones. */
  public boolean isDryRun() {
    return dryRun.isPresent();
  }

  /** The expected duration of a dry run's rewrite in seconds, from earlier rewrites; empty without any. */
  public OptionalDouble expectedSeconds() {
    return dryRun.map(RewritePlan::expectedSeconds).orElse(OptionalDouble.empty());
  }

  /** The reads of a dry run's conditions; see {@link RewritePlan#sampled(List)}. */
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
