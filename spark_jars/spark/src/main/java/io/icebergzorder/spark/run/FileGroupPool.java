package io.icebergzorder.spark.run;

import io.icebergzorder.spark.internals.FailureStreak;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.JobDescription;
import io.icebergzorder.spark.jobs.GroupJob;
import io.icebergzorder.spark.jobs.LaidOutGroup;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.spark.SparkContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The file groups of a plan, rewritten by Spark jobs on a pool of threads. */
final class FileGroupPool {
  private static final Logger LOG = LoggerFactory.getLogger(FileGroupPool.class);

  private final GroupRewriter rewriter;
  private final List<GroupJob> jobs;
  private final Map<RewriteFileGroup, Throwable> unsampled;
  private final int groups;
  private final SparkContext context;
  private final AtomicBoolean stopped = new AtomicBoolean();
  private final FailureStreak streak = new FailureStreak();
  private final AtomicInteger finished = new AtomicInteger();
  private final String tag = "iceberg-zorder-" + UUID.randomUUID();

  FileGroupPool(GroupRewriter rewriter, List<GroupJob> jobs, Map<RewriteFileGroup, Throwable> unsampled) {
    this.rewriter = rewriter;
    this.jobs = jobs;
    this.unsampled = unsampled;
    this.groups = unsampled.size() + jobs.stream().mapToInt(job -> job.groups().size()).sum();
    this.context = rewriter.spark().sparkContext();
  }

  /** What becomes of file groups; called by the pool's threads. */
  interface Outcomes {
    /** A group was rewritten. */
    void done(RewriteFileGroup group);

    /** Groups of one job were rewritten, by its thread: takes each, or if one cannot be taken, aborts it and those after it. */
    default void done(List<RewriteFileGroup> groups) {
      int taken = 0;
      try {
        for (; taken < groups.size(); taken++) {
          done(groups.get(taken));
        }
      } catch (Throwable e) {
        abort(groups.subList(taken, groups.size()));
        throw e;
      }
    }

    /** Deletes the new files of groups that were not taken. */
    void abort(Collection<RewriteFileGroup> groups);

    /** A group was not, and nobody has cancelled it. */
    void failed(RewriteFileGroup group, Throwable failure);

    /** Whether groups that are not begun are left when one has failed; otherwise those that shared its job are tried apart. */
    boolean stopOnFailure();
  }

  /** The number of file groups, those that could not be sampled included. */
  int size() {
    return groups;
  }

  /** Rewrites every group that has a layout. */
  void run(int threads, Outcomes outcomes) throws ExecutionException, InterruptedException {
    unsampled.forEach(outcomes::failed);
    // The pool's threads inherit the tag, as they inherit whatever tags and groups the caller may cancel by.
    context.addJobTag(tag);
    // It starts a thread for each job until there are so many.
    ExecutorService pool = Executors.newFixedThreadPool(threads);
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
      for (GroupJob job : jobs) {
        futures.add(
            pool.submit(
                () -> {
                  rewrite(job, outcomes);
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

  private void rewrite(GroupJob job, Outcomes outcomes) throws Exception {
    if (stopped.get()) {
      return;
    }
    if (streak.isOver()) {
      job.groups().forEach(each -> outcomes.failed(each.group(), streak.why()));
      return;
    }
    // Whatever the caller has set for threads such as this one: see the setting of the session.
    context.setInterruptOnCancel(false);
    List<Set<DataFile>> files;
    try {
      files = new JobDescription(rewriter.spark()).during(describe(job), () -> rewriter.rewrite(job));
    } catch (Throwable e) {
      if (outcomes.stopOnFailure() || Failures.isCancellation(e)) {
        // Jobs that are running go on to their end: a failure of each that is cancelled could hide this one.
        stopped.set(true);
        throw e;
      }
      afterFailure(job, e, outcomes);
      return;
    }
    LOG.info(
        "Rewrote {} of {} file groups in {}",
        finished.addAndGet(files.size()), groups, rewriter.table().name());
    streak.done();
    List<RewriteFileGroup> rewritten = job.groups().stream().map(LaidOutGroup::group).toList();
    for (int group = 0; group < files.size(); group++) {
      rewritten.get(group).setOutputFiles(files.get(group));
    }
    try {
      outcomes.done(rewritten);
    } catch (Throwable e) {
      stopped.set(true);
      throw e;
    }
  }

  /** Only the group that is to blame fails: of a shared job nobody knows which one that is. */
  private void afterFailure(GroupJob job, Throwable failure, Outcomes outcomes) throws Exception {
    if (!job.isShared()) {
      streak.failed(failure);
      outcomes.failed(job.groups().get(0).group(), failure);
      return;
    }
    LOG.warn("Rewriting {} file groups of {} apart, because one failed", job.groups().size(), rewriter.table().name(), failure);
    for (GroupJob half : job.halves()) {
      rewrite(half, outcomes);
    }
  }

  private String describe(GroupJob job) {
    RewriteDataFiles.FileGroupInfo first = job.groups().get(0).group().info();
    String which =
        job.isShared()
            ? String.format(Locale.ROOT, "%d file groups of %d", job.groups().size(), groups)
            : String.format(
                Locale.ROOT,
                "file group %d/%d%s",
                first.globalIndex(), groups, first.partition().size() > 0 ? ", " + first.partition() : "");
    return String.format(
        Locale.ROOT, "Rewriting %d files (zorder, %s) in %s", job.inputFiles(), which, rewriter.table().name());
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
