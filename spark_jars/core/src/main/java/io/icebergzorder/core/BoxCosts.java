package io.icebergzorder.core;

/** The expected costs of boxes that are still to be cut into files. */
interface BoxCosts {
  /**
   * Where ranges of a column begin or are over.
   *
   * @param starts the first positions of ranges, and the first ones after them; they may repeat
   * @param weights the weight of each
   */
  record Ends(int[] starts, double[] weights) {
    /** None at all. */
    static final Ends NONE = new Ends(new int[0], new double[0]);
  }

  /** The same costs for boxes inside of a box, whose edges are by active column; what all of these cost alike may be left out. */
  BoxCosts inside(int[] lows, int[] highs);

  /** Ends of ranges in an active column, where a split serves queries. */
  Ends ends(int column);

  /** The cost, at least 0, that one row adds to a box still to be cut into so many files; its edges are by clustering column. */
  double of(int[] lows, int[] highs, int files);
}
