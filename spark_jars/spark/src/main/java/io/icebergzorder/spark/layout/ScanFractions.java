package io.icebergzorder.spark.layout;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.LaidOutSample;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ColumnBounds;
import io.icebergzorder.core.metrics.NewFiles;
import io.icebergzorder.core.metrics.ScanCost;
import io.icebergzorder.core.metrics.ScanMeasurement;
import io.icebergzorder.core.metrics.ScanMeasurement.FilterRead;
import io.icebergzorder.core.metrics.ScanMeasurement.MeasuredFiles;
import io.icebergzorder.core.metrics.SpreadRows;
import io.icebergzorder.core.select.Gain;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.FileScope;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;

/**
 * Measures the reads of filters {@code column = value}, and of a workload's queries, on a plan's file groups. A single group is measured
 * alone, and judged by the values of its partition; several groups are measured together with the files that the plan leaves.
 */
public final class ScanFractions {
  private final TablePlan plan;
  private final ResolvedSortOrder order;
  private final KeptBounds kept;
  private final int[] keyLengths;
  private final ConditionReads queries;
  private final FileBounds today;
  private List<MeasuredFiles> left = List.of();
  private BytesRead readOfLeft;

  /** The average cost of a filter in bytes, today and as predicted; NaN if no sampled row has a value. */
  record Costs(double today, double predicted) {
    static final Costs UNKNOWN = new Costs(Double.NaN, Double.NaN);

    /** Whether filters are predicted to cost enough less; true if that is unknown. */
    boolean gain() {
      return Double.isNaN(today) || ScanCost.isLess(today, predicted);
    }
  }

  /** Reads manifests, if the plan was not made from the bounds of files. */
  ScanFractions(TablePlan plan, KeptBounds kept, int[] keyLengths, ConditionReads queries) {
    this.plan = plan;
    this.order = plan.order();
    this.kept = kept;
    this.keyLengths = keyLengths;
    this.queries = queries;
    this.today = plan.boundsOrRead();
  }

  /** Measures groups by their samples, in their order. Manifests are read for the queries of a workload. */
  List<SampledGroup> groups(Map<FileGroup, PlanSampler.Sampled> samples) {
    Map<FileGroup, BytesRead> read = queries.today(samples.keySet());
    Map<FileGroup, MeasuredFiles> outside = plan.workload().isPresent() ? Map.of() : valuesOutside(plan.groups());
    return samples.keySet().stream()
        .map(group -> measured(group, samples.get(group).laidOut(), read.get(group), Optional.ofNullable(outside.get(group))))
        .toList();
  }

  /** The made-up rows of each group's partition outside of it, without files. Groups that are all of theirs, or of several, have none. */
  private Map<FileGroup, MeasuredFiles> valuesOutside(List<FileGroup> groups) {
    Map<Integer, List<String>> locations = new HashMap<>();
    for (String location : today.locations().stream().sorted(FileScope.BY_BYTES).toList()) {
      locations.computeIfAbsent(today.partition(location).orElseThrow(), number -> new ArrayList<>()).add(location);
    }
    Map<FileGroup, Integer> parts = new LinkedHashMap<>();
    for (FileGroup group : groups) {
      Set<Integer> found = group.locations().stream().map(today::partition).flatMap(Optional::stream).collect(Collectors.toSet());
      if (found.size() == 1 && locations.get(found.iterator().next()).size() > group.files().size()) {
        parts.put(group, found.iterator().next());
      }
    }
    int[] numbers = parts.values().stream().distinct().mapToInt(Integer::intValue).toArray();
    int[] rows = Gain.rowsToSpread(Arrays.stream(numbers).map(number -> locations.get(number).size()).toArray());
    Map<FileGroup, MeasuredFiles> outside = new HashMap<>();
    for (int place = 0; place < numbers.length; place++) {
      int number = numbers[place];
      List<String> all = locations.get(number);
      BoundedFiles files = cut(today.of(all));
      SpreadRows spread = SpreadRows.of(files, rows[place]);
      for (Map.Entry<FileGroup, Integer> part : parts.entrySet()) {
        if (part.getValue() == number) {
          Set<String> mine = new HashSet<>(part.getKey().locations());
          int[] others = IntStream.range(0, spread.places().length).filter(row -> !mine.contains(all.get(spread.places()[row]))).toArray();
          long rowsOutside = IntStream.range(0, all.size()).filter(i -> !mine.contains(all.get(i))).mapToLong(i -> files.rows()[i]).sum();
          outside.put(part.getKey(), new MeasuredFiles(files.take(new int[0]), spread.sample().take(others), rowsOutside));
        }
      }
    }
    return outside;
  }

  /** Filters look for the values of the group, and to judge the gain also for those outside of it, as the choice of files did. */
  private SampledGroup measured(FileGroup group, LaidOutSample sample, BytesRead read, Optional<MeasuredFiles> outside) {
    BoundedFiles files = cut(today.of(group.locations()));
    BoundedFiles planned = newFiles(sample);
    TableReads before = reads(List.of(new MeasuredFiles(files, sample)), false);
    TableReads predicted = reads(List.of(new MeasuredFiles(planned, sample)), true);
    BytesRead willRead = queries.predicted(group, planned);
    TableReads allBefore = outside.map(values -> reads(List.of(new MeasuredFiles(files, sample), values), false)).orElse(before);
    TableReads allPredicted = outside.map(values -> reads(List.of(new MeasuredFiles(planned, sample), values), true)).orElse(predicted);
    Costs costs = costs(allBefore, allPredicted, read, willRead);
    return new SampledGroup(group, sample, files, planned, before, predicted, read, willRead, costs);
  }

