package io.icebergzorder.core;

import java.util.Arrays;
import java.util.BitSet;

/** Boundaries of a column of longs. Immutable, and serialisable because executors look up buckets. */
public final class LongBoundaries extends Boundaries {
  private static final long serialVersionUID = 1L;

  private final AscendingLongs values;

  LongBoundaries(long[] values) {
    for (int i = 1; i < values.length; i++) {
      if (values[i - 1] >= values[i]) {
        throw notIncreasing(i);
      }
    }
    this.values = new AscendingLongs(values);
  }

  static LongBoundaries ofKeys(KeyColumn column, int max) {
    long[] sorted = sortedKeys(column);
    int[] starts = new int[sorted.length];
    int distinct = 0;
    for (int rank = 0; rank < sorted.length; rank++) {
      if (rank == 0 || sorted[rank] != sorted[rank - 1]) {
        starts[distinct++] = rank;
      }
    }
    BitSet chosen = chosen(Arrays.copyOf(starts, distinct), sorted.length, max);
    return new LongBoundaries(chosen.stream().mapToLong(key -> sorted[starts[key]]).toArray());
  }

  private static long[] sortedKeys(KeyColumn column) {
    long[] keys = new long[column.count(KeyColumn.VALUE)];
    int next = 0;
    for (int row = 0; row < column.size(); row++) {
      if (column.state(row) == KeyColumn.VALUE) {
        keys[next++] = column.longKey(row);
      }
    }
    Arrays.sort(keys);
    return keys;
  }

  @Override
  public int size() {
    return values.values().length;
  }

  public int bucket(long key) {
    return values.countNotAbove(key);
  }

  /** How many boundaries are below a key, in [0, {@link #size}]. */
  public int countBelow(long key) {
    return key == Long.MIN_VALUE ? 0 : bucket(key - 1);
  }

  /** The boundaries; a copy, length {@link #size}. */
  public long[] values() {
    return values.values().clone();
  }

  @Override
  int valueBucket(KeyColumn column, int row) {
    return bucket(column.longKey(row));
  }
}
