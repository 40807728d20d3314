package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.boxes.PositionBoxes;
import java.util.List;

/**
 * The queries of a workload as they are asked of the files of a partition.
 *
 * @param queries what each asks for, and how often it is asked; one that no row can match counts as if it read nothing. All of them are
 *     what is averaged over
 * @param mayFind which may find rows in the partition
 * @param reads by query and file, whether it reads the file
 * @param share the share of the queries that the workload knows, in [0, 1]
 */
public record AskedQueries(List<PositionBoxes.Query> queries, boolean[] mayFind, boolean[][] reads, double share) {
  /** Takes a copy of the list, but not of the arrays. */
  public AskedQueries {
    queries = List.copyOf(queries);
  }

  /** By file the share of the queries, by their weights, that read it. */
  double[] reach(int files) {
    double[] found = new double[files];
    double total = weight();
    for (int file = 0; file < files; file++) {
      for (int query = 0; query < reads.length; query++) {
        boolean isRead = reads[query][file] && !queries.get(query).boxes().isEmpty();
        found[file] += isRead ? queries.get(query).weight() : 0;
      }
      found[file] /= total;
    }
    return found;
  }

  /** How often all of them are asked. */
  double weight() {
    double weight = 0;
    for (PositionBoxes.Query query : queries) {
      weight += query.weight();
    }
    return weight;
  }
}
