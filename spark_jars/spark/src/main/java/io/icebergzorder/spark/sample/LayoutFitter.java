package io.icebergzorder.spark.sample;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.MetricsCheck.GroupKeys;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.SampledRowGroups;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.core.upkeep.Regions;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.internals.FailureStreak;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.JobDescription;
import io.icebergzorder.spark.internals.PhysicalTypeCheck;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.measure.ConditionReads;
import io.icebergzorder.spark.measure.GroupBounds;
import io.icebergzorder.spark.measure.ScanMeans;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.queries.Workload;
import io.icebergzorder.spark.request.RowOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Samples the file groups of a plan and fits a layout to each.
 *
 * <p>The keys stay in the driver's memory until the rewrite is committed: of twice as many rows as option {@code sample-rows} says, of
 * all file groups together (and of two rows a group at least), so of 2,000,000 by default at most. A key takes 9 bytes, or some 24 and
 * those that {@link io.icebergzorder.core.Keys#sampledBytes} leaves of a text.
 */
public final class LayoutFitter {
  private static final Logger LOG = LoggerFactory.getLogger(LayoutFitter.class);

  private final RewriteSession session;
  private final TablePlan plan;
  private final Table table;
  private final RowOrder order;
  private final KeptBounds kept;
  private final int[] keyLengths;
  private final ConditionReads queries;

  /** Takes a plan with at least one file group, and the session to sample in. */
  public LayoutFitter(RewriteSession session, TablePlan plan) {
    this.session = session;
    this.plan = plan;
    this.table = plan.target().table();
    this.order = plan.order();
    this.kept = KeptBounds.of(table, order.named());
    this.keyLengths = Sampler.keyLengths(kept, plan.options().layout().fixesMetrics(), order, mostRows());
    this.queries = ScanMeans.reads(plan);
  }

  /**
   * Fits the layouts. With partial progress a file group that cannot be read is left out, with the reason.
   *
   * @throws IllegalArgumentException if bounds do not serve, and the options say that this is refused, or no reader in Spark makes the
   *     right values of a file
   * @throws InterruptedException if this thread was interrupted
   * @throws RuntimeException if sampling failed as a whole, or was cancelled; the message says that nothing was committed
   */
  public FittedLayouts fitted() throws InterruptedException {
    Map<PlannedGroup, Throwable> failures = new LinkedHashMap<>();
    boolean failAlone = plan.options().partialProgress().isPresent();
    FailureStreak streak = new FailureStreak();
    return fitted(
        scans -> failAlone ? drawnApart(scans, failures, streak) : drawn(scans),
        failures,
        "Cannot complete the rewrite of %s, because sampling failed: %s. Nothing was committed.");
  }

  /**
   * Fits the same layouts, to be looked at.
   *
   * @throws IllegalArgumentException if bounds do not serve, and the options say that this is refused, or no reader in Spark makes the
   *     right values of a file
   * @throws InterruptedException if this thread was interrupted
   * @throws RuntimeException if a file group cannot be read, or sampling was cancelled
   */
  public FittedLayouts predicted() throws InterruptedException {
    return fitted(this::drawn, Map.of(), "Cannot sample %s, because %s. Nothing was written.");
  }

  /** Samples, looks at bounds, and chooses among the layouts; what is refused is no failure of any of it. */
  private FittedLayouts fitted(Draw draw, Map<PlannedGroup, Throwable> failures, String stopped) throws InterruptedException {
    PhysicalTypeCheck.check(session, table, plan.inputFiles());
    Collection<SampledLayout> layouts = orStopped(stopped, () -> layouts(draw));
    MetricsFindings metrics =
        MetricsFindings.of(plan, kept, place -> layouts.stream().map(each -> each.keys(place)).iterator());
    LayoutChoice choice = new LayoutChoice(plan, metrics, this::fit);
    Map<PlannedGroup, ScanPrediction.SampledGroup> sampled = byGroup(layouts, SampledLayout::toPredictFrom);
    return orStopped(stopped, () -> choice.of(sampled, () -> new GroupBounds(table, order, keyLengths), failures));
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

  private static <T> Map<PlannedGroup, T> byGroup(Collection<SampledLayout> layouts, Function<SampledLayout, T> value) {
    Map<PlannedGroup, T> values = new LinkedHashMap<>();
    layouts.forEach(each -> values.put(each.group(), value.apply(each)));
    return values;
  }

  /** A layout, and the sample that it is fitted to. */
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

  /** Draws samples of file groups, in their order. */
  private interface Draw {
    List<Sampler.Drawn> of(List<GroupScan> scans);
  }

  private Collection<SampledLayout> layouts(Draw draw) {
    Map<PlannedGroup, SampledLayout> layouts = layouts(draw.of(GroupScan.of(plan.groups(), plan.options().layout())));
    long seed = plan.options().layout().sampleSeed();
    List<GroupScan> clusters =
        layouts.values().stream()
            .filter(SampledLayout::isOfClusters)
            .map(layout -> layout.sample().scan().ofClusters(seed))
            .toList();
    if (!clusters.isEmpty()) {
      Map<PlannedGroup, SampledLayout> again = layouts(draw.of(clusters));
      // One that cannot be read this time has no layout any more.
      clusters.forEach(scan -> layouts.computeIfPresent(scan.group(), (group, sparse) -> again.get(group)));
    }
    tellOfLeftOut(layouts.values().stream().map(SampledLayout::layout).toList());
    return layouts.values();
  }

  private Layout fit(PlannedGroup group, Sample sample, int files) {
    LayoutRequest request =
        Regions.narrowed(order.layoutRequest(plan.options().layout(), files), group.spans(), order.prefix().size());
    if (plan.workload().isEmpty()) {
      return Layout.fit(order.all(), sample, request);
    }
    // A query that the group's partition rules out says nothing of how its files are best cut.
    Workload workload = plan.workload().get();
    boolean[] asked = queries.asked(group);
    return Layout.fit(order.all(), sample, request, uncut -> workload.boxes(uncut.columns(), asked), workload.share());
  }

  private Map<PlannedGroup, SampledLayout> layouts(List<Sampler.Drawn> drawn) {
    return byGroup(
        drawn.stream()
            .map(sample -> new SampledLayout(sample, fit(sample.scan().group(), sample.fitted(), sample.scan().group().expectedFiles())))
            .toList(),
        layout -> layout);
  }

  private List<Sampler.Drawn> drawn(List<GroupScan> scans) {
    String description =
        String.format(
            Locale.ROOT, "Sampling %s for %d file groups of %s", order.names(", "), scans.size(), table.name());
    Sampler sampler = new Sampler(session, table, order, keyLengths);
    return new JobDescription(session.spark())
        .during(description, () -> sampler.draw(scans, plan.options().layout().sampleSeed()));
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

  /** Tells of columns that separate nothing in some file groups. */
  private void tellOfLeftOut(List<Layout> layouts) {
    for (ClusteringColumn column : order.named()) {
      long groups = layouts.stream().filter(layout -> layout.leftOut().contains(column.name())).count();
      if (groups > 0 && groups < layouts.size()) {
        LOG.info(
            "Left clustering column {} of {} out in {} of {} file groups: it has one value only there",
            column.name(), table.name(), groups, layouts.size());
      }
    }
  }
}
