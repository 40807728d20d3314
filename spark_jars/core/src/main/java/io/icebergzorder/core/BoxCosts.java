package io.icebergzorder.core;

/** The expected costs of boxes that are still to be cut into files. */
interface BoxCosts {
  /** First positions of ranges of a column, and first ones after them, which may repeat, with the weight of each. */
  record Ends(int[] starts, double[] weights) {
    static final Ends NONE = new Ends(new int[0], new double[0]);
  }

  /** The same costs for boxes inside of a box, whose edges are by active column; what all of these cost alike may be left out. */
  BoxCosts inside(int[] lows, int[] highs);

  /** Ends of ranges in an active column, where a split serves queries. */
  Ends ends(int column);

  /** The cost, at least 0, that one row adds to a box still to be cut into so many files; its edges are by clustering column. */
  double of(int[] lows, int[] highs, int files);
}
