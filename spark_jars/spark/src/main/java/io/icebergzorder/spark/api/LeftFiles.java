package io.icebergzorder.spark.api;

/**
 * Data files of one partition that a rewrite leaves alone, and the reason.
 *
 * @param partition the partition, as {@link PlannedFileGroup} names it
 * @param files how many data files there are
 * @param bytes their bytes
 * @param rows their rows, deleted ones included
 * @param reason why they are left, in words that name options and their values
 */
public record LeftFiles(String partition, int files, long bytes, long rows, String reason) {}
