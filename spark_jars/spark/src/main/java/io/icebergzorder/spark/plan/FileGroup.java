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
import org.apache.iceberg.util.StructLikeWrapper;

/**
 * Data files of one partition that are rewritten together, at least one.
 *
 * @param index its number in the plan, from 1; 0 until the plan is complete
 * @param indexInPartition its number among those of its partition, from 1; 0 until the plan is complete
 * @param partition the partition, as {@link #partition(Table, FileScanTask)} has it
 * @param files the data files, with the delete files that apply to each
 * @param specId the partition spec of the files to be written
 * @param maxOutputFileSize the bytes at which a file ends
 * @param expectedFiles how many files are expected to be written
 * @param extents by column, the share of its partition that the group spans, in thousandths; empty if the group is not a part
 * @param mustRewrite whether the deletes or the partition spec of one of its files call for a rewrite, whatever is gained
 */
public record FileGroup(
    int index,
    int indexInPartition,
    StructLike partition,
    List<FileScanTask> files,
    int specId,
    long maxOutputFileSize,
    int expectedFiles,
    List<Reason> reasons,
    Map<String, Integer> extents,
    boolean mustRewrite) {
  /** Expects a row in each new file: a plan that was read, or a compression factor, may call for any number. */
  public FileGroup {
    expectedFiles = (int) Math.min(expectedFiles, Math.max(1, rows(files)));
  }

  /** A group that is not numbered yet. */
  FileGroup(
      Table table,
      List<FileScanTask> files,
      int specId,
      long maxOutputFileSize,
      int expectedFiles,
      List<Reason> reasons,
      Map<String, Integer> extents,
      boolean mustRewrite) {
    this(0, 0, partition(table, files.get(0)), files, specId, maxOutputFileSize, expectedFiles, reasons, extents, mustRewrite);
  }

  /** Numbers file groups in their order, as Iceberg does. */
  static List<FileGroup> numbered(Table table, List<FileGroup> groups) {
    Map<StructLike, Integer> numbers = StructLikeMap.create(table.spec().partitionType());
    List<FileGroup> numbered = new ArrayList<>();
    for (FileGroup each : groups) {
      numbered.add(
          new FileGroup(
              numbered.size() + 1,
              numbers.merge(each.partition, 1, Integer::sum),
              each.partition,
              each.files,
              each.specId,
              each.maxOutputFileSize,
              each.expectedFiles,
              each.reasons,
              each.extents,
              each.mustRewrite));
    }
    return numbered;
  }

  /** The group with what remains of its files, which are expected to become fewer new ones; not numbered yet. */
  FileGroup withRemaining(Table table, List<FileScanTask> remaining) {
    int expected = (int) Math.max(1, Math.round((double) expectedFiles * bytes(remaining) / bytes()));
    return new FileGroup(table, remaining, specId, maxOutputFileSize, expected, reasons, extents, mustRewrite);
  }

  /** The partition that a data file is planned in; files of other specs than the table's are in one of NULLs together. */
  static StructLike partition(Table table, FileScanTask file) {
    PartitionSpec spec = table.spec();
    return file.file().specId() == spec.specId() ? file.file().partition() : GenericRecord.create(spec.partitionType());
  }

  /** The partition that files share, as a path; empty if the table has none, and for files of other specs than the table's. */
  public static String partitionPath(Table table, List<FileScanTask> files) {
    boolean isOfSpec = files.get(0).file().specId() == table.spec().specId();
    return isOfSpec ? table.spec().partitionToPath(files.get(0).file().partition()) : "";
  }

  public List<String> locations() {
    return files.stream().map(task -> task.file().location()).toList();
  }

  /** The rows of the data files, deleted ones included. */
  public long rows() {
    return rows(files);
  }

  static long rows(List<FileScanTask> files) {
    return files.stream().mapToLong(task -> task.file().recordCount()).sum();
  }

  /** The bytes of the data files. */
  public long bytes() {
    return bytes(files);
  }

  static long bytes(List<FileScanTask> files) {
    return files.stream().mapToLong(task -> task.file().fileSizeInBytes()).sum();
  }

  /** Whether its rows may go to more than one partition. */
  public boolean spansPartitions() {
    if (files.stream().anyMatch(task -> task.spec().specId() != specId)) {
      return true;
    }
    // It may have all files of an old spec that is written again.
    StructLikeWrapper other = StructLikeWrapper.forType(files.get(0).spec().partitionType());
    StructLikeWrapper first = other.copyFor(files.get(0).file().partition());
    return files.stream().anyMatch(task -> !first.equals(other.set(task.file().partition())));
  }

  /** Iceberg's description: partition and numbers. */
  public RewriteDataFiles.FileGroupInfo info() {
    return ImmutableRewriteDataFiles.FileGroupInfo.builder()
        .globalIndex(index)
        .partitionIndex(indexInPartition)
        .partition(partition)
        .build();
  }

  /** Iceberg's group for one execution, which notes the files in it that were written. */
  public RewriteFileGroup toRewrite() {
    // How Iceberg would split the input does not matter: readers are planned for each job.
    return new RewriteFileGroup(info(), files, specId, maxOutputFileSize, Long.MAX_VALUE, expectedFiles);
  }
}
