package io.icebergzorder.core.metrics;

import io.icebergzorder.core.Beginning;
import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Curve;
import io.icebergzorder.core.Cuts.EvenCuts;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.metrics.ClusteringReport.ColumnReport;
import io.icebergzorder.core.metrics.ClusteringReport.SizeReport;
import io.icebergzorder.core.metrics.ScanMeasurement.FilterRead;
import io.icebergzorder.core.metrics.ScanMeasurement.MeasuredFiles;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.IntStream;

/** Computes the figures of a report from the bounds of a table's files. */
final class Measurement {

  private final TableFacts facts;
  private final BoundedFiles files;
  private final Sample sample;
  private final Map<Integer, LaidOutSample> groups;
  private final List<MeasuredFiles> planned;

  Measurement(TableFacts facts) {
    this.facts = facts;
    this.files = facts.files();
    long[] sizes = files.partitionBytes();
    long expected = Arrays.stream(sizes).map(size -> facts.sizes().expectedFiles(size)).sum();
    int wanted = SpreadRows.rowsFor(expected);
    SpreadRows rows = SpreadRows.of(files, (int) wanted);
    this.sample = rows.sample();
    this.groups = laidOut(rows, sizes);
    List<ClusteringColumn> columns = files.columns().stream().map(ColumnBounds::column).toList();
    this.planned = groups.values().stream().map(group -> MeasuredFiles.ofLayout(group, columns)).toList();
  }

  /** Lays out every partition by every other row of its sample, by its number; the rest is held out from the layouts. */
  private Map<Integer, LaidOutSample> laidOut(SpreadRows spread, long[] sizes) {
    long[] rows = files.byPartition(files.rows());
    int[] numbers = Arrays.stream(spread.places()).map(file -> files.partitions()[file]).toArray();
    int[][] rowsOf = BoundedFiles.placesByNumber(numbers, sizes.length);
    List<ClusteringColumn> columns = files.columns().stream().map(ColumnBounds::column).toList();
    LayoutRequest wanted = facts.layout();
    LayoutRequest ofOne =
        new LayoutRequest(1, EvenCuts.KIND, Curve.ZORDER, wanted.leadingOrders(), 1, wanted.sizeTolerance(), new double[0]);
    Layout oneFile = Layout.fit(columns, sample.take(new int[0]), ofOne);
    Map<Integer, LaidOutSample> found = new TreeMap<>();
    for (int number : Arrays.stream(files.partitions()).distinct().toArray()) {
      Sample fitted = sample.take(everyOther(rowsOf[number], 0));
      Sample heldOut = sample.take(everyOther(rowsOf[number], 1));
      int count = facts.sizes().expectedFiles(sizes[number]);
      int coarse = LaidOutSample.coarse(count, rowsOf[number].length);
      Layout layout = coarse > 1 ? Layout.fit(columns, fitted, wanted.of(coarse)) : oneFile;
      found.put(number, new LaidOutSample(layout, fitted, heldOut, rows[number], sizes[number], count));
    }
    return found;
  }

  private static int[] everyOther(int[] places, int first) {
    return IntStream.range(0, (places.length + 1 - first) / 2).map(i -> places[2 * i + first]).toArray();
  }

  ClusteringReport report() {
    List<ColumnReport> columns =
        IntStream.range(0, files.columns().size())
            .mapToObj(place -> new ColumnReport(files.columns().get(place).column().name(), read(place), prediction(place)))
            .toList();
    return new ClusteringReport(
        files.count(),
        files.bytes(),
        files.allRows(),
        columns,
        facts.costs() == null ? cost(columns, ColumnReport::read, files.count()) : (Double) facts.costs().today(),
        facts.costs() == null ? cost(columns, ColumnReport::attainable, fileSizes().afterRewrite()) : (Double) facts.costs().attainable(),
        fileSizes(),
        facts.recommendation(),
        Findings.in(facts));
  }

  private SizeReport fileSizes() {
    long[] sorted = files.sizes().clone();
    Arrays.sort(sorted);
    int count = sorted.length;
    double median = count == 0 ? 0 : ((double) sorted[(count - 1) / 2] + (double) sorted[count / 2]) / 2;
    return new SizeReport(
        facts.sizes().target(),
        count == 0 ? 0 : sorted[0],
        (long) median,
        count == 0 ? 0 : sorted[count - 1],
        groups.values().stream().mapToInt(LaidOutSample::files).sum());
  }

  private FilterRead read(int place) {
    ColumnBounds bounds = files.columns().get(place);
    if (bounds.isAnyBounded()) {
      Sample lookedFor = new Sample(List.of(sample.columns().get(place)));
      BoundedFiles ofColumn = new BoundedFiles(files.partitions(), files.rows(), files.sizes(), List.of(bounds));
      return ScanMeasurement.of(List.of(new MeasuredFiles(ofColumn, lookedFor, sample.rows())), 0, Beginning.WHOLE);
    }
    long read = IntStream.range(0, files.count()).filter(bounds::hasValues).count();
    return read > 0 && files.bytes() > 0 ? new FilterRead(1, read) : null;
  }

  private FilterRead prediction(int place) {
    return planned.isEmpty() ? null : ScanMeasurement.of(planned, place, Beginning.WHOLE);
  }

  /** Averages what filters cost among so many files over the columns of which both are known by weight; those of a prefix count 1. */
  private Double cost(List<ColumnReport> columns, Function<ColumnReport, FilterRead> kind, int count) {
    int prefix = columns.size() - facts.layout().weights().length;
    int[] known =
        IntStream.range(0, columns.size())
            .filter(place -> columns.get(place).read() != null && columns.get(place).attainable() != null)
            .toArray();
    double[] weights = Arrays.stream(known).mapToDouble(place -> place < prefix ? 1 : facts.layout().weights()[place - prefix]).toArray();
    double[] costs =
        Arrays.stream(known)
            .mapToObj(place -> kind.apply(columns.get(place)))
            .mapToDouble(each -> ScanCost.of(each.fraction() * files.bytes(), each.files(), count, facts.openCost()))
            .toArray();
    return known.length == 0 ? null : (Double) ScanCost.mean(costs, weights);
  }
}
