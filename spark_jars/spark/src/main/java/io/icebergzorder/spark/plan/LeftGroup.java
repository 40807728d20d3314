package io.icebergzorder.spark.plan;

import io.icebergzorder.core.Reason;
import java.util.List;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;

/** Data files of one partition that a rewrite leaves, with the reasons. */
public record LeftGroup(String partition, int dataFilesCount, long bytes, long rows, List<Reason> reasons) {
  /** Takes a copy of the list. */
  public LeftGroup {
    reasons = List.copyOf(reasons);
  }

  /** Some files of a table. */
  public static LeftGroup of(Table table, List<FileScanTask> files, List<Reason> reasons) {
    return new LeftGroup(
        partition(table, files),
        files.size(),
        files.stream().mapToLong(file -> file.file().fileSizeInBytes()).sum(),
        files.stream().mapToLong(file -> file.file().recordCount()).sum(),
        reasons);
  }

  /** Names the partition that files share; empty if the table has none, and for those of other specs than the table's. */
  public static String partition(Table table, List<FileScanTask> files) {
    boolean isOfSpec = files.get(0).file().specId() == table.spec().specId();
    return isOfSpec ? table.spec().partitionToPath(files.get(0).file().partition()) : "";
  }

  boolean isFor(String code) {
    return reasons.stream().anyMatch(each -> each.code().equals(code));
  }
}
