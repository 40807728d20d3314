package io.icebergzorder.core;

import java.util.List;

/**
 * A joint row sample of the clustering columns.
 *
 * @param columns the keys of each clustering column, all with the same rows in the same order
 */
public record Sample(List<KeyColumn> columns) {
  public Sample {
    columns = List.copyOf(columns);
  }

  /** The number of sampled rows; 0 without columns. */
  public int rows() {
    return columns.isEmpty() ? 0 : columns.get(0).size();
  }

  /** The same rows in the last columns: partition fields, which have no bounds, come first. */
  public Sample last(int count) {
    return new Sample(columns.subList(columns.size() - count, columns.size()));
  }

  public Sample take(int[] rows) {
    return new Sample(columns.stream().map(keys -> keys.take(rows)).toList());
  }
}
