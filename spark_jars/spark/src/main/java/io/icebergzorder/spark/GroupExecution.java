package io.icebergzorder.spark;

import io.icebergzorder.core.Layout;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
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
import org.apache.iceberg.actions.RewriteDataFilesCommitManager;
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

  RewriteDataFiles.Result run(List<RewriteFileGroup> groups, List<Layout> layouts, GroupRewriter rewriter) {
    Work work = new Work(groups, layouts, rewriter);
    RewriteDataFiles.Result result = options.partialProgress() ? partially(work) : atOnce(work);
    return options.removeDanglingDeletes() ? withoutDanglingDeletes(result) : result;
  }

  private RewriteDataFiles.Result atOnce(Work work) {
    Collection<RewriteFileGroup> done = new ConcurrentLinkedQueue<>();
    try {
      work.run(true, done::add, (group, failure) -> {});
    } catch (RuntimeException e) {
      commit.abort(done);
      throw e;
    }
    commit.commit(done);
    return ImmutableRewriteDataFiles.Result.builder()
        .rewriteResults(done.stream().map(RewriteFileGroup::asResult).toList())
        .build();
  }

  private RewriteDataFiles.Result partially(Work work) {
    int groupsPerCommit = (work.groups.size() + options.maxCommits() - 1) / options.maxCommits();
    RewriteDataFilesCommitManager.CommitService service = commit.service(groupsPerCommit);
    AtomicInteger offered = new AtomicInteger();
    Collection<RewriteDataFiles.FileGroupFailureResult> failures = new ConcurrentLinkedQueue<>();
    service.start();
    try {
      work.run(
          false,
          group -> {
            offered.incrementAndGet();
            service.offer(group);
          },
          (group, failure) -> {
            LOG.error("Cannot rewrite file group {} of {}", group.info(), table.name(), failure);
            failures.add(
                ImmutableRewriteDataFiles.FileGroupFailureResult.builder()
                    .info(group.info())
                    .dataFilesCount(group.inputFileNum())
                    .build());
          });
    } finally {
      service.close();
    }
    // Counted by the commits that were tried: Iceberg counts up to max-commits even where there are fewer batches.
    int tried = (offered.get() + groupsPerCommit - 1) / groupsPerCommit;
    checkFailedCommits(tried - service.succeededCommits());
    return ImmutableRewriteDataFiles.Result.builder()
        .rewriteResults(service.results().stream().map(RewriteFileGroup::asResult).toList())
        .rewriteFailures(failures)
        .build();
  }

  private void checkFailedCommits(int failed) {
    if (failed > options.maxFailedCommits()) {
      throw new RuntimeException(
          String.format(
              Locale.ROOT,
              "Cannot complete the rewrite of %s, because %s is true but %d rewrite commits failed. This is more than the"
                  + " maximum allowed failures of %d. The log says why each failed; the other commits stand.",
              table.name(), RewriteDataFiles.PARTIAL_PROGRESS_ENABLED, failed, options.maxFailedCommits()));
    }
    if (failed > 0) {
      LOG.warn("{} rewrite commits of {} failed; the others stand", failed, table.name());
    }
  }

  private RewriteDataFiles.Result withoutDanglingDeletes(RewriteDataFiles.Result result) {
    RemoveDanglingDeleteFiles.Result removed = SparkActions.get(session).removeDanglingDeleteFiles(table).execute();
    int count = 0;
    for (Object ignored : removed.removedDeleteFiles()) {
      count++;
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
    void accept(RewriteFileGroup group, Exception failure);
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
     */
    void run(boolean stopOnFailure, OnDone onDone, OnFailure onFailure) {
      SparkContext context = session.sparkContext();
      // The pool's threads inherit the tag, as they inherit whatever tags and groups the caller may cancel by.
      context.addJobTag(tag);
      ExecutorService pool =
          Executors.newFixedThreadPool(Math.min(groups.size(), options.maxConcurrentFileGroupRewrites()));
      List<Future<?>> futures = new ArrayList<>();
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
        await(futures, context);
      } finally {
        pool.shutdown();
        context.removeJobTag(tag);
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
      } catch (Exception e) {
        onFailure.accept(group, e);
        if (stopOnFailure) {
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

    private void await(List<Future<?>> futures, SparkContext context) {
      Throwable first = null;
      boolean interrupted = false;
      for (Future<?> future : futures) {
        boolean waiting = true;
        while (waiting) {
          try {
            future.get();
            waiting = false;
          } catch (ExecutionException e) {
            waiting = false;
            first = first == null ? e.getCause() : first;
          } catch (InterruptedException e) {
            interrupted = true;
            stopped.set(true);
            context.cancelJobsWithTag(tag);
          }
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
        throw new RuntimeException(
            String.format("Cannot complete the rewrite of %s, because it was interrupted", table.name()), first);
      }
      if (first != null) {
        throw new RuntimeException(
            String.format(
                "Cannot complete the rewrite of %s, because a file group failed: %s. Nothing was committed, and the new"
                    + " files were deleted.",
                table.name(), rootMessage(first)),
            first);
      }
    }
  }

  private static String rootMessage(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause.getMessage() == null ? cause.toString() : cause.getMessage();
  }
}
