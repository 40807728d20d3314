package io.icebergzorder.spark.layout;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Reason;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.LaidOutSample;
import io.icebergzorder.core.metrics.ScanCost;
import io.icebergzorder.core.metrics.ScanMeasurement.MeasuredFiles;
import io.icebergzorder.core.metrics.SpreadRows;
import io.icebergzorder.core.select.Gain;
import io.icebergzorder.core.select.UpkeepRequest.AskedQueries;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.layout.ScanFractions.TableReads;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.LeftGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.FileScope;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import io.icebergzorder.spark.spec.Workload;
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
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Fits a layout to each file group of a plan, compares predictions with today, and drops groups that would not gain. Each group is judged
 * alone, by the values of its partition; those that are rewritten are measured together with the files that the plan leaves.
 */
public final class LayoutFitter {
  private final CatalogTable target;
  private final TablePlan plan;
  private final ResolvedSortOrder order;
  private final ConditionReads queries;

  public LayoutFitter(CatalogTable target, TablePlan plan) {
    this.target = target;
    this.plan = plan;
    this.order = plan.order();
    this.queries = new ConditionReads(target, plan.workload().map(Workload::conditions).orElse(List.of()));
  }

  /** Fits the layout of a group. */
  Layout fit(FileGroup group, Sample sample) {
    LayoutRequest request = order.layoutRequest(plan.options().layout(), group.expectedFiles(), group.extents());
    Layout uncut = Layout.uncut(order.all(), sample, request);
    if (plan.workload().isEmpty()) {
      return uncut.cut(sample, request, null, 0);
    }
    // A query that the group's partition rules out says nothing of how its files are best cut.
    AskedQueries asked = plan.workload().get().asked(queries.asked(group));
    return uncut.cut(sample, request, asked.boxesIn(uncut), asked.share());
  }

  /** Chooses among the layouts of sampled file groups. Reads manifests, if the plan was not made from bounds, and for queries. */
  public SampledPlan choose(PlanSampler sampler, Map<FileGroup, PlanSampler.Sampled> samples, MetricsFindings metrics) {
    FileBounds today = plan.boundsOrRead(target.table());
    ScanFractions alone = new ScanFractions(order, metrics.ofNewFiles(), sampler.keyLengths(), List.of());
    Map<FileGroup, SampledGroup> chosen = new LinkedHashMap<>();
    List<SampledGroup> notChosen = new ArrayList<>();
    for (SampledGroup each : measured(alone, today, samples)) {
      if (plan.mayLeave(each.group()) && !each.gains()) {
        notChosen.add(each);
      } else {
        chosen.put(each.group(), each.tightened());
      }
    }
    ScanFractions measure =
        new ScanFractions(order, alone.kept(), alone.keyLengths(), rest(alone, today, chosen.keySet()));
    Stream<BytesRead> readOfRest = Stream.concat(Stream.of(queries.others()), notChosen.stream().map(SampledGroup::readBefore));
    List<LeftGroup> withoutGain =
        notChosen.stream().map(each -> LeftGroup.of(target.table(), each.group().files(), whyLeft(each))).toList();
    Map<FileGroup, Throwable> failures = sampler.failures();
    boolean isNothing = chosen.isEmpty() && failures.isEmpty();
    TableReads before = measure.before(chosen.values());
    TableReads predicted = measure.predicted(chosen.values());
    return new SampledPlan(
        plan,
        chosen,
        failures,
        Stream.concat(plan.left().stream(), withoutGain.stream()).toList(),
        before,
        predicted,
        metrics,
        isNothing ? RewriteMessages.NONE : RewriteMessages.of(target, plan, before, predicted, chosen.values()),
        isNothing ? whyNothing(withoutGain) : null,
        measure,
        BytesRead.sum(plan.workload().map(each -> each.queries().size()).orElse(0), readOfRest));
  }

  private Reason whyLeft(SampledGroup group) {
    String over = plan.workload().isPresent() ? "queries" : "columns";
    return Reason.of(
        Reason.NO_GAIN, "before", (long) Math.rint(group.costBefore()), "predicted", (long) Math.rint(group.costPredicted()), "over", over);
  }

  private String whyNothing(List<LeftGroup> left) {
    Map<String, Integer> counts = new HashMap<>();
    left.forEach(each -> counts.merge(Reason.text(each.reasons()), each.dataFilesCount(), Integer::sum));
    return Reason.whyNothing(target.name(), counts) + plan.limitMessage();
  }

