package io.icebergzorder.core;

/**
 * The queries of a workload as boxes in the space of the positions. A row matches a query if any of the query's boxes
 * holds it.
 *
 * @param lower by active column and box, the lowest position that it wants, in [0, 2^bits); 0 where it wants all
 * @param upper the highest one, included; 2^bits - 1 where it wants all. A box with a lower above its upper position wants nothing
 * @param query the query of each box, in [0, queries)
 * @param weights how often each query is asked, in [0, inf)
 */
public record QueryBoxes(int[][] lower, int[][] upper, int[] query, double[] weights) {
  int boxes() {
    return query.length;
  }
}
