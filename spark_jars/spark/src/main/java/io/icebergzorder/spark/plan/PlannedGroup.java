package io.icebergzorder.spark.plan;

import io.icebergzorder.core.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.util.StructLikeMap;

/** A file group of a plan: Iceberg's, which is not rewritten yet, and why it was chosen. */
public final class PlannedGroup {
  private final RewriteFileGroup planned;
  private final List<Reason> reasons;
  private final boolean isDue;

  private PlannedGroup(RewriteFileGroup planned, List<Reason> reasons, boolean isDue) {
    this.planned = planned;
    this.reasons = reasons;
    this.isDue = isDue;
  }

  /**
   * What a file group is.
   *
   * @param files the data files, with the delete files that apply to each
   * @param specId the partition spec of the files to be written
   * @param maxOutputFileSize the bytes at which a file ends
   * @param expectedFiles how many files are expected to be written
   * @param reasons why the group was chosen
   * @param isDue whether the deletes or the partition spec of one of its files call for a rewrite, whatever is gained
   */
  record Facts(
      List<FileScanTask> files, int specId, long maxOutputFileSize, int expectedFiles, List<Reason> reasons, boolean isDue) {}

  /** Numbers file groups as Iceberg does. */
  static List<PlannedGroup> numbered(Table table, List<Facts> groups) {
    Map<StructLike, Integer> numbers = StructLikeMap.create(table.spec().partitionType());
    List<PlannedGroup> numbered = new ArrayList<>();
    for (Facts group : groups) {
      StructLike partition = partition(table, group.files.get(0));
      RewriteDataFiles.FileGroupInfo info =
          ImmutableRewriteDataFiles.FileGroupInfo.builder()
              .globalIndex(numbered.size() + 1)
              .partitionIndex(numbers.merge(partition, 1, Integer::sum))
              .partition(partition)
              .build();
      // How Iceberg would split the input does not matter: readers are planned for each job.
      RewriteFileGroup planned =
          new RewriteFileGroup(info, group.files, group.specId, group.maxOutputFileSize, Long.MAX_VALUE, group.expectedFiles);
      numbered.add(new PlannedGroup(planned, group.reasons, group.isDue));
    }
    return numbered;
  }

  /** The partition that a data file is planned in; files of other specs than the table's are in one of NULLs together. */
  static StructLike partition(Table table, FileScanTask file) {
    PartitionSpec spec = table.spec();
    return file.file().specId() == spec.specId() ? file.file().partition() : GenericRecord.create(spec.partitionType());
  }

  /** Iceberg's description: partition and number. */
  public RewriteDataFiles.FileGroupInfo info() {
    return planned.info();
  }

  /** The data files, with the delete files that apply to each. */
  public List<FileScanTask> files() {
    return planned.fileScanTasks();
  }

  /** The rows of the data files, deleted ones included. */
  public long rows() {
    return files().stream().mapToLong(task -> task.file().recordCount()).sum();
  }

  /** The bytes of the data files. */
  public long bytes() {
    return planned.inputFilesSizeInBytes();
  }

  /** How many files are expected to be written. */
  public int expectedFiles() {
    return planned.expectedOutputFiles();
  }

  /** The partition spec of the files to be written. */
  public int specId() {
    return planned.outputSpecId();
  }

  /** The bytes at which a file ends. */
  public long maxOutputFileSize() {
    return planned.maxOutputFileSize();
  }

  /** Why the group was chosen. */
  public List<Reason> reasons() {
    return reasons;
  }

  /** Whether the deletes or the partition spec of one of its files call for a rewrite, whatever is gained. */
  public boolean isDue() {
    return isDue;
  }

  /** Whether its rows may go to more than one partition. */
  public boolean changesSpec() {
    return changesSpec(planned);
  }

  /** Whether rows of one of Iceberg's groups may go to more than one partition. */
  public static boolean changesSpec(RewriteFileGroup group) {
    return group.fileScanTasks().stream().anyMatch(task -> task.spec().specId() != group.outputSpecId());
  }

  /** The group for one execution: Iceberg notes the files in it that were written. */
  public RewriteFileGroup toRewrite() {
    return new RewriteFileGroup(
        planned.info(), planned.fileScanTasks(), specId(), maxOutputFileSize(), planned.inputSplitSize(), expectedFiles());
  }

  RewriteFileGroup planned() {
    return planned;
  }
}
