package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.BoxTree;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutColumn;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.boxes.KeyEdge;
import io.icebergzorder.core.boxes.KeyRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * What boxes of queries want of a column of the rows of a partition.
 *
 * @param place the column's place
 * @param column the column
 * @param first by box, the first rank that it wants
 * @param last the last one; before the first one if the box lies between two ranks
 * @param nulls whether it wants rows without a value
 */
record WantedRanks(int place, RankedColumn column, int[] first, int[] last, boolean[] nulls) {
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
  static WantedRanks of(int place, RankedColumn column, List<KeyRange> ranges, UnaryOperator<byte[]> kept) {
    Ranks values = column.values();
    return new WantedRanks(
        place,
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

  /**
   * Finds between which ranks new files are.
   *
   * <p>Of the few rows that are spread in what a new file has of a data file of today, the outermost lie inside of what the real rows
   * span: n even draws leave as much again, at either end, as lies between two of them. But no row lies outside of the bounds of its file
   * of today, or of what the layout sends to the new one.
   *
   * @param places the data file of each row
   */
  Ends ends(PartitionRows.NewFiles made, int[] places) {
    int count = made.counts().length;
    Ends all = new Ends(new int[count], new int[count], new boolean[count]);
    Arrays.fill(all.low, Math.max(1, column.values().size()) - 1);
    Arrays.fill(all.high, -1);
    int[][] regions = regions(made);
    int[] low = new int[count];
    int[] high = new int[count];
    int[] rows = new int[count];
    for (int start = 0, end; start < made.rows().length; start = end) {
      int source = places[made.rows()[start]];
      List<Integer> met = new ArrayList<>();
      for (end = start; end < made.rows().length && places[made.rows()[end]] == source; end++) {
        int file = made.file()[end];
        if (rows[file]++ == 0) {
          met.add(file);
          low[file] = Integer.MAX_VALUE;
          high[file] = -1;
        }
        int rank = column.ranks()[made.rows()[end]];
        all.lacks[file] |= rank < 0;
        low[file] = rank < 0 ? low[file] : Math.min(low[file], rank);
        high[file] = Math.max(high[file], rank);
      }
      for (int file : met) {
        if (high[file] >= 0) {
          int[] widened = widened(source, low[file], high[file], rows[file], regions[0][file], regions[1][file]);
          all.low[file] = Math.min(all.low[file], widened[0]);
          all.high[file] = Math.max(all.high[file], widened[1]);
        }
        rows[file] = 0;
      }
    }
    return all;
  }

  private int[] widened(int source, int low, int high, int rows, int begin, int end) {
    int least = column.lower()[source];
    int most = column.upper()[source];
    boolean isBounded = least >= 0 && most >= 0;
    int gap = rows > 1 ? (high - low) / (rows - 1) : column.values().size();
    int first = Math.max(Math.max(low - gap, isBounded ? least : 0), begin);
    int last = Math.min(Math.min(high + gap, isBounded ? most : column.values().size() - 1), end);
    return new int[] {Math.min(low, first), Math.max(high, last)};
  }

  /** Between which ranks a layout cuts new files, by their numbers; those of a column that is sorted by leave no room. */
  private int[][] regions(PartitionRows.NewFiles made) {
    int count = made.counts().length;
    int size = column.values().size();
    int[] first = new int[count];
    int[] last = new int[count];
    Arrays.fill(last, size - 1);
    Layout layout = made.layout();
    if (layout == null || !(layout.cuts() instanceof BoxTree tree)) {
      return new int[][] {first, last};
    }
    int number = IntStream.range(0, layout.columns().size()).filter(i -> layout.columns().get(i).ordinal() == place).findFirst().orElse(-1);
    if (number < 0) {
      return new int[][] {first, last};
    }
    if (number < layout.leading()) {
      Arrays.fill(first, size);
      Arrays.fill(last, -1);
      return new int[][] {first, last};
    }
    LayoutColumn of = layout.columns().get(number);
    int[] positions = column.values().positions(of);
    BoxTree.Regions regions = tree.regions();
    for (int file = 0; file < count; file++) {
      first[file] = below(positions, regions.first()[file][number]);
      last[file] = below(positions, regions.last()[file][number] + 1) - 1;
    }
    return new int[][] {first, last};
  }

  /** How many of ascending positions are below one. */
  private static int below(int[] ascending, int position) {
    int low = 0;
    int high = ascending.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (ascending[middle] < position) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
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
