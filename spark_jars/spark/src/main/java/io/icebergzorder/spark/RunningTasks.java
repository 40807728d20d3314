package io.icebergzorder.spark;

import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkJobInfo;
import org.apache.spark.SparkStageInfo;
import org.apache.spark.SparkStatusTracker;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tasks of some jobs, which a tag tells apart. Spark reports that a job has failed as soon as it has told its tasks to stop;
 * they delete what they have written only then, and a program that ends on the failure would not let them.
 */
final class RunningTasks implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RunningTasks.class);
  private static final long LONGEST_SECONDS = 60;
  private static final long PAUSE_MILLIS = 20;

  private final SparkContext context;
  private final String tag;

  /** Follows the jobs that this thread starts from now on, until it is closed. */
  RunningTasks(SparkContext context, String tag) {
    this.context = context;
    this.tag = tag;
    context.addJobTag(tag);
  }

  /** Waits until no task runs any more, for a minute at most. */
  void await() {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SECONDS);
    while (areRunning()) {
      if (System.nanoTime() > deadline) {
        LOG.warn("Tasks of a failed file group still run after {} s; remove_orphan_files collects what they leave", LONGEST_SECONDS);
        return;
      }
      try {
        Thread.sleep(PAUSE_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  private boolean areRunning() {
    SparkStatusTracker tracker = context.statusTracker();
    for (int id : tracker.getJobIdsForTag(tag)) {
      SparkJobInfo job = tracker.getJobInfo(id).getOrElse(() -> null);
      for (int stageId : job == null ? new int[0] : job.stageIds()) {
        SparkStageInfo stage = tracker.getStageInfo(stageId).getOrElse(() -> null);
        if (stage != null && stage.numActiveTasks() > 0) {
          return true;
        }
      }
    }
    return false;
  }

  @Override
  public void close() {
    context.removeJobTag(tag);
  }
}
