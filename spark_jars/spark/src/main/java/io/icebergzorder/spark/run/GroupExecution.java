package io.icebergzorder.spark.run;

import io.icebergzorder.core.Layout;
import io.icebergzorder.spark.commit.PartialCommits;
import io.icebergzorder.spark.commit.RewriteCommit;
import io.icebergzorder.spark.commit.UnknownCommitException;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.JobDescription;
import io.icebergzorder.spark.plan.RewriteOptions;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RemoveDanglingDeleteFiles;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.spark.actions.SparkActions;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Rewrites the file groups of a plan, several at a time, and commits them: all in one snapshot, or as they are finished
 * (partial progress).
 */
final class GroupExecution {
  private static final Logger LOG = LoggerFactory.getLogger(GroupExecution.class);

  private final SparkSession session;
  private final Table table;
  private final RewriteOptions options;
  private final RewriteCommit commit;

  GroupExecution(SparkSession session, Table table, RewriteOptions options, RewriteCommit commit) {
    this.session = session;
    this.table = table;
    this.options = options;
    this.commit = commit;
  }

  /**
   * Rewrites and commits file groups.
   *
   * @throws InterruptedException if this thread was interrupted; the message says what was committed
   * @throws RuntimeException if not all was done that had to be; the message says what was committed, and why not the rest
   */
  RewriteDataFiles.Result run(List<RewriteFileGroup> groups, List<Layout> layouts, GroupRewriter rewriter)
      throws InterruptedException {
    Work work = new Work(groups, layouts, rewriter);
    RewriteDataFiles.Result result = options.partialProgress() ? partially(work) : atOnce(work);
    return options.removeDanglingDeletes() ? withoutDanglingDeletes(result) : result;
  }

  private RewriteDataFiles.Result atOnce(Work work) throws InterruptedException {
    Collection<RewriteFileGroup> done = new ConcurrentLinkedQueue<>();
    try {
      work.run(true, done::add, (group, failure) -> {});
    } catch (Throwable e) {
      commit.abort(done);
      throw stopped(e, "Nothing was committed, and the new files were deleted.");
    }
    commit.commit(done);
    return ImmutableRewriteDataFiles.Result.builder()
        .rewriteResults(done.stream().map(RewriteFileGroup::asResult).toList())
        .build();
  }

  private RewriteDataFiles.Result partially(Work work) throws InterruptedException {
    int groups = work.groups.size();
    PartialCommits commits = new PartialCommits(commit, (groups + options.maxCommits() - 1) / options.maxCommits());
    Queue<Throwable> reasons = new ConcurrentLinkedQueue<>();
    Collection<RewriteDataFiles.FileGroupFailureResult> failures = new ConcurrentLinkedQueue<>();
    try {
      work.run(
          false,
          commits::offer,
          (group, failure) -> {
            LOG.error("Cannot rewrite file group {} of {}", group.info(), table.name(), failure);
            reasons.add(failure);
            failures.add(
                ImmutableRewriteDataFiles.FileGroupFailureResult.builder()
                    .info(group.info())
                    .dataFilesCount(group.inputFileNum())
                    .build());
          });
      commits.finish();
    } catch (Throwable e) {
      commits.abort();
      throw stopped(e, account(commits, groups));
    }
    check(commits, groups, reasons);
    return ImmutableRewriteDataFiles.Result.builder()
        .rewriteResults(commits.committed().stream().map(RewriteFileGroup::asResult).toList())
        .rewriteFailures(failures)
        .build();
  }

  /** Fails where a result would hide what became of the commits. */
  private void check(PartialCommits commits, int groups, Queue<Throwable> groupFailures) {
    List<RuntimeException> unknown = commits.unknown();
    if (!unknown.isEmpty()) {
      throw new UnknownCommitException(
          String.format(
              Locale.ROOT,
              "Cannot tell whether all of the rewrite of %s was committed, because the catalog gave no clear answer to %d"
                  + " commits: %s. %s Look at the table's snapshots, run the rewrite again, and let remove_orphan_files collect"
                  + " what is left over.",
              table.name(), unknown.size(), Failures.rootMessage(unknown.get(0)), account(commits, groups)),
          unknown.get(0));
    }
    int failed = commits.failures().size();
    if (commits.committed().isEmpty()) {
      Throwable first = failed > 0 ? commits.failures().get(0) : groupFailures.element();
      throw new RuntimeException(
          String.format(
              Locale.ROOT,
              "Cannot complete the rewrite of %s, because all failed: %s. %s",
              table.name(), failed > 0 ? first.getMessage() : Failures.rootMessage(first), account(commits, groups)),
          first);
    }
    if (failed > options.maxFailedCommits()) {
      throw new RuntimeException(
          String.format(
              Locale.ROOT,
              "Cannot complete the rewrite of %s, because %s is true but %d rewrite commits failed. This is more than the"
                  + " maximum allowed failures of %d. The log says why each failed; the other commits stand. %s",
              table.name(), RewriteDataFiles.PARTIAL_PROGRESS_ENABLED, failed, options.maxFailedCommits(),
              account(commits, groups)));
    }
    if (failed > 0) {
      LOG.warn("{} rewrite commits of {} failed; the others stand", failed, table.name());
    }
  }

  /** What became of the file groups of a rewrite with partial progress. */
  private static String account(PartialCommits commits, int groups) {
    String known =
        String.format(
            Locale.ROOT, "%d of %d file groups were committed in %d commits", commits.committed().size(), groups, commits.succeeded());
    return commits.unknown().isEmpty()
        ? known + "; the new files of the others were deleted."
        : known + " for certain; no file of a commit in doubt was deleted.";
  }

