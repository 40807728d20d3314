package io.icebergzorder.core;

/**
 * The queries of a workload as boxes in the space of the positions. A row matches a query if any of the query's boxes
 * holds it.
 *
 * @param lower by active column and box, the lowest position, in [0, 2^bits); 0 without a limit
 * @param upper the highest position, included; 2^bits - 1 without a limit. A box whose lower position is above its upper one is empty
 * @param query the query of each box, in [0, queries)
 * @param weights the frequency of each query, in [0, inf)
 */
public record QueryBoxes(int[][] lower, int[][] upper, int[] query, double[] weights) {
  int boxes() {
    return query.length;
  }
}
