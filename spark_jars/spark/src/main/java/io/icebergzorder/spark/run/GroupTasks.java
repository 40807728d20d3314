package io.icebergzorder.spark.run;

import io.icebergzorder.spark.internals.SparkInternals;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.util.CollectionAccumulator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * The tasks of a rewrite's job, and the data files that they have finished, so that those of a failed job can be deleted, and
 * those that lost against another attempt of their task.
 *
 * <p>Spark reports that a job has ended as soon as it has told its tasks to stop, and drops what they return from then on. But
 * it tells listeners of the end of every task, with the task's accumulators, however the task and its job have ended: there the
 * tasks name their files. Of attempts that tell nothing {@link KeptFiles} knows the names.
 */
final class GroupTasks implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(GroupTasks.class);
  private static final long LONGEST_WAIT_SECONDS = 60;

  /** The listeners' own queue: of one that is shared, Spark drops events while another listener is slow. */
  private static final String QUEUE = "iceberg-zorder";

  /** A property of jobs, which tells them apart. */
  private static final String PROPERTY = "iceberg-zorder.job";

  /** What Spark calls the tasks of a job's last stage, which write; those before are map tasks of the shuffle. */
  private static final String WRITING_TASK = "ResultTask";

  private static final int NO_JOB = -1;
  private static final String SPARK_JOB_GROUP = "spark.jobGroup.id";

  private final SparkContext context;
  private final String id = UUID.randomUUID().toString();
  private final String lastId = id + "-last";
  private final CollectionAccumulator<String> locations = new CollectionAccumulator<>();
  private final Listener listener = new Listener();

  /** Follows the jobs that this thread starts from now on, until it is closed. */
  GroupTasks(SparkContext context) {
    this.context = context;
    locations.register(context, Option.empty(), true);
    // What this Spark lacks shows here: an error of the listener would stop Spark.
    SparkInternals.collected(TaskMetrics.empty(), locations.id());
    context.listenerBus().addToQueue(listener, QUEUE);
    context.setLocalProperty(PROPERTY, id);
  }

  /** Where tasks name the files that they have finished: the last thing they do. */
  CollectionAccumulator<String> locations() {
    return locations;
  }

  /**
   * The locations of the files of all tasks, as soon as no task runs any more. It waits for a minute at most: a task that
   * should stop deletes its files itself if it notices later than that.
   */
  Set<String> filesInTheEnd() {
    try {
      startLast();
    } catch (IllegalStateException e) {
      LOG.debug("Cannot start a job, because Spark has been stopped: the listener hears of that, too", e);
    }
    listener.await(System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_WAIT_SECONDS));
    return listener.files();
  }

  /**
   * Starts one job more, only to cancel it. Spark's scheduler does one thing after the other: when it tells of this job, it
   * has told of every task that was started for those before.
   */
  private void startLast() {
    String group = context.getLocalProperty(SPARK_JOB_GROUP);
    // Spark may have been asked to refuse further jobs of the group, and would not tell of this one.
    context.setLocalProperty(SPARK_JOB_GROUP, null);
    context.setLocalProperty(PROPERTY, lastId);
    try {
      JavaSparkContext.fromSparkContext(context).parallelize(List.of(0), 1).countAsync().cancel(true);
    } finally {
      context.setLocalProperty(PROPERTY, id);
      context.setLocalProperty(SPARK_JOB_GROUP, group);
    }
  }

  /**
   * Deletes the files of all tasks but these, now or as soon as their tasks have ended: nobody waits for an attempt that has
   * lost, which may hang for long.
   */
  void keepOnly(KeptFiles files) {
    listener.keepOnly(files);
  }

  @Override
  public void close() {
    context.setLocalProperty(PROPERTY, null);
    if (!listener.awaitsLosers()) {
      context.removeSparkListener(listener);
    }
  }

  private final class Listener extends SparkListener {
    private final Set<Integer> stages = new HashSet<>();
    private final Map<Long, Integer> running = new HashMap<>();
    private final Map<Long, Integer> ended = new HashMap<>();
    private final Set<String> files = new HashSet<>();
    private final Set<String> unsorted = new HashSet<>();
    private KeptFiles kept;
    private int job = NO_JOB;
    private boolean isJobOver;
    private boolean isLastStarted;
    private boolean isSparkStopped;

    @Override
    public synchronized void onStageSubmitted(SparkListenerStageSubmitted event) {
      if (has(event.properties(), id)) {
        stages.add(event.stageInfo().stageId());
      }
    }

    @Override
    public synchronized void onTaskStart(SparkListenerTaskStart event) {
      if (stages.contains(event.stageId())) {
        running.put(event.taskInfo().taskId(), event.taskInfo().partitionId());
      }
    }

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
      if (!stages.contains(event.stageId())) {
        return;
      }
      long attempt = event.taskInfo().taskId();
      running.remove(attempt);
      if (event.taskMetrics() != null) {
        for (Object location : SparkInternals.collected(event.taskMetrics(), locations.id())) {
          files.add((String) location);
          unsorted.add((String) location);
        }
      }
      if (event.taskType().equals(WRITING_TASK)) {
        ended.put(attempt, event.taskInfo().partitionId());
      }
      deleteOfLosers(ended);
      notifyAll();
    }

    @Override
    public synchronized void onJobStart(SparkListenerJobStart event) {
      isLastStarted |= has(event.properties(), lastId);
      if (has(event.properties(), id)) {
        job = event.jobId();
      }
      notifyAll();
    }

    @Override
    public synchronized void onJobEnd(SparkListenerJobEnd event) {
      isJobOver |= event.jobId() == job;
      deleteOfLosers(ended);
    }

    @Override
    public synchronized void onApplicationEnd(SparkListenerApplicationEnd event) {
      isSparkStopped = true;
      // Nothing is told of these any more, and their executors are stopped now.
      deleteOfLosers(running);
      notifyAll();
    }

    synchronized void keepOnly(KeptFiles files) {
      kept = files;
      deleteOfLosers(ended);
    }

    /** Whether tasks may end from now on whose files are to be deleted. */
    synchronized boolean awaitsLosers() {
      return kept != null && !isSparkStopped && !(isJobOver && running.isEmpty());
    }

    private void deleteOfLosers(Map<Long, Integer> attempts) {
      if (kept == null) {
        return;
      }
      attempts.forEach((attempt, partition) -> unsorted.addAll(kept.others(partition, attempt)));
      attempts.clear();
      unsorted.forEach(kept::deleteOther);
      unsorted.clear();
      if (isJobOver && running.isEmpty()) {
        // Not by this thread: who stops Spark waits for it, and holds the lock that removing a listener takes.
        CompletableFuture.runAsync(() -> context.removeSparkListener(this));
      }
    }

    private boolean has(Properties properties, String id) {
      return properties != null && id.equals(properties.getProperty(PROPERTY));
    }

    synchronized void await(long deadline) {
      try {
        while (!isSparkStopped && (!isLastStarted || !running.isEmpty())) {
          long millis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
          if (millis <= 0) {
            LOG.warn(
                "Tasks of a failed rewrite still run after {} s; remove_orphan_files collects what they leave",
                LONGEST_WAIT_SECONDS);
            return;
          }
          wait(millis);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    synchronized Set<String> files() {
      return Set.copyOf(files);
    }
  }
}
