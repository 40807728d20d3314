package io.icebergzorder.core;

/**
 * How a column of the prefix is sorted.
 *
 * @param descending whether larger values come first
 * @param nullsFirst whether NULL comes before all values
 */
public record PrefixOrder(boolean descending, boolean nullsFirst) {
  /** The order of keys, and of every clustering column: ascending, NULL last. */
  public static final PrefixOrder OF_KEYS = new PrefixOrder(false, false);
}
