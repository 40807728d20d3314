package io.icebergzorder.core.workload;

import io.icebergzorder.core.Boundaries;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Layout.LayoutColumn;
import io.icebergzorder.core.QueryBoxes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Turns boxes over keys into boxes over the positions of a layout. */
public final class PositionBoxes {
  private PositionBoxes() {}

  /** What a query wants, over keys, no box if that is nothing; and how often it is asked, in [0, inf). */
  public record Query(List<KeyBox> boxes, double weight) {}

  /** Finds the positions that the rows may have which queries want. Queries that want nothing are left out. */
  public static QueryBoxes of(List<Query> queries, List<LayoutColumn> columns) {
    List<Query> wanting = queries.stream().filter(query -> !query.boxes().isEmpty()).toList();
    List<KeyBox> boxes = new ArrayList<>();
    List<Integer> of = new ArrayList<>();
    for (int number = 0; number < wanting.size(); number++) {
      for (KeyBox box : wanting.get(number).boxes()) {
        boxes.add(box);
        of.add(number);
      }
    }
    int[][] lower = new int[columns.size()][boxes.size()];
    int[][] upper = new int[columns.size()][boxes.size()];
    for (int column = 0; column < lower.length; column++) {
      for (int box = 0; box < boxes.size(); box++) {
        int[] ends = ends(boxes.get(box), columns.get(column));
        lower[column][box] = ends[0];
        upper[column][box] = ends[1];
      }
    }
    return new QueryBoxes(
        lower,
        upper,
        of.stream().mapToInt(Integer::intValue).toArray(),
        wanting.stream().mapToDouble(Query::weight).toArray());
  }

  /** The lowest and the highest position of the rows in a box, by one column. */
  static int[] ends(KeyBox box, LayoutColumn column) {
    KeyRange range = box.range(column.column().parts());
    Boundaries boundaries = column.boundaries();
    int low = bucket(range.start(), boundaries);
    // The key just below a stop has as many boundaries at or below it as there are below the stop.
    int high = range.stop().hasKey() ? countBelow(range.stop(), boundaries) : bucket(range.stop(), boundaries) - 1;
    // In a column that is sorted downwards they fall.
    int[] positions = Arrays.copyOfRange(column.positions(), low, high + 1);
    return new int[] {Arrays.stream(positions).min().orElseThrow(), Arrays.stream(positions).max().orElseThrow()};
  }

  /** The bucket that begins at an edge, or that the key behind it is in. */
  private static int bucket(KeyEdge edge, Boundaries boundaries) {
    if (edge.hasKey()) {
      return edge.number() != null ? boundaries.bucket(edge.number()) : boundaries.bucket(edge.bytes());
    }
    return switch (edge.state()) {
      case KeyColumn.VALUE -> 0;
      case KeyColumn.NAN -> boundaries.nanBucket();
      case KeyColumn.NULL -> boundaries.nullBucket();
      default -> boundaries.buckets();
    };
  }

  private static int countBelow(KeyEdge edge, Boundaries boundaries) {
    return edge.number() != null ? boundaries.countBelow(edge.number()) : boundaries.countBelow(edge.bytes());
  }
}
