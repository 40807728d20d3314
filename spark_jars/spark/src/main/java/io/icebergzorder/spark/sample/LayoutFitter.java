package io.icebergzorder.spark.sample;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.MetricsCheck.GroupKeys;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.SampledRowGroups;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.core.upkeep.UpkeepRequest.AskedQueries;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.internals.FailureStreak;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.PhysicalTypeCheck;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.measure.ConditionReads;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.RowOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Samples the file groups of a plan and fits a layout to each. The keys stay in the driver's memory until the commit. */
public final class LayoutFitter {
  private static final Logger LOG = LoggerFactory.getLogger(LayoutFitter.class);

  private final RewriteSession session;
  private final TablePlan plan;
  private final Table table;
  private final RowOrder order;
  private final KeptBounds kept;
  private final int[] keyLengths;
  private final ConditionReads queries;

  public LayoutFitter(RewriteSession session, TablePlan plan) {
    this.session = session;
    this.plan = plan;
    this.table = plan.target().table();
    this.order = plan.order();
    this.kept = KeptBounds.of(table, order.named());
    this.keyLengths = Sampler.keyLengths(kept, plan.options().layout().fixesMetrics(), order, mostRows());
    this.queries = ConditionReads.ofWorkload(plan);
  }

  /** Fits the layouts. With partial progress a file group that cannot be read is left out, with the reason. */
  public FittedLayouts fitted() throws InterruptedException {
    Map<PlannedGroup, Throwable> failures = new LinkedHashMap<>();
    boolean failAlone = plan.options().partialProgress().isPresent();
    FailureStreak streak = new FailureStreak();
    return fitted(
        scans -> failAlone ? drawnApart(scans, failures, streak) : drawn(scans),
        failures,
        "Cannot complete the rewrite of %s, because sampling failed: %s. Nothing was committed.");
  }

  public FittedLayouts predicted() throws InterruptedException {
    return fitted(this::drawn, Map.of(), "Cannot sample %s, because %s. Nothing was written.");
  }

  /** Samples, looks at bounds, and chooses among the layouts; what is refused is no failure of any of it. */
  private FittedLayouts fitted(Function<List<GroupScan>, List<Sampler.Drawn>> draw, Map<PlannedGroup, Throwable> failures, String stopped) throws InterruptedException {
    PhysicalTypeCheck.check(session, table, plan.inputFiles());
    Map<PlannedGroup, SampledLayout> layouts = orStopped(stopped, () -> layouts(draw));
    MetricsFindings metrics =
        MetricsFindings.of(plan, kept, place -> layouts.values().stream().map(each -> each.keys(place)).iterator());
    LayoutChoice choice = new LayoutChoice(plan, metrics, this::fit);
    Map<PlannedGroup, ScanPrediction.SampledGroup> sampled = new LinkedHashMap<>();
    layouts.forEach((group, each) -> sampled.put(group, each.toPredictFrom()));
    return orStopped(stopped, () -> choice.of(sampled, keyLengths, failures));
  }

  /** Does some work; if it stops, that is told by a message that takes the table's name and the reason. */
  private <T> T orStopped(String message, Supplier<T> work) throws InterruptedException {
    try {
      return work.get();
    } catch (Throwable e) {
      // Spark throws it undeclared.
      if (e instanceof InterruptedException interruption) {
        throw interruption;
      }
      throw new RuntimeException(String.format(message, table.name(), Failures.rootMessage(e)), e);
    }
  }

  private record SampledLayout(Sampler.Drawn sample, Layout layout) {
    PlannedGroup group() {
      return sample.scan().group();
    }

    /** Whether the row groups that were read turn out to be clusters, so that more of them must be read. */
    boolean isOfClusters() {
      return sample.scan().rowGroups().isPresent()
          && SampledRowGroups.areClusters(layout, sample.fitted(), sample.rowGroups());
    }

    /** How its sampled rows lie in a column of strings or binaries. */
    GroupKeys keys(int place) {
      return GroupKeys.of(layout, sample.fitted(), place, sample.tails().get(place));
    }

