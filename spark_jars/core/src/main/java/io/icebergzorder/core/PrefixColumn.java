package io.icebergzorder.core;

import java.util.List;

/** A column, by the parts of its name, to sort by before the curve. */
public record PrefixColumn(List<String> parts, PrefixOrder order) {
  public PrefixColumn {
    parts = List.copyOf(parts);
  }

  /** The column as a sort order writes it, in full. */
  public String text() {
    return "%s %s NULLS %s"
        .formatted(
            ClusteringColumn.quoted(parts), order.descending() ? "DESC" : "ASC", order.nullsFirst() ? "FIRST" : "LAST");
  }
}
