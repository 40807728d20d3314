package io.icebergzorder.core;

import java.util.Arrays;
import java.util.BitSet;

/** Boundaries of a column of bytes. Immutable, and serialisable because executors look up buckets. */
public final class BytesBoundaries extends Boundaries {
  private static final long serialVersionUID = 1L;

  private final byte[][] values;

  BytesBoundaries(byte[][] values) {
    for (int i = 1; i < values.length; i++) {
      if (Arrays.compareUnsigned(values[i - 1], values[i]) >= 0) {
        throw notIncreasing(i);
      }
    }
    this.values = values;
  }

  static BytesBoundaries ofKeys(KeyColumn column, int max) {
    byte[][] sorted = sortedKeys(column);
    int[] starts = new int[sorted.length];
    int distinct = 0;
    for (int rank = 0; rank < sorted.length; rank++) {
      if (rank == 0 || !Arrays.equals(sorted[rank], sorted[rank - 1])) {
        starts[distinct++] = rank;
      }
    }
    BitSet chosen = chosen(Arrays.copyOf(starts, distinct), sorted.length, max);
    return new BytesBoundaries(
        chosen.stream().mapToObj(key -> sorted[starts[key]].clone()).toArray(byte[][]::new));
  }

  private static byte[][] sortedKeys(KeyColumn column) {
    byte[][] keys = new byte[column.count(KeyColumn.VALUE)][];
    int next = 0;
    for (int row = 0; row < column.size(); row++) {
      if (column.state(row) == KeyColumn.VALUE) {
        keys[next++] = column.bytesKey(row);
      }
    }
    Arrays.sort(keys, Arrays::compareUnsigned);
    return keys;
  }

  @Override
  public int size() {
    return values.length;
  }

  public int bucket(byte[] key) {
    return count(key, true);
  }

  /** How many boundaries are below a key, in [0, {@link #size}]. */
  public int countBelow(byte[] key) {
    return count(key, false);
  }

  /** How many boundaries are below a key, or not above it. */
  private int count(byte[] key, boolean withEqual) {
    int low = 0;
    int high = values.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      int compared = Arrays.compareUnsigned(values[middle], key);
      if (compared < 0 || (withEqual && compared == 0)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** The boundaries; a copy of the outer array, length {@link #size}. Do not change the inner ones. */
  public byte[][] values() {
    return values.clone();
  }

  @Override
  int valueBucket(KeyColumn column, int row) {
    return bucket(column.bytesKey(row));
  }
}
