package io.icebergzorder.spark.run;

import io.icebergzorder.core.Layout;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.JobDescription;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.spark.SparkContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The file groups of a plan, each with its layout, rewritten on a pool of threads. */
final class FileGroupPool {
  private static final Logger LOG = LoggerFactory.getLogger(FileGroupPool.class);

  private final GroupRewriter rewriter;
  private final List<RewriteFileGroup> groups;
  private final List<Layout> layouts;
  private final SparkContext context;
  private final AtomicBoolean stopped = new AtomicBoolean();
  private final AtomicInteger finished = new AtomicInteger();
  private final String tag = "iceberg-zorder-" + UUID.randomUUID();

  /**
   * Takes the file groups; each is rewritten once.
   *
   * @param layouts by group
   */
  FileGroupPool(GroupRewriter rewriter, List<RewriteFileGroup> groups, List<Layout> layouts) {
    this.rewriter = rewriter;
    this.groups = groups;
    this.layouts = layouts;
    this.context = rewriter.spark().sparkContext();
  }

  /** What becomes of file groups; called by the pool's threads. */
  interface Outcomes {
    /** A group was rewritten. */
    void done(RewriteFileGroup group);

    /** A group was not, and nobody has cancelled it. */
    void failed(RewriteFileGroup group, Throwable failure);

    /** Whether groups that are not begun are left when one has failed. */
    boolean stopOnFailure();
  }

  /** The number of file groups. */
  int size() {
    return groups.size();
  }

  /**
   * Rewrites every group. It returns, or throws, only when no group is being rewritten any more: what a caller deletes
   * then stays deleted.
   *
   * @throws ExecutionException if a group failed, and that is to stop the work
   * @throws InterruptedException if this thread was interrupted
   */
  void run(int threads, Outcomes outcomes) throws ExecutionException, InterruptedException {
    // The pool's threads inherit the tag, as they inherit whatever tags and groups the caller may cancel by.
    context.addJobTag(tag);
    ExecutorService pool =
        Executors.newFixedThreadPool(Math.min(groups.size(), threads));
    List<Future<?>> futures = new ArrayList<>();
    try {
      submit(pool, futures, outcomes);
    } finally {
      pool.shutdown();
      try {
        await(futures);
      } finally {
        context.removeJobTag(tag);
      }
    }
  }

  private void submit(
      ExecutorService pool, List<Future<?>> futures, Outcomes outcomes) {
    boolean isComplete = false;
    try {
      for (int i = 0; i < groups.size(); i++) {
        int number = i;
        futures.add(
            pool.submit(
                () -> {
                  rewrite(number, outcomes);
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

  private void rewrite(int number, Outcomes outcomes) throws Exception {
    if (stopped.get()) {
      return;
    }
    RewriteFileGroup group = groups.get(number);
    // Whatever the caller has set for threads such as this one: see the setting of the session.
    context.setInterruptOnCancel(false);
    try {
      group.setOutputFiles(
          new JobDescription(rewriter.spark())
              .during(describe(group), () -> rewriter.rewrite(group, layouts.get(number))));
    } catch (Throwable e) {
      boolean isCancelled = Failures.isCancellation(e);
      if (!isCancelled) {
        outcomes.failed(group, e);
      }
      if (outcomes.stopOnFailure() || isCancelled) {
        // File groups that are being rewritten go on to their end: a failure of each that is cancelled could hide this one.
        stopped.set(true);
        throw e;
      }
      return;
    }
    LOG.info("Rewrote file group {} of {} in {}", finished.incrementAndGet(), groups.size(), rewriter.table().name());
    outcomes.done(group);
  }

  private String describe(RewriteFileGroup group) {
    String partition = group.info().partition().size() > 0 ? ", " + group.info().partition() : "";
    return String.format(
        Locale.ROOT,
        "Rewriting %d files (zorder, file group %d/%d%s) in %s",
        group.inputFileNum(), group.info().globalIndex(), groups.size(), partition, rewriter.table().name());
  }

  private void await(List<Future<?>> futures) throws ExecutionException, InterruptedException {
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