  private Costs costs(TableReads before, TableReads predicted, BytesRead read, BytesRead willRead) {
    long openCost = ScanCost.openCost(plan.target().table().properties());
    double planning = ScanCost.ofPlanning(before.files(), openCost);
    double planningOfNew = ScanCost.ofPlanning(predicted.files(), openCost);
    if (plan.workload().isPresent()) {
      double[] ofQueries = plan.workload().get().weights();
      return new Costs(read.cost(ofQueries, openCost) + planning, willRead.cost(ofQueries, openCost) + planningOfNew);
    }
    // The same values are looked for before and after.
    int[] known = IntStream.range(0, order.named().size()).filter(i -> before.byColumn().containsKey(name(i))).toArray();
    if (known.length == 0) {
      return Costs.UNKNOWN;
    }
    double[] weights = IntStream.of(known).mapToDouble(order::weight).toArray();
    double[] old = IntStream.of(known).mapToDouble(i -> before.cost(name(i), openCost) + planning).toArray();
    double[] made = IntStream.of(known).mapToDouble(i -> predicted.cost(name(i), openCost) + planningOfNew).toArray();
    return new Costs(ScanCost.mean(old, weights), ScanCost.mean(made, weights));
  }

  private String name(int place) {
    return order.named().get(place).name();
  }

  /** Has file groups measured among all other files from now on, whose rows are spread between their bounds. */
  void leaveAllBut(Collection<SampledGroup> chosen, Collection<SampledGroup> notChosen) {
    Set<String> others = new TreeSet<>(FileScope.BY_BYTES);
    others.addAll(today.locations());
    chosen.forEach(each -> each.group().locations().forEach(others::remove));
    BoundedFiles files = cut(today.of(List.copyOf(others)));
    if (files.count() > 0) {
      SpreadRows spread = SpreadRows.of(files, SpreadRows.rowsFor(files.count()));
      left = List.of(new MeasuredFiles(files, spread.sample(), files.allRows()));
    }
    readOfLeft = sum(Stream.concat(Stream.of(queries.others()), notChosen.stream().map(SampledGroup::readBefore)));
  }

  /** The files that a layout is predicted to make, with what will be kept of bounds. A partition field has no bounds of its own. */
  private BoundedFiles newFiles(LaidOutSample sample) {
    BoundedFiles made = NewFiles.of(sample, order.all());
    List<ColumnBounds> named = made.columns().stream().skip(order.partition().size())
        .map(bounds -> kept.areKept(bounds.column()) ? bounds : bounds.unbounded()).toList();
    return new BoundedFiles(made.partitions(), made.rows(), made.sizes(), named);
  }

  /** New files, to be measured. */
  public BoundedFiles written(Collection<DataFile> files) {
    return cut(new FileBounds(order.named(), plan.target().table(), files::forEach).all());
  }

  /** Cuts bounds as the keys of samples are, which would else look smaller than the lower bound of their own file. */
  private BoundedFiles cut(BoundedFiles files) {
    List<ColumnBounds> cut = IntStream.range(0, files.columns().size())
        .mapToObj(i -> files.columns().get(i).cut(keyLengths[order.partition().size() + i])).toList();
    return new BoundedFiles(files.partitions(), files.rows(), files.sizes(), cut);
  }

  /** Measures today's files of file groups. */
  public TableReads before(Collection<SampledGroup> groups) {
    return reads(groups.stream().map(each -> new MeasuredFiles(each.today(), each.sample())).toList(), false);
  }

  /** Predicts what is read of the new files of file groups. */
  public TableReads predicted(Collection<SampledGroup> groups) {
    return reads(groups.stream().map(each -> new MeasuredFiles(each.planned(), each.sample())).toList(), true);
  }

  /** Measures files by their bounds, or planned ones by what will be kept of them. */
  public TableReads reads(List<MeasuredFiles> groups, boolean arePlanned) {
    if (groups.isEmpty()) {
      return TableReads.NONE;
    }
    List<MeasuredFiles> all = Stream.concat(groups.stream(), left.stream()).toList();
    List<ClusteringColumn> columns = order.named();
    FilterRead[] reads =
        IntStream.range(0, columns.size())
            .parallel()
            .mapToObj(i -> ScanMeasurement.of(all, i, arePlanned ? kept.kept(columns.get(i)) : UnaryOperator.identity()))
            .toArray(FilterRead[]::new);
    Map<String, FilterRead> found = new LinkedHashMap<>();
    for (int i = 0; i < reads.length; i++) {
      if (reads[i] != null) {
        found.put(columns.get(i).name(), reads[i]);
      }
    }
    return new TableReads(
        all.stream().mapToInt(each -> each.files().count()).sum(), all.stream().mapToLong(each -> each.files().bytes()).sum(), found);
  }

  /** What the queries of the workload read of new files. */
  public BytesRead read(Collection<DataFile> files) {
    return queries.made(files);
  }

  /** What the queries of the workload read of some files and of those that are left. */
  BytesRead readWithLeft(Stream<BytesRead> parts) {
    return sum(Stream.concat(parts, Stream.of(readOfLeft)));
  }

  private BytesRead sum(Stream<BytesRead> parts) {
    return BytesRead.sum(plan.workload().map(each -> each.queries().size()).orElse(0), parts);
  }
}
