package io.icebergzorder.spark.api;

import java.util.List;
import java.util.Optional;

/**
 * Data files of one partition that are rewritten together.
 *
 * @param partition the partition, such as {@code day=2026-01-01/region=eu}; empty if the table has no partitions, or for files of
 *     another partition spec than the table's
 * @param files the locations of the data files
 * @param bytes their bytes
 * @param rows their rows, deleted ones included
 * @param expectedFiles the expected number of new files
 * @param reason why the group was chosen, as text with options and their values
 * @param layout the layout of the new files; empty before {@link RewritePlan#sampled}
 */
public record PlannedFileGroup(
    String partition,
    List<String> files,
    long bytes,
    long rows,
    int expectedFiles,
    String reason,
    Optional<PlannedLayout> layout) {
  /** Takes a copy of the list. */
  public PlannedFileGroup {
    files = List.copyOf(files);
  }
}
