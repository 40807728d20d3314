package io.icebergzorder.core;

import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A joint row sample of the clustering columns.
 *
 * @param columns the keys of each clustering column, all with the same rows in the same order
 */
public record Sample(List<KeyColumn> columns) {
  /**
   * Checks the sample.
   *
   * @throws IllegalArgumentException if the columns differ in their number of rows
   */
  public Sample {
    columns = List.copyOf(columns);
    for (KeyColumn column : columns) {
      if (column.size() != columns.get(0).size()) {
        throw new IllegalArgumentException(
            "Cannot build a sample, because its columns have %d and %d rows"
                .formatted(columns.get(0).size(), column.size()));
      }
    }
  }

  /** The number of sampled rows; 0 without columns. */
  public int rows() {
    return columns.isEmpty() ? 0 : columns.get(0).size();
  }

  /**
   * Puts samples of the same columns together, one after the other.
   *
   * @param samples at least one
   */
  public static Sample together(List<Sample> samples) {
    return new Sample(
        IntStream.range(0, samples.get(0).columns().size())
            .mapToObj(place -> KeyColumn.together(samples.stream().map(sample -> sample.columns().get(place)).toList()))
            .toList());
  }

  /**
   * Takes so many rows evenly, in the order of their keys, column by column, so that it does not matter in which order they come.
   *
   * @param most how many; with no more rows it is the sample as it is
   */
  Sample evenly(int most) {
    if (rows() <= most) {
      return this;
    }
    Comparator<Integer> byKeys =
        columns.stream().map(KeyColumn::byKeys).reduce(Comparator::thenComparing).orElseThrow();
    int[] sorted = IntStream.range(0, rows()).boxed().sorted(byKeys).mapToInt(Integer::intValue).toArray();
    return take(IntStream.range(0, most).map(row -> sorted[(int) ((long) row * sorted.length / most)]).toArray());
  }

  /** Takes rows by their places. */
  public Sample take(int[] rows) {
    return new Sample(columns.stream().map(keys -> keys.take(rows)).toList());
  }
}
