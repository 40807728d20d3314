package io.icebergzorder.spark.api;

/**
 * Data files of one partition that a rewrite leaves, with the reason.
 *
 * @param partition the partition, as {@link PlannedFileGroup} names it
 * @param files the number of data files
 * @param bytes their bytes
 * @param rows their rows, deleted ones included
 * @param reason why they are left, as text with options and their values
 */
public record LeftFiles(String partition, int files, long bytes, long rows, String reason) {}
