package io.icebergzorder.spark.jobs;

import io.icebergzorder.spark.internals.SparkInternals;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ScanTaskGroup;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkReadConf;
import org.apache.iceberg.util.TableScanUtil;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The partitions that a job reads, each with files of one group. */
public record ReadPartitions(List<List<FileScanTask>> tasks, int[] groups) {
  /** Plans the partitions of a job: one for each group that is rewritten in place, otherwise as many as Iceberg makes of it. */
  public static ReadPartitions of(SparkSession session, Table table, GroupJob job) {
    SparkReadConf settings =
        (SparkReadConf)
            SparkInternals.construct(SparkReadConf.class, session, table, CaseInsensitiveStringMap.empty());
    List<List<FileScanTask>> partitions = new ArrayList<>();
    List<Integer> groups = new ArrayList<>();
    int coresOfGroup = Math.max(1, SparkInternals.parallelism(session) / job.groups().size());
    for (int group = 0; group < job.groups().size(); group++) {
      List<FileScanTask> files = job.groups().get(group).group().fileScanTasks();
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

  /** How much a partition reads: less than the table's split size where some cores would have nothing to do, as Iceberg's scans do. */
  private static long splitSize(List<FileScanTask> files, SparkReadConf settings, int cores) {
    if (settings.splitSizeOption() != null || !settings.adaptiveSplitSizeEnabled()) {
      return settings.splitSize();
    }
    long bytes = 0;
    for (FileScanTask file : files) {
      bytes += Math.max(file.sizeBytes(), file.filesCount() * settings.splitOpenFileCost());
    }
    return TableScanUtil.adjustSplitSize(bytes, cores, settings.splitSize());
  }
}
