package io.icebergzorder.core;

/** How a column of the prefix is sorted: whether larger values, and whether NULL, come first. */
public record PrefixOrder(boolean descending, boolean nullsFirst) {
  /** The order of keys, and of every clustering column: ascending, NULL last. */
  public static final PrefixOrder OF_KEYS = new PrefixOrder(false, false);
}
