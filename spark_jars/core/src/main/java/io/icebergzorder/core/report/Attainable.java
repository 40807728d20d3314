package io.icebergzorder.core.report;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Curve;
import io.icebergzorder.core.EvenCuts;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ScanPrediction.SampledGroup;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongToIntFunction;
import java.util.stream.IntStream;

/** What a full rewrite is predicted to attain. */
final class Attainable {
  private Attainable() {}

  /** Lays out every partition by a sample of its rows, every other one of which is held out from the layouts. */
  static Map<Integer, SampledGroup> partitions(
      DataFiles files, SpreadRows rows, LongToIntFunction expectedFiles, LayoutRequest request) {
    int count = files.partitionNumbers();
    long[] ofRows = new long[count];
    long[] sizes = new long[count];
    for (int file = 0; file < files.count(); file++) {
      ofRows[files.partitions()[file]] += files.rows()[file];
      sizes[files.partitions()[file]] += files.sizes()[file];
    }
    int[] numbers = Arrays.stream(rows.places()).map(file -> files.partitions()[file]).toArray();
    int[][] rowsOf = DataFiles.placesByNumber(numbers, count);
    List<ClusteringColumn> columns = files.columns().stream().map(ColumnBounds::column).toList();
    LayoutRequest ofOne =
        new LayoutRequest(1, EvenCuts.KIND, Curve.ZORDER, request.leadingOrders(), 1, request.sizeTolerance(), new double[0]);
    Layout oneFile = Layout.fit(columns, rows.sample().take(new int[0]), ofOne);
    Map<Integer, SampledGroup> found = new TreeMap<>();
    for (int number : Arrays.stream(files.partitions()).distinct().toArray()) {
      Sample fitted = rows.sample().take(everyOther(rowsOf[number], 0));
      Sample heldOut = rows.sample().take(everyOther(rowsOf[number], 1));
      int wanted = expectedFiles.applyAsInt(sizes[number]);
      Layout layout = wanted > 1 ? Layout.fit(columns, fitted, request.of(wanted)) : oneFile;
      found.put(number, new SampledGroup(layout, fitted, heldOut, ofRows[number], sizes[number]));
    }
    return found;
  }

  private static int[] everyOther(int[] places, int first) {
    return IntStream.range(0, (places.length + 1 - first) / 2).map(i -> places[2 * i + first]).toArray();
  }
}
