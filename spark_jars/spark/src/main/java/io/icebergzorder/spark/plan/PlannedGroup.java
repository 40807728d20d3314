package io.icebergzorder.spark.plan;

import java.util.List;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;

/** A file group of a plan: Iceberg's, which is not rewritten yet, and why it was chosen. */
public final class PlannedGroup {
  private final RewriteFileGroup planned;
  private final String reason;
  private final boolean isDue;

  PlannedGroup(RewriteFileGroup planned, String reason, boolean isDue) {
    this.planned = planned;
    this.reason = reason;
    this.isDue = isDue;
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

  /** Why the group was chosen. */
  public String reason() {
    return reason;
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
        planned.info(),
        planned.fileScanTasks(),
        planned.outputSpecId(),
        planned.maxOutputFileSize(),
        planned.inputSplitSize(),
        planned.expectedOutputFiles());
  }

  RewriteFileGroup planned() {
    return planned;
  }
}
