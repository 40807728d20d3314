package io.icebergzorder.spark.run;

import io.icebergzorder.spark.commit.RowCounts;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.StagedScan;
import io.icebergzorder.spark.jobs.GroupJob;
import io.icebergzorder.spark.jobs.LaidOutGroup;
import io.icebergzorder.spark.jobs.ReadPartitions;
import io.icebergzorder.spark.request.RowOrder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.spark.SparkWriteOptions;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.spark.sql.SparkSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Rewrites the file groups of a job by their layouts: every row is read once, gets its positions, goes straight to its
 * file, is sorted there and written by Iceberg's own writers.
 */
final class GroupRewriter {
  private static final Logger LOG = LoggerFactory.getLogger(GroupRewriter.class);

  private final RewriteSession session;
  private final Table table;
  private final RowOrder order;

  GroupRewriter(RewriteSession session, Table table, RowOrder order) {
    this.session = session;
    this.table = table;
    this.order = order;
  }

  /** The session that rewrites. */
  SparkSession spark() {
    return session.spark();
  }

  /** The table whose file groups are rewritten. */
  Table table() {
    return table;
  }

  /** Rewrites file groups; nothing is committed. */
  List<Set<DataFile>> rewrite(GroupJob job) throws Exception {
    // What functions share is there until no task of a job that failed runs any more.
    try (GroupTasks tasks = new GroupTasks(session.spark().sparkContext());
        FunctionScope scope = new FunctionScope(session)) {
      try {
        List<List<DataFile>> files = write(job, tasks, scope);
        List<Set<DataFile>> byGroup = byGroup(job, files);
        for (int group = 0; group < byGroup.size(); group++) {
          RowCounts.check(table, job.groups().get(group).group(), byGroup.get(group));
        }
        return byGroup;
      } catch (Throwable e) {
        deleteFiles(tasks);
        throw e;
      }
    }
  }

  /** Returns the new files by the task that has written them. */
  private List<List<DataFile>> write(GroupJob job, GroupTasks tasks, FunctionScope scope) throws Exception {
    ReadPartitions partitions = ReadPartitions.of(session.spark(), table, job);
    try (StagedScan scan = StagedScan.ofPartitions(session.spark(), table, partitions.tasks())) {
      RowArrangement.Arranged arranged =
          new RowArrangement(table, order, job, partitions.groups(), scope).of(scan.rows());
      try (StagedWrite write =
          new StagedWrite(session, table, scan, arranged, scope.share(job.tasksOfFiles()), tasks.locations())) {
        write.writer().options(options(job, scan.id())).append();
        return write.files();
      }
    }
  }

  private List<Set<DataFile>> byGroup(GroupJob job, List<List<DataFile>> byTask) {
    int[] groups = job.groupsOfTasks();
    if (byTask.size() != groups.length) {
      throw new IllegalStateException(
          String.format(
              "Cannot commit rewrite of %s, because it was planned to be written by %d tasks, and was by %d",
              table.name(), groups.length, byTask.size()));
    }
    List<Set<DataFile>> byGroup = new ArrayList<>();
    job.groups().forEach(group -> byGroup.add(new HashSet<>()));
    for (int task = 0; task < groups.length; task++) {
      byGroup.get(groups[task]).addAll(byTask.get(task));
    }
    return byGroup;
  }

  private void deleteFiles(GroupTasks tasks) {
    int failed = 0;
    for (String location : tasks.filesInTheEnd()) {
      try {
        table.io().deleteFile(location);
      } catch (RuntimeException e) {
        failed++;
        // Storage that is gone fails for each of thousands, all for one reason.
        if (failed == 1) {
          LOG.warn("Failed to delete {} of a rewrite that failed; remove_orphan_files collects it", location, e);
        }
      }
    }
    if (failed > 1) {
      LOG.warn("Failed to delete {} files of a rewrite that failed; remove_orphan_files collects them", failed);
    }
  }

  /** Texts, because the methods for other types differ between Spark lines. The groups of a job have these in common. */
  private Map<String, String> options(GroupJob job, String id) {
    LaidOutGroup first = job.groups().get(0);
    return Map.of(
        SparkWriteOptions.TARGET_FILE_SIZE_BYTES, String.valueOf(rollAt(first)),
        SparkWriteOptions.USE_TABLE_DISTRIBUTION_AND_ORDERING, "false",
        SparkWriteOptions.OUTPUT_SPEC_ID, String.valueOf(first.group().outputSpecId()),
        SparkWriteOptions.FANOUT_ENABLED, "false",
        "rewritten-file-scan-task-set-id", id);
  }

  /** The length at which the writer starts another file. */
  private long rollAt(LaidOutGroup group) {
    if (group.hasFewerFiles()) {
      return group.group().maxOutputFileSize();
    }
    long rowGroup =
        PropertyUtil.propertyAsLong(
            table.properties(),
            TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES,
            TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES_DEFAULT);
    return group.group().maxOutputFileSize() + rowGroup;
  }
}
