package io.icebergzorder.core.report;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.KeyDomain;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** Ranks of the values of columns of one type together: equal values have one rank, from 0 without gaps; -1 is no value. */
final class Ranks {
  private final int count;
  private final int[][] ranks;

  private Ranks(int count, int[][] ranks) {
    this.count = count;
    this.ranks = ranks;
  }

  /** Ranks columns, at least one. */
  static Ranks of(KeyColumn... columns) {
    return columns[0].domain() == KeyDomain.LONG ? ofLongs(columns) : ofBytes(List.of(columns));
  }

  private static Ranks ofLongs(KeyColumn[] columns) {
    long[] values = new long[Arrays.stream(columns).mapToInt(KeyColumn::size).sum()];
    int count = 0;
    for (KeyColumn column : columns) {
      for (int row = 0; row < column.size(); row++) {
        if (column.state(row) == KeyColumn.VALUE) {
          values[count++] = column.longKey(row);
        }
      }
    }
    Arrays.sort(values, 0, count);
    int distinct = 0;
    for (int place = 0; place < count; place++) {
      if (place == 0 || values[place] != values[distinct - 1]) {
        values[distinct++] = values[place];
      }
    }
    int[][] ranks = new int[columns.length][];
    for (int place = 0; place < columns.length; place++) {
      KeyColumn column = columns[place];
      ranks[place] = new int[column.size()];
      for (int row = 0; row < column.size(); row++) {
        ranks[place][row] =
            column.state(row) == KeyColumn.VALUE ? Arrays.binarySearch(values, 0, distinct, column.longKey(row)) : -1;
      }
    }
    return new Ranks(distinct, ranks);
  }

  private static Ranks ofBytes(List<KeyColumn> columns) {
    byte[][] values =
        columns.stream()
            .flatMap(
                column ->
                    IntStream.range(0, column.size())
                        .filter(row -> column.state(row) == KeyColumn.VALUE)
                        .mapToObj(column::bytesKey))
            .toArray(byte[][]::new);
    Arrays.sort(values, Arrays::compareUnsigned);
    int distinct = 0;
    for (int place = 0; place < values.length; place++) {
      if (place == 0 || !Arrays.equals(values[place], values[distinct - 1])) {
        values[distinct++] = values[place];
      }
    }
    int[][] ranks = new int[columns.size()][];
    for (int place = 0; place < ranks.length; place++) {
      KeyColumn column = columns.get(place);
      ranks[place] = new int[column.size()];
      for (int row = 0; row < column.size(); row++) {
        ranks[place][row] =
            column.state(row) == KeyColumn.VALUE
                ? Arrays.binarySearch(values, 0, distinct, column.bytesKey(row), Arrays::compareUnsigned)
                : -1;
      }
    }
    return new Ranks(distinct, ranks);
  }

  /** The number of ranks. */
  int count() {
    return count;
  }

  /** The ranks of one of the columns. */
  int[] column(int place) {
    return ranks[place];
  }
}
