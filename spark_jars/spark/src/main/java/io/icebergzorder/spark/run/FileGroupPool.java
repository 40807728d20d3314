package io.icebergzorder.spark.run;

import io.icebergzorder.spark.commit.RewriteCommit;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.Failures.FailureStreak;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.spec.RewriteOptions;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.spark.SparkContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The file groups of a plan, rewritten by Spark jobs on a pool of threads. */
final class FileGroupPool {
  private static final Logger LOG = LoggerFactory.getLogger(FileGroupPool.class);

  private final GroupRewriter rewriter;
  private final RewriteCommit commit;
  private final RewriteOptions options;
  private final List<GroupJob> jobs;
  private final Map<FileGroup, Throwable> failures;
  private final int groups;
  private final SparkContext context;
  private final Room room;
  private final AtomicReference<Throwable> stopped = new AtomicReference<>();
  private final FailureStreak streak = new FailureStreak();
  private final AtomicInteger finished = new AtomicInteger();
  private final String tag = "iceberg-zorder-" + UUID.randomUUID();

  /** Takes jobs with each file group that has a layout once, and why others have none. */
  FileGroupPool(
      GroupRewriter rewriter, RewriteCommit commit, RewriteOptions options, List<GroupJob> jobs, Map<FileGroup, Throwable> samplingFailures) {
    // Smaller groups are no reason to run fewer of them.
    this.room = new Room(Math.max(options.maxFileGroupSizeBytes(), RewriteOptions.MAX_FILE_GROUP_SIZE_BYTES_DEFAULT));
    this.rewriter = rewriter;
    this.commit = commit;
    this.options = options;
    this.jobs = jobs;
    this.failures = Collections.synchronizedMap(new LinkedHashMap<>(samplingFailures));
    this.groups = samplingFailures.size() + jobs.stream().mapToInt(job -> job.groups().size()).sum();
    this.context = rewriter.session().spark().sparkContext();
  }

  /** Lets jobs run together while local disk has room for their shuffles; a larger job runs alone. */
  static final class Room {
    private final long most;
    private long taken;

    Room(long most) {
      this.most = most;
    }

    synchronized void enter(long bytes) throws InterruptedException {
      while (taken > 0 && taken + bytes > most) {
        wait();
      }
      taken += bytes;
    }

    synchronized void leave(long bytes) {
      taken -= bytes;
      notifyAll();
    }
  }

  /** Hands on groups; aborts those that are not taken. */
  static void handOn(List<RewriteFileGroup> groups, Consumer<RewriteFileGroup> done, Consumer<Collection<RewriteFileGroup>> abort) {
    int taken = 0;
    try {
      for (; taken < groups.size(); taken++) {
        done.accept(groups.get(taken));
      }
    } catch (Throwable e) {
      abort.accept(groups.subList(taken, groups.size()));
      throw e;
    }
  }

  int size() {
    return groups;
  }

  /** The groups that could not be sampled or rewritten, and why; none without partial progress. */
  Map<FileGroup, Throwable> failures() {
    return failures;
  }

  /**
   * Rewrites every group that has a layout; returns or throws only when no job of the rewrite runs any more.
   *
   * @param done takes each rewritten group; if it throws, the new files of the group are deleted
   */
  // Without partial progress the first failure leaves the groups that are not begun; else those that shared a job with it are tried apart.
  void run(Consumer<RewriteFileGroup> done) throws ExecutionException, InterruptedException {
    failures.forEach(this::logFailure);
    // The pool's threads inherit the tag, as they inherit whatever tags and groups the caller may cancel by.
    context.addJobTag(tag);
    ExecutorService pool = Executors.newFixedThreadPool(options.maxConcurrentFileGroupRewrites());
    try {
      jobs.forEach(job -> pool.execute(() -> attempt(job, done)));
    } finally {
      pool.shutdown();
      try {
        await(pool);
      } finally {
        context.removeJobTag(tag);
      }
    }
    if (stopped.get() != null) {
      throw new ExecutionException(stopped.get());
    }
  }

  private void attempt(GroupJob job, Consumer<RewriteFileGroup> done) {
    try {
      room.enter(job.bytes());
      try {
        rewrite(job, done);
      } finally {
        room.leave(job.bytes());
      }
    } catch (Throwable e) {
      // Jobs that are running go on to their end: a failure of each that is cancelled could hide this one.
      stopped.compareAndSet(null, e);
    }
  }

  private void rewrite(GroupJob job, Consumer<RewriteFileGroup> done) throws Exception {
    if (stopped.get() != null) {
      return;
    }
    if (streak.isOver()) {
      job.groups().forEach(each -> failed(each.group(), streak.why()));
      return;
    }
    // Whatever the caller has set for threads such as this one: see the setting of the session.
    context.setInterruptOnCancel(false);
    List<RewriteFileGroup> rewritten;
    try {
      rewritten = rewriter.session().describing(describe(job), () -> rewriter.rewrite(job));
    } catch (Throwable e) {
      if (options.partialProgress().isEmpty() || Failures.isCancellation(e)) {
        throw e;
      }
      afterFailure(job, e, done);
      return;
    }
    LOG.info("Rewrote {} of {} file groups in {}", finished.addAndGet(rewritten.size()), groups, rewriter.table().name());
    streak.done();
    handOn(rewritten, done, commit::abort);
  }

  /** Only the group that is to blame fails: of a shared job nobody knows which one that is. */
  private void afterFailure(GroupJob job, Throwable failure, Consumer<RewriteFileGroup> done) throws Exception {
    if (!job.isShared()) {
      streak.failed(failure);
      failed(job.groups().get(0).group(), failure);
      return;
    }
    LOG.warn("Rewriting {} file groups of {} apart, because one failed", job.groups().size(), rewriter.table().name(), failure);
    for (GroupJob half : job.halves()) {
      rewrite(half, done);
    }
  }

  private void failed(FileGroup group, Throwable failure) {
    logFailure(group, failure);
    failures.put(group, failure);
  }

  private void logFailure(FileGroup group, Throwable failure) {
    LOG.error("Cannot rewrite file group {} of {}", group.info(), rewriter.table().name(), failure);
  }

  private String describe(GroupJob job) {
    RewriteDataFiles.FileGroupInfo first = job.groups().get(0).group().info();
    String partition = first.partition().size() > 0 ? ", " + first.partition() : "";
    String which =
        job.isShared()
            ? String.format(Locale.ROOT, "%d file groups of %d", job.groups().size(), groups)
            : String.format(Locale.ROOT, "file group %d/%d%s", first.globalIndex(), groups, partition);
    return String.format(Locale.ROOT, "Rewriting %d files (zorder, %s) in %s", job.inputFiles(), which, rewriter.table().name());
  }

  private void await(ExecutorService pool) throws InterruptedException {
    InterruptedException interruption = null;
    while (!pool.isTerminated()) {
      try {
        pool.awaitTermination(1, TimeUnit.DAYS);
      } catch (InterruptedException e) {
        interruption = e;
        stopped.compareAndSet(null, e);
        context.cancelJobsWithTag(tag);
      }
    }
    if (interruption != null) {
      throw interruption;
    }
  }
}
