package io.icebergzorder.core;

import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A parsed {@code sort_order}: {@code zorder(a, b)} or {@code hilbert(a, b)} after optional prefix columns, such as
 * {@code c DESC NULLS LAST}; or the plain list {@code a, b}, which means {@code zorder(a, b)}.
 *
 * @param columns the clustering columns, each as its parts
 * @param prefix the columns to sort by first
 */
public record SortOrder(Curve curve, List<List<String>> columns, List<PrefixColumn> prefix) {
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

  /** How a column of the prefix is sorted: whether larger values, and whether NULL, come first. */
  public record PrefixOrder(boolean descending, boolean nullsFirst) {
    /** The order of keys, and of every clustering column: ascending, NULL last. */
    public static final PrefixOrder OF_KEYS = new PrefixOrder(false, false);
  }

  public SortOrder {
    columns = columns.stream().map(List::copyOf).toList();
    prefix = List.copyOf(prefix);
  }

  /** Reads a sort order. Whether the columns exist, or one is named twice, only the schema can tell. */
  public static SortOrder parse(String text) {
    return new SortOrderParser(text, "parse sort_order").sortOrder();
  }

  /** It in full, as {@link #parse} reads it. */
  public String text() {
    String before = prefix.stream().map(column -> column.text() + ", ").collect(Collectors.joining());
    String names = columns.stream().map(ClusteringColumn::quoted).collect(Collectors.joining(", "));
    return before + curve.label() + "(" + names + ")";
  }

  /** All columns, those of the prefix first, each as its parts. */
  public List<List<String>> names() {
    return Stream.concat(prefix.stream().map(PrefixColumn::parts), columns.stream()).toList();
  }

  /** The same by other names, which are asked for one by one, those of the prefix first. */
  public SortOrder renamed(UnaryOperator<List<String>> nameOf) {
    List<PrefixColumn> before = prefix.stream().map(column -> new PrefixColumn(nameOf.apply(column.parts()), column.order())).toList();
    return new SortOrder(curve, columns.stream().map(nameOf).toList(), before);
  }
}