    /** The same for {@link ScanPrediction}. */
    ScanPrediction.SampledGroup toPredictFrom() {
      return new ScanPrediction.SampledGroup(layout, sample.fitted(), sample.heldOut(), group().rows(), group().bytes());
    }
  }

  private Map<PlannedGroup, SampledLayout> layouts(Function<List<GroupScan>, List<Sampler.Drawn>> draw) {
    Map<PlannedGroup, SampledLayout> layouts = layouts(draw.apply(GroupScan.of(plan.groups(), plan.options().layout())));
    long seed = plan.options().layout().sampleSeed();
    List<GroupScan> clusters =
        layouts.values().stream()
            .filter(SampledLayout::isOfClusters)
            .map(layout -> layout.sample().scan().ofClusters(seed))
            .toList();
    if (!clusters.isEmpty()) {
      Map<PlannedGroup, SampledLayout> again = layouts(draw.apply(clusters));
      // One that cannot be read this time has no layout any more.
      clusters.forEach(scan -> layouts.computeIfPresent(scan.group(), (group, sparse) -> again.get(group)));
    }
    return layouts;
  }

  private Layout fit(PlannedGroup group, Sample sample, int files) {
    LayoutRequest request = order.layoutRequest(plan.options().layout(), files);
    if (plan.workload().isEmpty()) {
      return Layout.fit(order.all(), sample, request);
    }
    // A query that the group's partition rules out says nothing of how its files are best cut.
    AskedQueries asked = plan.workload().get().asked(queries.asked(group));
    return Layout.fit(order.all(), sample, request, asked::boxesIn, asked.share());
  }

  private Map<PlannedGroup, SampledLayout> layouts(List<Sampler.Drawn> drawn) {
    Map<PlannedGroup, SampledLayout> layouts = new LinkedHashMap<>();
    for (Sampler.Drawn sample : drawn) {
      PlannedGroup group = sample.scan().group();
      layouts.put(group, new SampledLayout(sample, fit(group, sample.fitted(), group.expectedFiles())));
    }
    return layouts;
  }

  private List<Sampler.Drawn> drawn(List<GroupScan> scans) {
    String description =
        String.format(
            Locale.ROOT, "Sampling %s for %d file groups of %s", order.names(", "), scans.size(), table.name());
    Sampler sampler = new Sampler(session, table, order, keyLengths);
    return session.describing(description, () -> sampler.draw(scans, plan.options().layout().sampleSeed()));
  }

  /** Draws samples of those that can be read: which of several is to blame for the failure of their job, nobody knows. */
  private List<Sampler.Drawn> drawnApart(List<GroupScan> scans, Map<PlannedGroup, Throwable> failures, FailureStreak streak) {
    if (streak.isOver()) {
      scans.forEach(scan -> failures.put(scan.group(), streak.why()));
      return List.of();
    }
    try {
      List<Sampler.Drawn> drawn = drawn(scans);
      streak.done();
      return drawn;
    } catch (Throwable e) {
      if (Failures.isCancellation(e) || e instanceof InterruptedException || Thread.currentThread().isInterrupted()) {
        throw e;
      }
      if (scans.size() == 1) {
        failures.put(scans.get(0).group(), e);
        streak.failed(e);
        return List.of();
      }
      LOG.warn("Sampling {} file groups of {} apart, because one failed", scans.size(), table.name(), e);
    }
    int middle = scans.size() / 2;
    List<Sampler.Drawn> drawn = new ArrayList<>(drawnApart(scans.subList(0, middle), failures, streak));
    drawn.addAll(drawnApart(scans.subList(middle, scans.size()), failures, streak));
    return drawn;
  }

  /** How many rows are sampled at most, of all file groups: no more than there are, and one if there are none. */
  private long mostRows() {
    long wanted = GroupScan.rows(plan.groups(), plan.options().layout());
    return Math.max(1, Math.min(wanted, plan.groups().stream().mapToLong(PlannedGroup::rows).sum()));
  }
}
