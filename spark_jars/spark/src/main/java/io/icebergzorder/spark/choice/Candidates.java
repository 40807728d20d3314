package io.icebergzorder.spark.choice;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.WorkloadColumns;
import io.icebergzorder.core.boxes.KeyBox;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.queries.Workload;
import io.icebergzorder.spark.request.ClusteringColumns;
import io.icebergzorder.spark.request.UnnamedColumns;
import java.math.BigDecimal;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.Table;

/** The columns that a workload filters by, and files could be skipped by. */
final class Candidates {
  private Candidates() {}

  /**
   * Finds them.
   *
   * @return those that the heaviest queries filter by first, and of equal ones as the schema has them
   * @throws IllegalArgumentException if there is none
   */
  static List<ClusteringColumn> of(UnnamedColumns request) {
    Table table = request.target().table();
    List<ClusteringColumn> possible = ClusteringColumns.possible(table, request.outputSpec());
    KeptBounds kept = KeptBounds.of(table, possible);
    Map<List<String>, BigDecimal> weights = weights(request.workload());
    Comparator<ClusteringColumn> byWeight = Comparator.comparing(column -> weights.get(column.parts()).doubleValue());
    List<ClusteringColumn> found =
        possible.stream()
            .filter(column -> weights.containsKey(column.parts()))
            .filter(column -> request.options().layout().fixesMetrics() || kept.areKept(column))
            .sorted(byWeight.reversed())
            .limit(WorkloadColumns.CANDIDATES)
            .toList();
    if (found.isEmpty()) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot rewrite data files of %s, because no columns are named, and the queries of the workload filter by none that files"
                  + " could be skipped by",
              request.target().name()));
    }
    return found;
  }

  /** By column, how often queries are asked that filter by it. */
  private static Map<List<String>, BigDecimal> weights(Workload workload) {
    Map<List<String>, BigDecimal> weights = new HashMap<>();
    for (Workload.Query query : workload.queries()) {
      Set<List<String>> columns = new HashSet<>();
      for (KeyBox box : query.wanted().boxes()) {
        columns.addAll(box.ranges().keySet());
      }
      // Exact sums, rounded once, as Python's fsum makes them.
      columns.forEach(column -> weights.merge(column, new BigDecimal(query.weight()), BigDecimal::add));
    }
    return weights;
  }
}
