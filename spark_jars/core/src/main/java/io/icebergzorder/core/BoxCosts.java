package io.icebergzorder.core;

/** The expected costs of boxes that are still to be cut into files. */
interface BoxCosts {
  /** Starts of a column's ranges and the positions after them, with weights; positions may repeat. */
  record Ends(int[] starts, double[] weights) {
    static final Ends NONE = new Ends(new int[0], new double[0]);
  }

  /** Equivalent costs for boxes inside a box; a cost that all of them share may be left out. */
  BoxCosts inside(int[] lows, int[] highs);

  /** Ends of ranges in an active column, where a split serves queries. */
  Ends ends(int column);

  /** The cost of a box per row, at least 0, once it is cut into {@code files} files; its edges are by clustering column. */
  double of(int[] lows, int[] highs, int files);
}
