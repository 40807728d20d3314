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

  /**
   * What costs boxes inside of a box by as much, but for what is the same for all of them.
   *
   * @param lows the smallest positions in the box by active column, the leading ones included
   * @param highs the largest ones
   */
  BoxCosts inside(int[] lows, int[] highs);

  /** Ends of ranges in an active column, where a split serves queries. */
  Ends ends(int column);

  /**
   * The cost of a box by one row of its own, at least 0.
   *
   * @param lows the smallest positions in the box by clustering column
   * @param highs the largest ones
   * @param files how many files it is to be cut into, at least 1
   */
  double of(int[] lows, int[] highs, int files);
}
