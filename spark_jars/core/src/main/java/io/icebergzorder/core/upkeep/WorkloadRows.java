package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.boxes.KeyBox;
import io.icebergzorder.core.boxes.KeyRange;
import io.icebergzorder.core.boxes.PositionBoxes;
import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The rows of a partition as queries of a workload read them.
 *
 * <p>What a file costs is its bytes by the share of the queries, by their weights, that read it: summed up over all files, that is the
 * bytes which a query reads on average.
 */
final class WorkloadRows extends PartitionRows {
  private final AskedQueries queries;
  private final double total;
  private final double[] reach;
  private final List<PositionBoxes.Query> asked;

  /** By box, the place of its query among those that are asked. */
  private final int[] query;

  private final List<WantedRanks> wanted;

  /**
   * Spreads rows between bounds.
   *
   * @param files the data files, at least one; of a column that counts, one has bounds at least
   * @param rows how many rows are spread, about
   * @param request how files are written, and the queries
   * @param like files whose rows show how columns go together; null for none
   */
  WorkloadRows(DataFiles files, int rows, UpkeepRequest request, boolean[] like) {
    super(files, rows, request.kept(), request.weights(), like);
    queries = request.queries().orElseThrow();
    total = queries.weight();
    reach = Arrays.stream(queries.reach(files.count())).map(each -> each / total).toArray();
    // The values of a column without any bounds stand for others, of which queries say nothing.
    Set<List<String>> unknown =
        files.columns().stream()
            .filter(ColumnBounds::isOpen)
            .map(bounds -> bounds.column().parts())
            .collect(Collectors.toSet());
    asked =
        IntStream.range(0, queries.queries().size())
            .filter(each -> queries.mayFind()[each] && !queries.queries().get(each).boxes().isEmpty())
            .mapToObj(each -> without(queries.queries().get(each), unknown))
            .toList();
    query =
        IntStream.range(0, asked.size())
            .flatMap(each -> asked.get(each).boxes().stream().mapToInt(box -> each))
            .toArray();
    wanted = new ArrayList<>();
    for (int place = 0; place < request.weights().length; place++) {
      if (request.weights()[place] > 0) {
        List<String> name = files.columns().get(place).column().parts();
        List<KeyRange> ranges =
            asked.stream().flatMap(each -> each.boxes().stream()).map(box -> box.range(name)).toList();
        wanted.add(WantedRanks.of(columns().get(place), ranges, request.kept().get(place)));
      }
    }
  }

  private static PositionBoxes.Query without(PositionBoxes.Query query, Set<List<String>> names) {
    return new PositionBoxes.Query(query.boxes().stream().map(box -> without(box, names)).toList(), query.weight());
  }

  private static KeyBox without(KeyBox box, Set<List<String>> names) {
    Map<List<String>, KeyRange> ranges = new HashMap<>(box.ranges());
    ranges.keySet().removeAll(names);
    return new KeyBox(ranges);
  }

  @Override
  double reach(int file) {
    return reach[file];
  }

  @Override
  double[] reachOf(NewFiles made) {
    double slices = smaller(made.share());
    List<WantedRanks.Ends> ends = wanted.stream().map(each -> each.ends(made)).toList();
    double[] found = new double[made.counts().length];
    for (int file = 0; file < found.length; file++) {
      if (made.counts()[file] > 0) {
        found[file] = read(ends, file, slices) / total;
      }
    }
    return found;
  }

  /** The weight of the queries that read a new file. */
  private double read(List<WantedRanks.Ends> ends, int file, double slices) {
    double[] ofQueries = new double[asked.size()];
    for (int box = 0; box < query.length; box++) {
      double read = 1;
      for (int place = 0; place < ends.size(); place++) {
        read *= wanted.get(place).read(ends.get(place), file, box, slices);
      }
      ofQueries[query[box]] += read;
    }
    double weight = 0;
    for (int each = 0; each < ofQueries.length; each++) {
      weight += asked.get(each).weight() * Math.min(ofQueries[each], 1);
    }
    return weight;
  }

  @Override
  Layout fitted(Sample some, LayoutRequest request) {
    return Layout.fit(names(), some, request, uncut -> PositionBoxes.of(asked, uncut.columns()), queries.share());
  }
}
