package io.icebergzorder.core;

import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** The ranks of the values of one column in several samples: equal values have one. */
final class Ranks {
  private final UnaryOperator<byte[]> kept;
  private long[] longs = new long[0];
  private byte[][] texts = new byte[0][];

  /**
   * Ranks the values of columns of one domain.
   *
   * @param columns at least one
   * @param kept what is kept of a key of bytes; not called for longs
   */
  Ranks(List<KeyColumn> columns, UnaryOperator<byte[]> kept) {
    this.kept = kept;
    if (columns.get(0).domain() == KeyDomain.LONG) {
      longs = columns.stream().flatMapToLong(Ranks::longs).sorted().distinct().toArray();
    } else {
      TreeSet<byte[]> distinct = new TreeSet<>(Arrays::compareUnsigned);
      columns.forEach(column -> addTo(distinct, column));
      texts = distinct.toArray(byte[][]::new);
    }
  }

  private static LongStream longs(KeyColumn column) {
    return IntStream.range(0, column.size())
        .filter(row -> column.state(row) == KeyColumn.VALUE)
        .mapToLong(column::longKey);
  }

  private void addTo(TreeSet<byte[]> distinct, KeyColumn column) {
    for (int row = 0; row < column.size(); row++) {
      if (column.state(row) == KeyColumn.VALUE) {
        distinct.add(kept.apply(column.bytesKey(row)));
      }
    }
  }

  int size() {
    return Math.max(longs.length, texts.length);
  }

  /** The rank of a row's value, or -1 if it has none. */
  int of(KeyColumn column, int row) {
    return column.state(row) == KeyColumn.VALUE ? place(column, row) : -1;
  }

  /** The rank of the least value that is not below a row's. */
  int notBelow(KeyColumn column, int row) {
    int place = place(column, row);
    return place >= 0 ? place : -place - 1;
  }

  /** The rank of the greatest value that is not above a row's; -1 if there is none. */
  int notAbove(KeyColumn column, int row) {
    int place = place(column, row);
    return place >= 0 ? place : -place - 2;
  }

  private int place(KeyColumn column, int row) {
    return column.domain() == KeyDomain.LONG
        ? Arrays.binarySearch(longs, column.longKey(row))
        : Arrays.binarySearch(texts, kept.apply(column.bytesKey(row)), Arrays::compareUnsigned);
  }
}
