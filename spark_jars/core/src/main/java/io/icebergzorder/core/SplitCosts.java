package io.icebergzorder.core;

import java.util.Arrays;

/**
 * What the splits of an interval of rows cost, which all split by one column: the boxes on both sides of every cut, each measured
 * once.
 */
final class SplitCosts {
  /**
   * What boxes are measured by.
   *
   * @param positions by active column and sampled row
   * @param below by column and position, the sampled rows below it
   * @param weights of every active column
   * @param leading the number of leading columns, which no box is measured by
   */
  record Extents(int[][] positions, int[][] below, double[] weights, int leading) {
    /** The columns that boxes are measured by. */
    int columns() {
      return positions.length - leading;
    }

    /** The weighted extent of a box by one of those columns. */
    double of(int measured, int low, int high) {
      int column = leading + measured;
      return weights[column] * (below[column][high + 1] - below[column][low]);
    }

    /** The positions of the rows in one of those columns. */
    int[] positionsIn(int measured) {
      return positions[leading + measured];
    }
  }

  private final Extents extents;
  private final int rows;
  private final int[] edges;

  // By measured column and edge.
  private final double[][] left;
  private final double[][] right;

  /**
   * Measures the boxes.
   *
   * @param ordered rows in the order of the column that splits
   * @param from the first place of the interval in that order
   * @param to the place after its last
   * @param edges the numbers of rows on the left side of each cut, ascending
   */
  SplitCosts(Extents extents, int[] ordered, int from, int to, int[] edges) {
    this.extents = extents;
    this.rows = to - from;
    this.edges = edges;
    this.left = new double[extents.columns()][edges.length];
    this.right = new double[extents.columns()][edges.length];
    for (int measured = 0; measured < left.length; measured++) {
      measureLeft(measured, ordered, from);
      measureRight(measured, ordered, from);
    }
  }

  private void measureLeft(int measured, int[] ordered, int from) {
    int[] positions = extents.positionsIn(measured);
    int low = Integer.MAX_VALUE;
    int high = Integer.MIN_VALUE;
    int place = 0;
    for (int edge = 0; edge < edges.length; edge++) {
      for (; place < edges[edge]; place++) {
        int position = positions[ordered[from + place]];
        low = Math.min(low, position);
        high = Math.max(high, position);
      }
      left[measured][edge] = extents.of(measured, low, high);
    }
  }

  private void measureRight(int measured, int[] ordered, int from) {
    int[] positions = extents.positionsIn(measured);
    int low = Integer.MAX_VALUE;
    int high = Integer.MIN_VALUE;
    int place = rows - 1;
    for (int edge = edges.length - 1; edge >= 0; edge--) {
      for (; place >= edges[edge]; place--) {
        int position = positions[ordered[from + place]];
        low = Math.min(low, position);
        high = Math.max(high, position);
      }
      right[measured][edge] = extents.of(measured, low, high);
    }
  }

  /**
   * The expected cost of a split.
   *
   * @param cut the rows on the left side, one of the edges
   * @param share the files on the left side
   * @param files the files on both
   */
  double of(int cut, int share, int files) {
    int edge = Arrays.binarySearch(edges, cut);
    return cut * filled(left, edge, share) + (rows - cut) * filled(right, edge, files - share);
  }

  /** What is left of the extents of a box when it is cut into its files. */
  private static double filled(double[][] extents, int edge, int files) {
    double[] rest = new double[extents.length];
    for (int i = 0; i < rest.length; i++) {
      rest[i] = extents[i][edge];
    }
    double f = files;
    while (f >= 2.0) {
      rest[largest(rest)] /= 2.0;
      f /= 2.0;
    }
    rest[largest(rest)] /= f;
    double total = 0;
    for (double extent : rest) {
      total += extent;
    }
    return total;
  }

  private static int largest(double[] values) {
    int largest = 0;
    for (int i = 1; i < values.length; i++) {
      if (values[i] > values[largest]) {
        largest = i;
      }
    }
    return largest;
  }
}
