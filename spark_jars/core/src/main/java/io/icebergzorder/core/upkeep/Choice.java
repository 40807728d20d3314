package io.icebergzorder.core.upkeep;

/**
 * What is chosen of a partition.
 *
 * @param files places of the files, ascending; not copied
 * @param today average scan fraction of the partition's files as they are, in [0, 1]
 * @param expected the same after a rewrite of the chosen files
 * @param attainable the same after a rewrite of all files
 * @param isFiner whether the chosen files are written to as many files as a small part of a partition is
 */
public record Choice(int[] files, double today, double expected, double attainable, boolean isFiner) {}
