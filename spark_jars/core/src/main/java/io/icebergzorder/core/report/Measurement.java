package io.icebergzorder.core.report;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.core.ScanPrediction.SampledGroup;
import io.icebergzorder.core.report.ClusteringReport.ColumnReport;
import io.icebergzorder.core.report.ClusteringReport.PartitionReport;
import io.icebergzorder.core.report.ClusteringReport.PredicateReport;
import io.icebergzorder.core.report.ClusteringReport.SizeReport;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/** Computes a report: what is computed once is looked at by table and by partition. */
final class Measurement {
  private static final long ROWS_OF_A_FILE = 200;
  private static final long LEAST_ROWS = 20_000;
  private static final long MOST_ROWS = 100_000;

  private final TableFacts facts;
  private final DataFiles files;
  private final List<ClusteringColumn> columns;
  private final Overlap overlap;
  private final boolean[] constant;
  private final SpreadRows rows;
  private final Map<Integer, SampledGroup> groups;

  Measurement(TableFacts facts) {
    this.facts = facts;
    this.files = facts.files();
    this.columns = files.columns().stream().map(ColumnBounds::column).toList();
    this.overlap = Overlap.of(files);
    this.constant = constant(files);
    long[] sizes = new long[files.partitionNumbers()];
    for (int file = 0; file < files.count(); file++) {
      sizes[files.partitions()[file]] += files.sizes()[file];
    }
    long expected = Arrays.stream(sizes).map(size -> facts.sizes().expectedFiles().applyAsInt(size)).sum();
    long wanted = Math.min(Math.max(ROWS_OF_A_FILE * expected, LEAST_ROWS), MOST_ROWS);
    this.rows = SpreadRows.of(files, (int) wanted);
    this.groups = Attainable.partitions(files, rows, facts.sizes().expectedFiles(), facts.layout());
  }

  ClusteringReport report(boolean withBoxes) {
    List<PartitionReport> partitions = partitions();
    partitions.sort(Comparator.comparingDouble(Measurement::saved).reversed());
    ClusteringReport report =
        new ClusteringReport(
            facts.table(),
            facts.branch(),
            facts.snapshotId(),
            facts.where(),
            columns.stream().map(ClusteringColumn::name).toList(),
            facts.sortOrder(),
            files.count(),
            count(constant),
            files.bytes(),
            files.allRows(),
            overlap.averageOverlaps(),
            overlap.averageDepth(files.rows()),
            overlap.histogram(),
            overlap.measuredCount(),
            IntStream.range(0, columns.size()).mapToObj(this::column).toList(),
            predicates(),
            fileSizes(),
            count(facts.ofOldSpecs()),
            count(facts.withDeletes()),
            facts.positionDeleteFiles(),
            facts.equalityDeleteFiles(),
            facts.history(),
            partitions,
            List.of(),
            withBoxes && files.count() > 0 ? FileBoxes.of(files, rows.sample()) : null,
            null);
    return report.with(Findings.in(report, facts.rewriteCommand(), facts.sqlName()));
  }

  private ColumnReport column(int place) {
    ColumnBounds bounds = files.columns().get(place);
    boolean[] alike = AlikeBounds.of(bounds, facts.metrics().get(place));
    boolean isCut = AlikeBounds.areCut(bounds, facts.metrics().get(place));
    boolean[] unbounded = new boolean[files.count()];
    boolean[] endless = new boolean[files.count()];
    for (int file = 0; file < unbounded.length; file++) {
      unbounded[file] = bounds.hasValues(file) && !bounds.isBounded(file);
      // Nothing as short as bounds are cut lies above the values.
      endless[file] = unbounded[file] && isCut && bounds.lower().state(file) == KeyColumn.VALUE;
    }
    return new ColumnReport(
        bounds.column().name(),
        String.join(".", bounds.column().parts()),
        bounds.column().type(),
        facts.metrics().get(place),
        scanFraction(files, rows.sample(), place),
        prediction(groups.values(), place),
        count(unbounded),
        sum(files.sizes(), unbounded),
        count(alike),
        sum(files.sizes(), alike),
        count(endless),
        sum(files.sizes(), endless));
  }

  private List<PredicateReport> predicates() {
    if (facts.predicates().isEmpty()) {
      return List.of();
    }
    DataFiles made = groups.isEmpty() ? files : NewFiles.of(groups, columns);
    return facts.predicates().stream()
        .map(
            each ->
                new PredicateReport(
                    each.text(),
                    share(files.sizes(), each.read()),
                    count(each.read()),
                    share(made.sizes(), each.reads().apply(made))))
        .toList();
  }

  private SizeReport fileSizes() {
    TableFacts.FileSizes wanted = facts.sizes();
    long[] sorted = files.sizes().clone();
    Arrays.sort(sorted);
    int count = sorted.length;
    double median = count == 0 ? 0 : ((double) sorted[(count - 1) / 2] + (double) sorted[count / 2]) / 2;
    return new SizeReport(
        wanted.target(),
        wanted.least(),
        wanted.most(),
        count == 0 ? 0 : sorted[0],
        (long) median,
        count == 0 ? 0 : sorted[count - 1],
        (int) Arrays.stream(sorted).filter(size -> size < wanted.least()).count(),
        (int) Arrays.stream(sorted).filter(size -> size > wanted.most()).count(),
        badlySized(wanted),
        groups.values().stream().mapToInt(group -> group.layout().files()).sum());
  }

