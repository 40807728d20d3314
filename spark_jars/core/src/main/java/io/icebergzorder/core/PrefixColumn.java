package io.icebergzorder.core;

import java.util.List;

/**
 * A column to sort by before the curve.
 *
 * @param parts the parts of its name
 * @param order how it is sorted
 */
public record PrefixColumn(List<String> parts, PrefixOrder order) {
  /** Takes a copy of the list. */
  public PrefixColumn {
    parts = List.copyOf(parts);
  }
}
