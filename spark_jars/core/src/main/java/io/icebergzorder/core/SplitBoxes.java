package io.icebergzorder.core;

import java.util.Arrays;

/** The boxes on both sides of every cut of an interval of rows, which are cut by one column: each is measured once. */
final class SplitBoxes {
  private final int rows;
  private final int[] edges;

  // By edge and clustering column, the smallest and largest positions on either side.
  private final int[][] leftLows;
  private final int[][] leftHighs;
  private final int[][] rightLows;
  private final int[][] rightHighs;

  SplitBoxes(char[][] positions, int leading, int cut, int[] ordered, int from, int to, int[] edges) {
    int columns = positions.length - leading;
    this.rows = to - from;
    this.edges = edges;
    this.leftLows = new int[edges.length][columns];
    this.leftHighs = new int[edges.length][columns];
    this.rightLows = new int[edges.length][columns];
    this.rightHighs = new int[edges.length][columns];
    for (int column = 0; column < columns; column++) {
      measure(positions[leading + column], column, leading + column == cut, ordered, from);
    }
  }

  /** Looks at the rows between two edges once, and then adds them up from either end. */
  private void measure(char[] positions, int column, boolean isOrdered, int[] ordered, int from) {
    int[] lows = new int[edges.length + 1];
    int[] highs = new int[edges.length + 1];
    int start = 0;
    for (int segment = 0; segment <= edges.length; segment++) {
      int end = segment < edges.length ? edges[segment] : rows;
      int low = positions[ordered[from + start]];
      int high = positions[ordered[from + end - 1]];
      for (int place = start; place < end && !isOrdered; place++) {
        int position = positions[ordered[from + place]];
        low = Math.min(low, position);
        high = Math.max(high, position);
      }
      lows[segment] = low;
      highs[segment] = high;
      start = end;
    }
    int low = Integer.MAX_VALUE;
    int high = Integer.MIN_VALUE;
    for (int edge = 0; edge < edges.length; edge++) {
      low = Math.min(low, lows[edge]);
      high = Math.max(high, highs[edge]);
      leftLows[edge][column] = low;
      leftHighs[edge][column] = high;
    }
    low = Integer.MAX_VALUE;
    high = Integer.MIN_VALUE;
    for (int edge = edges.length - 1; edge >= 0; edge--) {
      low = Math.min(low, lows[edge + 1]);
      high = Math.max(high, highs[edge + 1]);
      rightLows[edge][column] = low;
      rightHighs[edge][column] = high;
    }
  }

  /** The expected cost of a split into {@code share} files and the rest, or infinity where it is not below a bound. */
  double cost(BoxCosts costs, int cut, int share, int files, double bound) {
    int edge = Arrays.binarySearch(edges, cut);
    double left = cut * costs.of(leftLows[edge], leftHighs[edge], share);
    // No side costs less than nothing.
    return left >= bound ? Double.POSITIVE_INFINITY : left + (rows - cut) * costs.of(rightLows[edge], rightHighs[edge], files - share);
  }
}