  /** Counts the files that a rewrite chooses for their size; those of old specs are one file group. */
  private int badlySized(TableFacts.FileSizes wanted) {
    int[] numbers =
        IntStream.range(0, files.count()).map(file -> facts.ofOldSpecs()[file] ? 0 : files.partitions()[file] + 1).toArray();
    int[][] filesOf = DataFiles.placesByNumber(numbers, facts.partitionNames().size() + 1);
    return Arrays.stream(filesOf)
        .mapToInt(places -> wanted.badlySized(Arrays.stream(places).mapToLong(place -> files.sizes()[place])))
        .sum();
  }

  private List<PartitionReport> partitions() {
    int count = facts.partitionNames().size();
    int[][] filesOf = DataFiles.placesByNumber(files.partitions(), count);
    int[] numbers = Arrays.stream(rows.places()).map(file -> files.partitions()[file]).toArray();
    int[][] rowsOf = DataFiles.placesByNumber(numbers, count);
    List<PartitionReport> partitions = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      if (filesOf[number].length > 0) {
        partitions.add(partition(number, filesOf[number], rows.sample().take(rowsOf[number])));
      }
    }
    return partitions;
  }

  private PartitionReport partition(int number, int[] places, Sample sample) {
    DataFiles own = files.take(places);
    Overlap ofFiles = overlap.take(places);
    SampledGroup group = groups.get(number);
    Map<String, Double> current = new LinkedHashMap<>();
    Map<String, Double> attainable = new LinkedHashMap<>();
    for (int place = 0; place < columns.size(); place++) {
      String name = columns.get(place).name();
      Double read = scanFraction(own, sample, place);
      // Of one file nothing is skipped; most partitions are of one, and a prediction takes a while.
      Double best = group.layout().files() > 1 ? prediction(List.of(group), place) : read == null || read == 0 ? read : (Double) 1.0;
      putGiven(current, name, read);
      putGiven(attainable, name, best);
    }
    return new PartitionReport(
        facts.partitionNames().get(number),
        own.count(),
        (int) Arrays.stream(places).filter(file -> constant[file]).count(),
        own.bytes(),
        own.allRows(),
        ofFiles.averageOverlaps(),
        ofFiles.averageDepth(own.rows()),
        current,
        attainable);
  }

  private static void putGiven(Map<String, Double> map, String name, Double value) {
    if (value != null) {
      map.put(name, value);
    }
  }

  private static Double scanFraction(DataFiles files, Sample sample, int place) {
    ColumnBounds bounds = files.columns().get(place);
    if (bounds.isAnyBounded()) {
      return ScanFraction.ofRows(bounds, files.sizes(), sample.columns().get(place));
    }
    boolean isRead = IntStream.range(0, files.count()).anyMatch(bounds::hasValues) && files.bytes() > 0;
    return isRead ? (Double) 1.0 : null;
  }

  private static Double prediction(Collection<SampledGroup> groups, int place) {
    if (groups.isEmpty()) {
      return null;
    }
    double prediction = ScanPrediction.of(List.copyOf(groups), place, UnaryOperator.identity());
    return Double.isNaN(prediction) ? null : (Double) prediction;
  }

  private static Double share(long[] sizes, boolean[] read) {
    long total = Arrays.stream(sizes).sum();
    return total == 0 ? null : (Double) ((double) sum(sizes, read) / (double) total);
  }

  private static int count(boolean[] flags) {
    return (int) IntStream.range(0, flags.length).filter(place -> flags[place]).count();
  }

  private static long sum(long[] values, boolean[] which) {
    return IntStream.range(0, values.length).filter(place -> which[place]).mapToLong(place -> values[place]).sum();
  }

  /** How many bytes fewer filters on all columns are expected to read after a rewrite. */
  private static double saved(PartitionReport partition) {
    double less = 0;
    for (Map.Entry<String, Double> each : partition.scanFractions().entrySet()) {
      less += each.getValue() - partition.attainable().getOrDefault(each.getKey(), each.getValue());
    }
    // Negative zero would come after zero.
    return less * partition.bytes() + 0.0;
  }

  /** Finds the files that have one value, or none, in each column. */
  private static boolean[] constant(DataFiles files) {
    boolean[] found = new boolean[files.count()];
    Arrays.fill(found, true);
    for (ColumnBounds bounds : files.columns()) {
      Ranks ranks = Ranks.among(bounds.lower(), bounds.upper());
      int[] lower = ranks.of(bounds.lower());
      int[] upper = ranks.of(bounds.upper());
      for (int file = 0; file < found.length; file++) {
        // A file with a value and NULLs has two.
        boolean isOne = bounds.isBounded(file) && bounds.valued()[file] == 1 && lower[file] == upper[file];
        found[file] &= isOne || !bounds.hasValues(file);
      }
    }
    return found;
  }
}
