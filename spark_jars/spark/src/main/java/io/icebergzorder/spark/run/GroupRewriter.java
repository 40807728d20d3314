package io.icebergzorder.spark.run;

import io.icebergzorder.spark.commit.RowCounts;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.StagedScan;
import io.icebergzorder.spark.layout.SampledGroup;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ScanTaskGroup;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.spark.SparkReadConf;
import org.apache.iceberg.spark.SparkWriteOptions;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.iceberg.util.TableScanUtil;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Rewrites the file groups of a job: every row is read once, routed by its positions, sorted and written. */
record GroupRewriter(RewriteSession session, Table table, ResolvedSortOrder order) {
  /** What Iceberg reads at least in a partition to keep all cores busy. */
  private static final long SMALLEST_SPLIT = 16L << 20;

  /** Writes the new data files of each group, and commits nothing. Whatever it throws, files of known tasks are deleted. */
  List<RewriteFileGroup> rewrite(GroupJob job) throws Exception {
    ReadPartitions partitions = ReadPartitions.of(session.spark(), table, job);
    try (FunctionScope scope = new FunctionScope(session);
        StagedScan scan = StagedScan.ofPartitions(session.spark(), table, partitions.tasks())) {
      RowArrangement.Arranged arranged = new RowArrangement(order, job, partitions.groups(), scope).of(scan.rows());
      List<List<DataFile>> files = new StagedWrite(table, scan, arranged).write(session, options(job, scan.id()));
      List<RewriteFileGroup> rewritten = rewritten(job, files);
      try {
        rewritten.forEach(group -> RowCounts.check(table, group));
      } catch (IllegalStateException e) {
        StagedWrite.delete(table, files);
        throw e;
      }
      return rewritten;
    }
  }

  private static List<RewriteFileGroup> rewritten(GroupJob job, List<List<DataFile>> byTask) {
    List<Set<DataFile>> byGroup = new ArrayList<>();
    job.groups().forEach(group -> byGroup.add(new HashSet<>()));
    int[] groups = job.groupsOfTasks();
    for (int task = 0; task < groups.length; task++) {
      byGroup.get(groups[task]).addAll(byTask.get(task));
    }
    List<RewriteFileGroup> rewritten = job.groups().stream().map(each -> each.group().toRewrite()).toList();
    for (int group = 0; group < byGroup.size(); group++) {
      rewritten.get(group).setOutputFiles(byGroup.get(group));
    }
    return rewritten;
  }

  /** Texts, because the methods for other types differ between Spark lines. The groups of a job have these in common. */
  private Map<String, String> options(GroupJob job, String id) {
    SampledGroup first = job.groups().get(0);
    return Map.of(
        SparkWriteOptions.TARGET_FILE_SIZE_BYTES, String.valueOf(rollAt(first)),
        SparkWriteOptions.USE_TABLE_DISTRIBUTION_AND_ORDERING, "false",
        SparkWriteOptions.OUTPUT_SPEC_ID, String.valueOf(first.group().specId()),
        SparkWriteOptions.FANOUT_ENABLED, "false",
        "rewritten-file-scan-task-set-id", id);
  }

  /** The length at which the writer starts another file. */
  private long rollAt(SampledGroup group) {
    // Where even cuts could not reach the planned number (many rows of one index), a file may be far larger than planned.
    if (group.hasFewerFiles()) {
      return group.group().maxOutputFileSize();
    }
    // The writer counts the open row group before its pages are encoded and compressed: a file would be split near its end.
    long rowGroup =
        PropertyUtil.propertyAsLong(
            table.properties(),
            TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES,
            TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES_DEFAULT);
    return group.group().maxOutputFileSize() + rowGroup;
  }

  /** The partitions that a job reads, each with files of one group. */
  private record ReadPartitions(List<List<FileScanTask>> tasks, int[] groups) {
    /** Plans the partitions of a job: one for each group that is rewritten in place, otherwise as many as Iceberg makes of it. */
    static ReadPartitions of(SparkSession session, Table table, GroupJob job) {
      SparkReadConf settings =
          (SparkReadConf)
              SparkInternals.construct(SparkReadConf.class, session, table, CaseInsensitiveStringMap.empty());
      List<List<FileScanTask>> partitions = new ArrayList<>();
      List<Integer> groups = new ArrayList<>();
      int coresOfGroup = Math.max(1, SparkInternals.parallelism(session) / job.groups().size());
      for (int group = 0; group < job.groups().size(); group++) {
        List<FileScanTask> files = job.groups().get(group).group().files();
        for (List<FileScanTask> tasks : job.isInPlace() ? List.of(files) : planned(files, settings, coresOfGroup)) {
          partitions.add(tasks);
          groups.add(group);
        }
      }
      return new ReadPartitions(partitions, groups.stream().mapToInt(Integer::intValue).toArray());
    }

    private static List<List<FileScanTask>> planned(List<FileScanTask> files, SparkReadConf settings, int cores) {
      List<List<FileScanTask>> planned = new ArrayList<>();
      for (ScanTaskGroup<FileScanTask> tasks :
          TableScanUtil.planTaskGroups(
              files, splitSize(files, settings, cores), settings.splitLookback(), settings.splitOpenFileCost())) {
        planned.add(List.copyOf(tasks.tasks()));
      }
      return planned;
    }

    /** How much a partition reads: less than the table's split size where cores would have nothing to do at the end. */
    private static long splitSize(List<FileScanTask> files, SparkReadConf settings, int cores) {
      if (settings.splitSizeOption() != null || !settings.adaptiveSplitSizeEnabled()) {
        return settings.splitSize();
      }
      long bytes = 0;
      for (FileScanTask file : files) {
        bytes += Math.max(file.sizeBytes(), file.filesCount() * settings.splitOpenFileCost());
      }
      long most = settings.splitSize();
      double rounds = Math.max(1, Math.ceil((double) bytes / most / cores));
      return Math.max(Math.min(SMALLEST_SPLIT, most), (long) Math.ceil(bytes / rounds / cores));
    }
  }
}
