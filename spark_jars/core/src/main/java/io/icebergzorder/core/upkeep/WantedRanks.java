package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.boxes.KeyEdge;
import io.icebergzorder.core.boxes.KeyRange;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * What boxes of queries want of a column of the rows of a partition.
 *
 * @param column the column
 * @param first by box, the first rank that it wants
 * @param last the last one; before the first one if the box lies between two ranks
 * @param nulls whether it wants rows without a value
 */
record WantedRanks(RankedColumn column, int[] first, int[] last, boolean[] nulls) {
  /**
   * Between which ranks new files are, by their numbers.
   *
   * @param low the smallest one
   * @param high the largest one; -1 without values
   * @param lacks whether they have rows without a value
   */
  record Ends(int[] low, int[] high, boolean[] lacks) {}

  /**
   * Finds ranks.
   *
   * @param ranges what boxes want
   * @param kept what is kept of a key of bytes: a value is wanted if anything is that begins like it
   */
  static WantedRanks of(RankedColumn column, List<KeyRange> ranges, UnaryOperator<byte[]> kept) {
    Ranks values = column.values();
    return new WantedRanks(
        column,
        ranges.stream().mapToInt(range -> before(range.start(), values, kept)).toArray(),
        ranges.stream().mapToInt(range -> before(range.stop(), values, UnaryOperator.identity()) - 1).toArray(),
        flags(ranges));
  }

  private static boolean[] flags(List<KeyRange> ranges) {
    boolean[] nulls = new boolean[ranges.size()];
    IntStream.range(0, nulls.length).forEach(box -> nulls[box] = ranges.get(box).stop().equals(KeyEdge.END));
    return nulls;
  }

  /** How many values are before an edge. */
  private static int before(KeyEdge edge, Ranks values, UnaryOperator<byte[]> kept) {
    if (edge.hasKey()) {
      return edge.number() != null ? values.countBelow(edge.number()) : values.countBelow(kept.apply(edge.bytes()));
    }
    return edge.state() == KeyColumn.VALUE ? 0 : values.size();
  }

  /** Finds between which ranks the rows of new files are. */
  Ends ends(PartitionRows.NewFiles made) {
    int count = made.counts().length;
    Ends ends = new Ends(new int[count], new int[count], new boolean[count]);
    Arrays.fill(ends.low, column.below().length - 2);
    Arrays.fill(ends.high, -1);
    for (int row = 0; row < made.rows().length; row++) {
      int rank = column.ranks()[made.rows()[row]];
      int file = made.file()[row];
      ends.lacks[file] |= rank < 0;
      ends.low[file] = rank < 0 ? ends.low[file] : Math.min(ends.low[file], rank);
      ends.high[file] = Math.max(ends.high[file], rank);
    }
    return ends;
  }

  /** What share of a new file a box reads by this column, once it is cut into slices of so large a share. */
  double read(Ends ends, int file, int box, double slices) {
    if (nulls[box] && ends.lacks[file]) {
      return 1;
    }
    int low = ends.low[file];
    int high = ends.high[file];
    if (first[box] > high || last[box] < low) {
      return 0;
    }
    if (slices == 1) {
      return 1;
    }
    int inside = Math.min(last[box], high) - Math.max(first[box], low) + 1;
    // Of what is wanted, and the two slices at its ends, as layouts are grown by.
    return Math.min((double) inside / Math.max(1, high - low + 1) + slices, 1);
  }
}
