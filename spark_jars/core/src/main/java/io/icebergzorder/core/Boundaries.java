package io.icebergzorder.core;

import java.io.Serializable;
import java.util.BitSet;

/**
 * The strictly increasing keys that split the sampled distribution of a column into buckets.
 *
 * <p>The bucket of a key is the number of boundaries that are not above it, in [0, {@link #size}]:
 * a key equal to a boundary belongs to the bucket above it. NaN and NULL have the two buckets after
 * all values.
 *
 * <pre>
 *   boundaries         10            20            30
 *   keys        ... 9  |  10 ... 19  |  20 ... 29  |  30 ...   NaN   NULL
 *   buckets       0    |      1      |      2      |     3      4     5
 * </pre>
 *
 * <p>They are the sampled keys at evenly spaced ranks, so the buckets hold about equally many rows,
 * whatever the distribution. A heavy key, one that holds at least 1/max of the sampled values,
 * gets a bucket of its own, and with no more distinct keys than max every key does.
 *
 * <p>Source: equi-depth histograms, with the heavy keys of compressed histograms (V. Poosala and
 * others, "Improved Histograms for Selectivity Estimation of Range Predicates", SIGMOD 1996).
 */
public abstract sealed class Boundaries implements Serializable
    permits LongBoundaries, BytesBoundaries {
  private static final long serialVersionUID = 1L;

  Boundaries() {}

  /** The boundaries of a column's keys: {@code max}, or with heavy keys up to twice their number. */
  public static Boundaries of(KeyColumn column, int max) {
    if (max < 1) {
      throw new IllegalArgumentException(
          "Cannot make boundaries, because at least 1 must be wanted and %d were".formatted(max));
    }
    return switch (column.domain()) {
      case LONG -> LongBoundaries.ofKeys(column, max);
      case BYTES -> BytesBoundaries.ofKeys(column, max);
    };
  }

  /** The number of boundaries; there is one more bucket of values. */
  public abstract int size();

  /** The bucket of NaN: {@code size() + 1}. */
  public final int nanBucket() {
    return size() + 1;
  }

  /** The bucket of NULL: {@code size() + 2}. */
  public final int nullBucket() {
    return size() + 2;
  }

  /** The number of buckets, those of NaN and NULL included: {@code size() + 3}. */
  public final int buckets() {
    return size() + 3;
  }

  public final int bucketOf(KeyColumn column, int row) {
    return switch (column.state(row)) {
      case KeyColumn.VALUE -> valueBucket(column, row);
      case KeyColumn.NAN -> nanBucket();
      default -> nullBucket();
    };
  }

  abstract int valueBucket(KeyColumn column, int row);

  /** The places in [1, d) of the d distinct keys that become boundaries, given the rank of each one's first row among the sorted keys. */
  static BitSet chosen(int[] starts, int rows, int max) {
    int distinct = starts.length;
    BitSet chosen = new BitSet(distinct);
    if (distinct <= max) {
      if (distinct > 1) {
        chosen.set(1, distinct);
      }
      return chosen;
    }
    for (int key = 0; key < distinct; key++) {
      int end = key + 1 < distinct ? starts[key + 1] : rows;
      if ((long) (end - starts[key]) * max >= rows) {
        // the boundary at the next key keeps that key out of the heavy one's bucket
        chosen.set(key, Math.min(key + 2, distinct));
      }
    }
    chosen.clear(0);
    int ranks = Math.max(0, max - chosen.cardinality());
    int key = 0;
    for (long i = 1; i <= ranks; i++) {
      int rank = (int) (i * rows / (ranks + 1));
      while (key + 1 < distinct && starts[key + 1] <= rank) {
        key++;
      }
      chosen.set(key);
    }
    chosen.clear(0);
    return chosen;
  }

  /** Thrown by the constructors, which also read layouts from outside. */
  static IllegalArgumentException notIncreasing(int place) {
    return new IllegalArgumentException(
        "Cannot use boundaries, because they must strictly increase and number %d does not"
            .formatted(place));
  }
}
