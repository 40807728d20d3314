package io.icebergzorder.core;

/**
 * What queries of a workload want, as boxes in the space of the positions. A row matches a query if any of the query's boxes
 * holds it.
 *
 * @param lower by active column and box, the lowest position that it wants, in [0, 2^bits); 0 where it wants all
 * @param upper the highest one, included; 2^bits - 1 where it wants all. A box with a lower above its upper position wants nothing
 * @param query the query of each box, in [0, queries)
 * @param weights how often each query is asked, in [0, inf)
 */
public record QueryBoxes(int[][] lower, int[][] upper, int[] query, double[] weights) {
  public QueryBoxes {
    boolean fits = lower.length == upper.length;
    for (int column = 0; fits && column < lower.length; column++) {
      fits = lower[column].length == query.length && upper[column].length == query.length;
    }
    if (!fits) {
      throw new IllegalArgumentException(
          "Cannot take boxes of queries, because not every column has a lower and an upper position for each of %d"
              .formatted(query.length));
    }
    for (int of : query) {
      if (of < 0 || of >= weights.length) {
        throw new IllegalArgumentException(
            "Cannot take boxes of queries, because not all are of one of %d".formatted(weights.length));
      }
    }
    for (double weight : weights) {
      if (!(weight >= 0 && weight <= Double.MAX_VALUE)) {
        throw new IllegalArgumentException("Cannot take boxes of queries, because a weight is no number of at least 0");
      }
    }
  }

  /** How many boxes there are. */
  int boxes() {
    return query.length;
  }
}
