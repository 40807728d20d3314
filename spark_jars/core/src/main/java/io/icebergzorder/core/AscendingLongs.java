package io.icebergzorder.core;

import java.io.Serializable;

/**
 * Ascending longs that are searched once for every row.
 *
 * <p>The interval between the smallest and the largest value is divided into even slots, about two for each value. A binary
 * search begins among the values of the key's slot: one or two where values are spread evenly. One far value, such as the
 * date 9999-12-31, leaves all others in one slot, so that the search has no branch that depends on values: processors
 * would mispredict it at every other step.
 */
public final class AscendingLongs implements Serializable {
  private static final long serialVersionUID = 1L;

  private final long[] values;

  /** Slots are 2^shift wide; slot 0 starts at the smallest value. */
  private final int shift;

  /** By slot, how many values lie before it; one more entry for the end. */
  private final int[] before;

  /** Takes ascending values, equal ones allowed, without copying them. */
  public AscendingLongs(long[] values) {
    this.values = values;
    if (values.length == 0) {
      shift = 0;
      before = new int[0];
      return;
    }
    // As an unsigned number, because the difference of two longs may have 64 bits.
    long span = values[values.length - 1] - values[0];
    int spanBits = Long.SIZE - Long.numberOfLeadingZeros(span);
    int slotBits = Integer.SIZE - Integer.numberOfLeadingZeros(values.length) + 1;
    shift = Math.max(0, spanBits - slotBits);
    before = new int[(int) (span >>> shift) + 2];
    for (long value : values) {
      before[slot(value) + 1]++;
    }
    for (int slot = 1; slot < before.length; slot++) {
      before[slot] += before[slot - 1];
    }
  }

  private int slot(long key) {
    return (int) (key - values[0] >>> shift);
  }

  /** The values; not a copy. */
  public long[] values() {
    return values;
  }

  /** How many values are not above a key, without allocation. */
  public int countNotAbove(long key) {
    int count = values.length;
    if (count == 0 || key < values[0]) {
      return 0;
    }
    if (key >= values[count - 1]) {
      return count;
    }
    int slot = slot(key);
    return countNotAbove(values, key, before[slot], before[slot + 1]);
  }

  /** The same for values that are not prepared: a binary search. */
  static int countNotAbove(long[] ascending, long key) {
    return countNotAbove(ascending, key, 0, ascending.length);
  }

  private static int countNotAbove(long[] ascending, long key, int from, int to) {
    int low = from;
    int rest = to - from;
    while (rest > 0) {
      int half = (rest + 1) >>> 1;
      low += ascending[low + half - 1] <= key ? half : 0;
      rest -= half;
    }
    return low;
  }
}
