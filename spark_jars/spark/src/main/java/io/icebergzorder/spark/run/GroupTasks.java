package io.icebergzorder.spark.run;

import io.icebergzorder.spark.internals.SparkInternals;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.util.CollectionAccumulator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * The tasks of a rewrite's job, and the data files that they have finished, so that those of a failed job can be
 * deleted.
 *
 * <p>Spark reports that a job has ended as soon as it has told its tasks to stop, and drops what they return from then
 * on. But it tells listeners of the end of every task, with the task's accumulators, however the task and its job have
 * ended: there the tasks name their files. What attempts of a task have written that lost against another one
 * (speculation, lost executors) is for {@code remove_orphan_files}, as with Iceberg's own rewrites.
 */
final class GroupTasks implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(GroupTasks.class);
  private static final long LONGEST_WAIT_SECONDS = 60;

  /** The listeners' own queue: of one that is shared, Spark drops events while another listener is slow. */
  private static final String QUEUE = "iceberg-zorder";

  /** A property of jobs, which tells them apart. */
  private static final String PROPERTY = "iceberg-zorder.job";

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

  /** The locations of the files of all tasks, as soon as no task runs any more. */
  Set<String> filesInTheEnd() {
    try {
      startLast();
    } catch (IllegalStateException e) {
      LOG.debug("Cannot start a job, because Spark has been stopped: the listener hears of that, too", e);
    }
    listener.await(System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_WAIT_SECONDS));
    return listener.files();
  }

  /** Starts one job more, only to cancel it. */
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

  @Override
  public void close() {
    context.setLocalProperty(PROPERTY, null);
    context.removeSparkListener(listener);
  }

  private final class Listener extends SparkListener {
    private final Set<Integer> stages = new HashSet<>();
    private final Set<Long> running = new HashSet<>();
    private final Set<String> files = new HashSet<>();
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
        running.add(event.taskInfo().taskId());
      }
    }

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
      if (!stages.contains(event.stageId())) {
        return;
      }
      running.remove(event.taskInfo().taskId());
      if (event.taskMetrics() != null) {
        SparkInternals.collected(event.taskMetrics(), locations.id()).forEach(location -> files.add((String) location));
      }
      notifyAll();
    }

    @Override
    public synchronized void onJobStart(SparkListenerJobStart event) {
      isLastStarted |= has(event.properties(), lastId);
      notifyAll();
    }

    @Override
    public synchronized void onApplicationEnd(SparkListenerApplicationEnd event) {
      isSparkStopped = true;
      notifyAll();
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
