package io.icebergzorder.spark.api;

import java.util.OptionalDouble;

/**
 * The scan fractions of {@code column = value} for one column: the share of the bytes of files that their lower/upper bounds do not rule
 * out, on average over the values of the rows, in [0, 1].
 *
 * @param column the column's name
 * @param before among the files of before
 * @param predicted among the new files, as predicted
 * @param actual among the new files; empty if nothing was committed
 */
public record ColumnScan(String column, OptionalDouble before, OptionalDouble predicted, OptionalDouble actual) {}
