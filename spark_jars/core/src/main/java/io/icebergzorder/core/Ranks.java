package io.icebergzorder.core;

import io.icebergzorder.core.Keys.KeyDomain;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The ranks of the values of columns of one type together: equal values have one rank, from 0 without gaps. */
public final class Ranks {
  private final Beginning kept;
  private AscendingLongs longs = new AscendingLongs(new long[0]);
  private byte[][] texts = new byte[0][];

  /** Ranks the values of columns of one domain, of whose keys of bytes so much is kept. */
  public Ranks(List<KeyColumn> columns, Beginning kept) {
    this.kept = kept;
    if (columns.get(0).domain() == KeyDomain.LONG) {
      long[] all = columns.stream().flatMapToLong(column -> rowsWithValue(column).mapToLong(column::longKey)).sorted().toArray();
      // LongStream.distinct would make an object of each.
      IntStream firsts = IntStream.range(0, all.length).filter(i -> i == 0 || all[i] != all[i - 1]);
      longs = new AscendingLongs(firsts.mapToLong(i -> all[i]).toArray());
    } else {
      Stream<byte[]> all = columns.stream().flatMap(column -> rowsWithValue(column).mapToObj(row -> kept.of(column.bytesKey(row))));
      texts = distinct(all.sorted(Arrays::compareUnsigned).toArray(byte[][]::new));
    }
  }

  /** Ranks the values of columns, of which all is kept. */
  public static Ranks among(KeyColumn... columns) {
    return among(Beginning.WHOLE, columns);
  }

  /** Ranks the values of columns, of whose keys of bytes so much is kept. */
  public static Ranks among(Beginning kept, KeyColumn... columns) {
    return new Ranks(List.of(columns), kept);
  }

  private static IntStream rowsWithValue(KeyColumn column) {
    return IntStream.range(0, column.size()).filter(row -> column.state(row) == KeyColumn.VALUE);
  }

  private static byte[][] distinct(byte[][] ordered) {
    int count = 0;
    for (byte[] each : ordered) {
      if (count == 0 || !Arrays.equals(each, ordered[count - 1])) {
        ordered[count++] = each;
      }
    }
    return Arrays.copyOf(ordered, count);
  }

  public int size() {
    return Math.max(longs.values().length, texts.length);
  }

  /** How many values are below a key. */
  public int countBelow(long key) {
    return key == Long.MIN_VALUE ? 0 : longs.countNotAbove(key - 1);
  }

  /** How many values are below a key, of which all counts. */
  public int countBelow(byte[] key) {
    int place = Arrays.binarySearch(texts, key, Arrays::compareUnsigned);
    return place >= 0 ? place : -place - 1;
  }

  /** The rank of each row's value, -1 where there is none. */
  public int[] of(KeyColumn column) {
    return IntStream.range(0, column.size()).map(row -> of(column, row)).toArray();
  }

  /** The rank of a row's value, or -1 if it has none. */
  int of(KeyColumn column, int row) {
    return column.state(row) == KeyColumn.VALUE ? place(column, row) : -1;
  }

  /** The rank of the least value that is not below a row's. */
  public int notBelow(KeyColumn column, int row) {
    int place = place(column, row);
    return place >= 0 ? place : -place - 1;
  }

  /** The rank of the greatest value that is not above a row's; -1 if there is none. */
  public int notAbove(KeyColumn column, int row) {
    int place = place(column, row);
    return place >= 0 ? place : -place - 2;
  }

  /** As of a binary search: below 0 for a key that has no rank. */
  private int place(KeyColumn column, int row) {
    if (column.domain() == KeyDomain.BYTES) {
      return Arrays.binarySearch(texts, kept.of(column.bytesKey(row)), Arrays::compareUnsigned);
    }
    int notAbove = longs.countNotAbove(column.longKey(row));
    return notAbove > 0 && longs.values()[notAbove - 1] == column.longKey(row) ? notAbove - 1 : -notAbove - 1;
  }
}
