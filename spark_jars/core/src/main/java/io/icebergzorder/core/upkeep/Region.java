package io.icebergzorder.core.upkeep;

/**
 * Files that are rewritten together.
 *
 * @param files their places, ascending; not copied
 * @param isClean whether clean cuts alone divide it from all other regions
 * @param spans for each column, the share of all values between its smallest and its largest one, in [0, 1]: so many times as much the
 *     column weighs in its layout. Empty for all columns alike; not copied
 */
public record Region(int[] files, boolean isClean, double[] spans) {
  /** The same with spans. */
  Region with(double[] ofColumns) {
    return new Region(files, isClean, ofColumns);
  }
}