  /** What to throw when work on file groups has stopped. */
  private RuntimeException stopped(Throwable failure, String outcome) throws InterruptedException {
    if (failure instanceof InterruptedException) {
      InterruptedException interrupted =
          new InterruptedException(
              String.format("Cannot complete the rewrite of %s, because it was interrupted. %s", table.name(), outcome));
      interrupted.initCause(failure);
      throw interrupted;
    }
    return new RuntimeException(
        String.format(
            "Cannot complete the rewrite of %s, because a file group failed: %s. %s",
            table.name(), Failures.rootMessage(failure), outcome),
        failure);
  }

  private RewriteDataFiles.Result withoutDanglingDeletes(RewriteDataFiles.Result result) {
    int count = 0;
    try {
      RemoveDanglingDeleteFiles.Result removed = SparkActions.get(session).removeDanglingDeleteFiles(table).execute();
      for (Object ignored : removed.removedDeleteFiles()) {
        count++;
      }
    } catch (RuntimeException e) {
      throw new RuntimeException(
          String.format(
              Locale.ROOT,
              "Cannot remove dangling deletes of %s, because %s. The rewrite itself was committed: %d data files for %d.",
              table.name(), Failures.rootMessage(e), result.addedDataFilesCount(), result.rewrittenDataFilesCount()),
          e);
    }
    return ImmutableRewriteDataFiles.Result.builder()
        .from(result)
        .removedDeleteFilesCount(result.removedDeleteFilesCount() + count)
        .build();
  }

  private interface OnDone {
    void accept(RewriteFileGroup group);
  }

  private interface OnFailure {
    void accept(RewriteFileGroup group, Throwable failure);
  }

  /** The file groups, each with its layout, on a pool of threads. */
  private final class Work {
    private final List<RewriteFileGroup> groups;
    private final List<Layout> layouts;
    private final GroupRewriter rewriter;
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final AtomicInteger finished = new AtomicInteger();
    private final String tag = "iceberg-zorder-" + UUID.randomUUID();

    Work(List<RewriteFileGroup> groups, List<Layout> layouts, GroupRewriter rewriter) {
      this.groups = groups;
      this.layouts = layouts;
      this.rewriter = rewriter;
    }

    /**
     * Rewrites every group. It returns, or throws, only when no group is being rewritten any more: what a caller deletes
     * then stays deleted.
     *
     * @throws ExecutionException if a group failed, and that is to stop the work
     * @throws InterruptedException if this thread was interrupted
     */
    void run(boolean stopOnFailure, OnDone onDone, OnFailure onFailure) throws ExecutionException, InterruptedException {
      SparkContext context = session.sparkContext();
      // The pool's threads inherit the tag, as they inherit whatever tags and groups the caller may cancel by.
      context.addJobTag(tag);
      ExecutorService pool =
          Executors.newFixedThreadPool(Math.min(groups.size(), options.maxConcurrentFileGroupRewrites()));
      List<Future<?>> futures = new ArrayList<>();
      try {
        submit(pool, futures, stopOnFailure, onDone, onFailure);
      } finally {
        pool.shutdown();
        try {
          await(futures, context);
        } finally {
          context.removeJobTag(tag);
        }
      }
    }

    private void submit(
        ExecutorService pool, List<Future<?>> futures, boolean stopOnFailure, OnDone onDone, OnFailure onFailure) {
      boolean isComplete = false;
      try {
        for (int i = 0; i < groups.size(); i++) {
          int number = i;
          futures.add(
              pool.submit(
                  () -> {
                    rewrite(number, stopOnFailure, onDone, onFailure);
                    return null;
                  }));
        }
        isComplete = true;
      } finally {
        if (!isComplete) {
          stopped.set(true);
        }
      }
    }

    private void rewrite(int number, boolean stopOnFailure, OnDone onDone, OnFailure onFailure) throws Exception {
      if (stopped.get()) {
        return;
      }
      RewriteFileGroup group = groups.get(number);
      // Whatever the caller has set for threads such as this one: see the setting of the session.
      session.sparkContext().setInterruptOnCancel(false);
      try {
        group.setOutputFiles(
            new JobDescription(session)
                .during(describe(group), () -> rewriter.rewrite(group, layouts.get(number))));
      } catch (Throwable e) {
        boolean isCancelled = Failures.isCancellation(e);
        if (!isCancelled) {
          onFailure.accept(group, e);
        }
        if (stopOnFailure || isCancelled) {
          // File groups that are being rewritten go on to their end: a failure of each that is cancelled could hide this one.
          stopped.set(true);
          throw e;
        }
        return;
      }
      LOG.info("Rewrote file group {} of {} in {}", finished.incrementAndGet(), groups.size(), table.name());
      onDone.accept(group);
    }

    private String describe(RewriteFileGroup group) {
      String partition = group.info().partition().size() > 0 ? ", " + group.info().partition() : "";
      return String.format(
          Locale.ROOT,
          "Rewriting %d files (zorder, file group %d/%d%s) in %s",
          group.inputFileNum(), group.info().globalIndex(), groups.size(), partition, table.name());
    }

    private void await(List<Future<?>> futures, SparkContext context) throws ExecutionException, InterruptedException {
      ExecutionException failure = null;
      InterruptedException interruption = null;
      for (Future<?> future : futures) {
        boolean waiting = true;
        while (waiting) {
          try {
            future.get();
            waiting = false;
          } catch (ExecutionException e) {
            waiting = false;
            failure = failure == null ? e : failure;
          } catch (InterruptedException e) {
            interruption = e;
            stopped.set(true);
            context.cancelJobsWithTag(tag);
          }
        }
      }
      if (interruption != null) {
        if (failure != null) {
          interruption.addSuppressed(failure);
        }
        throw interruption;
      }
      if (failure != null) {
        throw failure;
      }
    }
  }
}
