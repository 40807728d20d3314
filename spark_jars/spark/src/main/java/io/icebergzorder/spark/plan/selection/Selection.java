package io.icebergzorder.spark.plan.selection;

import java.util.List;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.StructLike;

/**
 * Chooses the data files to rewrite: all data files of the scope in, file groups with the reason for each out. Whatever it chooses is
 * sampled, rewritten and committed in the same way.
 */
public interface Selection {
  /**
   * Chooses among data files. It reads nothing.
   *
   * @param scope every data file that may be rewritten, by partition, with the delete files that apply to it
   * @return every one of these files exactly once, in a group that was chosen or in one that was left
   */
  Selected select(List<PartitionFiles> scope);

  /**
   * The data files of one partition; those of another spec than the table's stand in one partition of NULLs together, for their rows
   * may go to any.
   */
  record PartitionFiles(StructLike partition, List<FileScanTask> files) {
    /** Takes a copy of the list. */
    public PartitionFiles {
      files = List.copyOf(files);
    }
  }

  /**
   * Data files of one partition that are rewritten together, or left.
   *
   * @param partition the partition, as {@link PartitionFiles} has it
   * @param files the data files, at least one
   * @param reason why they were chosen, or left, in words that name options and their values
   * @param worth of chosen files, the bytes that a filter is expected to read less for each byte of them; 0 if it is not known
   * @param isFiner whether they are written to as many files as a small part of a partition is
   */
  record SelectedGroup(StructLike partition, List<FileScanTask> files, String reason, double worth, boolean isFiner) {
    /** Takes a copy of the list. */
    public SelectedGroup {
      files = List.copyOf(files);
    }

    /** Data files of a whole partition. */
    public SelectedGroup(StructLike partition, List<FileScanTask> files, String reason) {
      this(partition, files, reason, 0, false);
    }

    /** Other files of it, for the same reason. */
    SelectedGroup of(List<FileScanTask> others) {
      return new SelectedGroup(partition, others, reason, worth, isFiner);
    }

    /** The same files, which are worth so much, written to as many files as a small part of a partition is, or not. */
    SelectedGroup worth(double saved, boolean areFiner) {
      return new SelectedGroup(partition, files, reason, saved, areFiner);
    }

    /** The same files, for another reason. */
    SelectedGroup because(String why) {
      return new SelectedGroup(partition, files, why, worth, isFiner);
    }
  }

  /**
   * A choice.
   *
   * @param chosen the file groups to rewrite
   * @param left the rest
   * @param whyNothing if nothing was chosen, why, and what would force a rewrite; else null
   */
  record Selected(List<SelectedGroup> chosen, List<SelectedGroup> left, String whyNothing) {
    /** Takes copies of the lists. */
    public Selected {
      chosen = List.copyOf(chosen);
      left = List.copyOf(left);
    }

    /** How many files were chosen. */
    public int chosenFiles() {
      return chosen.stream().mapToInt(group -> group.files().size()).sum();
    }
  }
}
