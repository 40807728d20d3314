package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.boxes.KeyEdge;
import io.icebergzorder.core.boxes.KeyRange;
import io.icebergzorder.core.boxes.PositionBoxes;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/** What the queries of a workload want of the rows of a partition. */
final class WantedRanks {
  private final AskedQueries queries;
  private final List<PositionBoxes.Query> asked;

  /** By box, the place of its query among those that are asked. */
  private final int[] query;

  private final List<OfColumn> columns = new ArrayList<>();

  /**
   * What boxes want of a column.
   *
   * @param first by box, the first rank that it wants
   * @param last the last one; before the first one if the box lies between two ranks
   * @param nulls whether it wants rows without a value
   */
  private record OfColumn(PartitionRows.Column column, int[] first, int[] last, boolean[] nulls) {}

  /** Finds what they want. */
  WantedRanks(UpkeepRequest request, List<ClusteringColumn> names, List<PartitionRows.Column> ranked) {
    queries = request.queries().orElseThrow();
    asked =
        IntStream.range(0, queries.queries().size())
            .filter(each -> queries.mayFind()[each] && !queries.queries().get(each).boxes().isEmpty())
            .mapToObj(queries.queries()::get)
            .toList();
    query = IntStream.range(0, asked.size()).flatMap(each -> asked.get(each).boxes().stream().mapToInt(box -> each)).toArray();
    for (int place = 0; place < names.size(); place++) {
      if (request.weights()[place] > 0) {
        List<String> name = names.get(place).parts();
        List<KeyRange> ranges = asked.stream().flatMap(each -> each.boxes().stream()).map(box -> box.range(name)).toList();
        columns.add(wanted(ranked.get(place), ranges, request.kept().get(place)));
      }
    }
  }

  /** A value is wanted if anything is that begins like what is kept of it. */
  private static OfColumn wanted(PartitionRows.Column column, List<KeyRange> ranges, UnaryOperator<byte[]> kept) {
    Ranks values = column.values();
    boolean[] nulls = new boolean[ranges.size()];
    IntStream.range(0, nulls.length).forEach(box -> nulls[box] = ranges.get(box).stop().equals(KeyEdge.END));
    return new OfColumn(
        column,
        ranges.stream().mapToInt(range -> before(range.start(), values, kept)).toArray(),
        ranges.stream().mapToInt(range -> before(range.stop(), values, UnaryOperator.identity()) - 1).toArray(),
        nulls);
  }

  /** How many values are before an edge. */
  private static int before(KeyEdge edge, Ranks values, UnaryOperator<byte[]> kept) {
    if (edge.hasKey()) {
      return edge.number() != null ? values.countBelow(edge.number()) : values.countBelow(kept.apply(edge.bytes()));
    }
    return edge.state() == KeyColumn.VALUE ? 0 : values.size();
  }

  /** Fits a layout to some rows, for the queries. */
  Layout fitted(List<ClusteringColumn> names, Sample some, LayoutRequest request) {
    return Layout.fit(names, some, request, uncut -> PositionBoxes.of(asked, uncut.columns()), queries.share());
  }

  /** By number, the share of the queries that read each new file. */
  double[] reach(PartitionRows.NewFiles made) {
    List<PartitionRows.Ends> ends = columns.stream().map(each -> each.column.ends(made)).toList();
    double[] found = new double[made.counts().length];
    for (int file = 0; file < found.length; file++) {
      double[] ofQueries = new double[asked.size()];
      for (int box = 0; box < query.length; box++) {
        double read = 1;
        for (int place = 0; place < ends.size(); place++) {
          read *= read(columns.get(place), ends.get(place), file, box, made.smaller());
        }
        ofQueries[query[box]] += read;
      }
      double weight = 0;
      for (int each = 0; each < ofQueries.length; each++) {
        weight += asked.get(each).weight() * Math.min(ofQueries[each], 1);
      }
      found[file] = made.counts()[file] > 0 ? weight / queries.weight() : 0;
    }
    return found;
  }

  /** What share of a new file a box reads by a column, once it is cut into slices of so large a share. */
  private static double read(OfColumn of, PartitionRows.Ends ends, int file, int box, double slices) {
    int low = ends.low()[file];
    int high = ends.high()[file];
    if (of.nulls[box] && ends.lacks()[file]) {
      return 1;
    }
    if (of.first[box] > high || of.last[box] < low) {
      return 0;
    }
    int inside = Math.min(of.last[box], high) - Math.max(of.first[box], low) + 1;
    // Of what is wanted, and the two slices at its ends, as layouts are grown by.
    return slices == 1 ? 1 : Math.min((double) inside / Math.max(1, high - low + 1) + slices, 1);
  }
}
