package io.icebergzorder.core;

import java.util.List;

/** The weight of a clustering column, in (0, 1000000]: how much its filters count against the others'. */
public record ColumnWeight(List<String> parts, double weight) {
  public ColumnWeight {
    parts = List.copyOf(parts);
  }

  /** Reads weights, such as {@code a=3, b=0.5}. */
  public static List<ColumnWeight> parse(String text) {
    return new SortOrderParser(text, "set column-weights to").columnWeights();
  }
}