  /** Measures groups by their samples, in their order. */
  private List<SampledGroup> measured(ScanFractions measure, FileBounds today, Map<FileGroup, PlanSampler.Sampled> samples) {
    Map<FileGroup, BytesRead> read = queries.today(plan, samples.keySet());
    Map<FileGroup, MeasuredFiles> outside = plan.workload().isPresent() ? Map.of() : valuesOutside(measure, today);
    return samples.keySet().stream()
        .map(group -> measured(measure, today, samples.get(group).laidOut(), group, read.get(group), Optional.ofNullable(outside.get(group))))
        .toList();
  }

  /** Filters look for the values of the group, and to judge the gain also for those outside of it, as the choice of files did. */
  private SampledGroup measured(
      ScanFractions measure, FileBounds today, LaidOutSample sample, FileGroup group, BytesRead read, Optional<MeasuredFiles> outside) {
    MeasuredFiles files = new MeasuredFiles(measure.cut(today.of(group.locations())), sample);
    MeasuredFiles planned = new MeasuredFiles(measure.planned(sample), sample);
    TableReads before = measure.reads(List.of(files), false);
    TableReads predicted = measure.reads(List.of(planned), true);
    BytesRead willRead = queries.predicted(group, planned.files());
    TableReads allBefore = outside.map(values -> measure.reads(List.of(files, values), false)).orElse(before);
    TableReads allPredicted = outside.map(values -> measure.reads(List.of(planned, values), true)).orElse(predicted);
    double[] costs = costs(allBefore, allPredicted, read, willRead);
    return new SampledGroup(group, sample, files.files(), planned.files(), before, predicted, read, willRead, costs[0], costs[1]);
  }

  /** The average cost of a filter in bytes, today and as predicted; NaN if no sampled row has a value. */
  private double[] costs(TableReads before, TableReads predicted, BytesRead read, BytesRead willRead) {
    long openCost = ScanCost.openCost(target.table().properties());
    double planning = ScanCost.ofPlanning(before.files(), openCost);
    double planningOfNew = ScanCost.ofPlanning(predicted.files(), openCost);
    if (plan.workload().isPresent()) {
      double[] ofQueries = plan.workload().get().weights();
      return new double[] {read.cost(ofQueries, openCost) + planning, willRead.cost(ofQueries, openCost) + planningOfNew};
    }
    // The same values are looked for before and after.
    int[] known = IntStream.range(0, order.named().size()).filter(i -> before.byColumn().containsKey(name(i))).toArray();
    if (known.length == 0) {
      return new double[] {Double.NaN, Double.NaN};
    }
    double[] weights = IntStream.of(known).mapToDouble(order::weight).toArray();
    double[] old = IntStream.of(known).mapToDouble(i -> before.cost(name(i), openCost) + planning).toArray();
    double[] made = IntStream.of(known).mapToDouble(i -> predicted.cost(name(i), openCost) + planningOfNew).toArray();
    return new double[] {ScanCost.mean(old, weights), ScanCost.mean(made, weights)};
  }

  private String name(int place) {
    return order.named().get(place).name();
  }

  /** The made-up rows of each group's partition outside of it, without files. Groups that are all of theirs, or of several, have none. */
  private Map<FileGroup, MeasuredFiles> valuesOutside(ScanFractions measure, FileBounds today) {
    Map<Integer, List<String>> locations = new HashMap<>();
    for (String location : today.locations().stream().sorted(FileScope.BY_BYTES).toList()) {
      locations.computeIfAbsent(today.partition(location).orElseThrow(), number -> new ArrayList<>()).add(location);
    }
    Map<FileGroup, Integer> parts = new LinkedHashMap<>();
    for (FileGroup group : plan.groups()) {
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
      BoundedFiles files = measure.cut(today.of(all));
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

  /** All files but those of some groups, with rows that are spread between their bounds. */
  private static List<MeasuredFiles> rest(ScanFractions measure, FileBounds today, Collection<FileGroup> groups) {
    Set<String> others = new TreeSet<>(FileScope.BY_BYTES);
    others.addAll(today.locations());
    groups.forEach(each -> each.locations().forEach(others::remove));
    BoundedFiles files = measure.cut(today.of(List.copyOf(others)));
    return files.count() == 0
        ? List.of()
        : List.of(new MeasuredFiles(files, SpreadRows.of(files, SpreadRows.rowsFor(files.count())).sample(), files.allRows()));
  }
}
