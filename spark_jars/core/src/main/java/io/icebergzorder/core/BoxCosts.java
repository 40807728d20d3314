package io.icebergzorder.core;

/** The expected costs of boxes that are still to be cut into files. */
interface BoxCosts {
  /** Starts of a column's ranges and the positions after them, with weights; positions may repeat. */
  record Ends(int[] starts, double[] weights) {
    static final Ends NONE = new Ends(new int[0], new double[0]);
  }

  /** The cost of boxes for queries that nobody knows: what is left of their extents when they are cut into files. */
  // The largest extent is halved first, until there are as many parts as files. An extent is the number of all sampled rows between the
  // smallest and the largest position in the box, both included, so that a heavy value counts with its whole mass.
  final class ExtentCosts implements BoxCosts {
    private final int[][] below;
    private final double[] weights;
    private final int leading;
    private final double[] rest;

    ExtentCosts(int[][] below, double[] weights, int leading) {
      this.below = below;
      this.weights = weights;
      this.leading = leading;
      this.rest = new double[below.length - leading];
    }

    @Override
    public BoxCosts inside(int[] lows, int[] highs) {
      return this;
    }

    @Override
    public Ends ends(int column) {
      return Ends.NONE;
    }

    @Override
    public double of(int[] lows, int[] highs, int files) {
      for (int i = 0; i < rest.length; i++) {
        int column = leading + i;
        rest[i] = weights[column] * (below[column][highs[i] + 1] - below[column][lows[i]]);
      }
      double f = files;
      while (f >= 2.0) {
        rest[largest()] /= 2.0;
        f /= 2.0;
      }
      rest[largest()] /= f;
      double total = 0;
      for (double extent : rest) {
        total += extent;
      }
      return total;
    }

    private int largest() {
      int largest = 0;
      for (int i = 1; i < rest.length; i++) {
        if (rest[i] > rest[largest]) {
          largest = i;
        }
      }
      return largest;
    }
  }

  /** Equivalent costs for boxes inside a box; a cost that all of them share may be left out. */
  BoxCosts inside(int[] lows, int[] highs);

  /** Ends of ranges in an active column, where a split serves queries. */
  Ends ends(int column);

  /** The cost of a box per row, at least 0, once it is cut into {@code files} files; its edges are by clustering column. */
  double of(int[] lows, int[] highs, int files);
}
