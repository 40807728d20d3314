package io.icebergzorder.spark.api;

import java.util.List;

/**
 * Data files of one partition that a rewrite leaves alone for one reason.
 *
 * @param partition the partition, as {@link PlannedFileGroup} names it
 * @param files the locations of the data files
 * @param bytes their bytes
 * @param rows their rows, deleted ones included
 * @param reason why they are left, in words that name options and their values
 */
public record LeftFiles(String partition, List<String> files, long bytes, long rows, String reason) {
  /** Takes a copy of the list. */
  public LeftFiles {
    files = List.copyOf(files);
  }
}
