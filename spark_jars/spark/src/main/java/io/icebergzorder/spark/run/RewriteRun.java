package io.icebergzorder.spark.run;

import io.icebergzorder.spark.commit.LayoutSummary;
import io.icebergzorder.spark.commit.RewriteCommit;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.jobs.GroupJob;
import io.icebergzorder.spark.jobs.JobPlanner;
import io.icebergzorder.spark.jobs.LaidOutGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.sample.FittedLayouts;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;

/**
 * From a plan and its layouts to new files in the table: {@link GroupRewriter} reads, routes, sorts and writes file groups,
 * {@link RewriteCommit} replaces the old files, through Iceberg's optimistic concurrency.
 */
public final class RewriteRun {
  private RewriteRun() {}

  /**
   * Rewrites the file groups of a plan.
   *
   * @param session the session to run in
   * @param plan with at least one file group
   * @param fitted a layout for each, or why it has none
   * @throws InterruptedException if this thread was interrupted; the message says what was committed
   * @throws RuntimeException if not all was done that had to be; the message says what was committed, and why not the rest
   */
  public static RewriteDataFiles.Result run(RewriteSession session, TablePlan plan, FittedLayouts fitted)
      throws InterruptedException {
    Table table = plan.target().table();
    RewriteCommit commit =
        new RewriteCommit(
            table,
            plan.branch(),
            plan.snapshotId().getAsLong(),
            plan.options(),
            // Without any layout there will be no snapshot to tell of one.
            fitted.layouts().isEmpty()
                ? Map.of()
                : LayoutSummary.properties(plan.order(), List.copyOf(fitted.layouts().values())));
    GroupRewriter rewriter = new GroupRewriter(session, table, plan.order());
    return new GroupExecution(session.spark(), table, plan.options(), commit)
        .run(new FileGroupPool(rewriter, jobs(session, plan, fitted), unsampled(fitted)));
  }

  private static List<GroupJob> jobs(RewriteSession session, TablePlan plan, FittedLayouts fitted) {
    int count = plan.groups().size();
    List<LaidOutGroup> groups =
        fitted.layouts().entrySet().stream()
            .map(each -> new LaidOutGroup(each.getKey().toRewrite(), each.getValue()))
            .toList();
    // What is committed together may as well be rewritten together, and no more than that.
    int together = plan.options().partialProgress().map(progress -> progress.groupsPerCommit(count)).orElse(count);
    return JobPlanner.jobs(groups, JobPlanner.Limits.of(together, session.spark().sparkContext().defaultParallelism()));
  }

  private static Map<RewriteFileGroup, Throwable> unsampled(FittedLayouts fitted) {
    Map<RewriteFileGroup, Throwable> groups = new LinkedHashMap<>();
    fitted.failures().forEach((group, failure) -> groups.put(group.toRewrite(), failure));
    return groups;
  }
}
