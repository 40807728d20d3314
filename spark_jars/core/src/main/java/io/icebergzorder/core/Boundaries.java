package io.icebergzorder.core;

import io.icebergzorder.core.Keys.KeyDomain;
import io.icebergzorder.core.SortOrder.PrefixOrder;
import java.io.Serializable;
import java.util.Arrays;
import java.util.BitSet;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The strictly increasing keys that split the sampled distribution of a column into buckets.
 *
 * <p>The bucket of a key is the number of boundaries that are not above it. NaN and NULL have the two buckets after all values.
 *
 * <pre>
 *   boundaries         10            20            30
 *   keys        ... 9  |  10 ... 19  |  20 ... 29  |  30 ...   NaN   NULL
 *   buckets       0    |      1      |      2      |     3      4     5
 * </pre>
 *
 * <p>They are the sampled keys at evenly spaced ranks, so that buckets hold about equally many rows. A heavy key, one that holds at
 * least 1/max of the sampled values, gets a bucket of its own, and with no more distinct keys than max every key does.
 *
 * <p>Source: equi-depth histograms, with the heavy keys of compressed histograms (V. Poosala and others, "Improved Histograms for
 * Selectivity Estimation of Range Predicates", SIGMOD 1996).
 */
public final class Boundaries implements Serializable {
  private static final long serialVersionUID = 1L;

  /** One of the two, by the domain of the column. */
  private final AscendingLongs longs;

  private final byte[][] bytes;

  private Boundaries(AscendingLongs longs, byte[][] bytes) {
    this.longs = longs;
    this.bytes = bytes;
  }

  /** The boundaries of a column's keys: {@code max} at most, or twice the number of heavy keys. */
  public static Boundaries of(KeyColumn column, int max) {
    IntStream rows = IntStream.range(0, column.size()).filter(row -> column.state(row) == KeyColumn.VALUE);
    if (column.domain() == KeyDomain.LONG) {
      long[] sorted = rows.mapToLong(column::longKey).sorted().toArray();
      IntStream chosen = chosen(sorted.length, rank -> sorted[rank] != sorted[rank - 1], max);
      return new Boundaries(new AscendingLongs(chosen.mapToLong(rank -> sorted[rank]).toArray()), null);
    }
    byte[][] sorted = rows.mapToObj(column::bytesKey).sorted(Arrays::compareUnsigned).toArray(byte[][]::new);
    IntStream chosen = chosen(sorted.length, rank -> !Arrays.equals(sorted[rank], sorted[rank - 1]), max);
    return new Boundaries(null, chosen.mapToObj(rank -> sorted[rank]).toArray(byte[][]::new));
  }

  /** The ranks of the first of those equal keys that become boundaries; never the smallest key, as nothing lies below it. */
  private static IntStream chosen(int rows, IntPredicate isNew, int max) {
    int[] starts = IntStream.range(0, rows).filter(rank -> rank == 0 || isNew.test(rank)).toArray();
    int distinct = starts.length;
    if (distinct <= max) {
      return Arrays.stream(starts).skip(1);
    }
    BitSet chosen = new BitSet(distinct);
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
    return chosen.stream().map(each -> starts[each]);
  }

  /** The number of boundaries; there is one more bucket of values. */
  public int size() {
    return longs != null ? longs.values().length : bytes.length;
  }

  public int nanBucket() {
    return size() + 1;
  }

  public int nullBucket() {
    return size() + 2;
  }

  /** The number of buckets, those of NaN and NULL included. */
  public int buckets() {
    return size() + 3;
  }

  public int bucketOf(KeyColumn column, int row) {
    return switch (column.state(row)) {
      case KeyColumn.VALUE -> longs != null ? bucket(column.longKey(row)) : bucket(column.bytesKey(row));
      case KeyColumn.NAN -> nanBucket();
      default -> nullBucket();
    };
  }

  public int bucket(long key) {
    return longs.countNotAbove(key);
  }

  public int bucket(byte[] key) {
    int place = Arrays.binarySearch(bytes, key, Arrays::compareUnsigned);
    return place >= 0 ? place + 1 : -place - 1;
  }

  public int countBelow(long key) {
    return key == Long.MIN_VALUE ? 0 : bucket(key - 1);
  }

  public int countBelow(byte[] key) {
    int place = Arrays.binarySearch(bytes, key, Arrays::compareUnsigned);
    return place >= 0 ? place : -place - 1;
  }

  public long[] longs() {
    return longs.values();
  }

  /** The boundaries of a column of bytes; not a copy. */
  public byte[][] bytes() {
    return bytes;
  }

  /** The position of every bucket: the share of the sampled rows in the buckets before it, scaled to [0, 2^bits), rounded down. */
  int[] positions(KeyColumn column, int bits, PrefixOrder order) {
    int[] rows = new int[buckets()];
    for (int row = 0; row < column.size(); row++) {
      rows[bucketOf(column, row)]++;
    }
    int[] positions = new int[rows.length];
    long before = 0;
    for (int place = 0; place < rows.length; place++) {
      int bucket = bucketAt(place, order);
      // without a row in this bucket or after it the share is 1, one step above the last position
      positions[bucket] = (int) Math.min((1L << bits) - 1, (before << bits) / column.size());
      before += rows[bucket];
    }
    return positions;
  }

  private int bucketAt(int place, PrefixOrder order) {
    if (place == (order.nullsFirst() ? 0 : nullBucket())) {
      return nullBucket();
    }
    int ofValues = order.nullsFirst() ? place - 1 : place;
    return order.descending() ? nanBucket() - ofValues : ofValues;
  }
}
