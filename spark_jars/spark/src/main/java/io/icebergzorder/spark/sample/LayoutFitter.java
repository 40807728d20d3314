package io.icebergzorder.spark.sample;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Clusters;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.spark.internals.JobDescription;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.RowOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.iceberg.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Samples the file groups of a plan and fits a layout to each. */
public final class LayoutFitter {
  private static final Logger LOG = LoggerFactory.getLogger(LayoutFitter.class);

  private final RewriteSession session;
  private final TablePlan plan;
  private final Table table;
  private final RowOrder order;

  /** Takes a plan with at least one file group, and the session to sample in. */
  public LayoutFitter(RewriteSession session, TablePlan plan) {
    this.session = session;
    this.plan = plan;
    this.table = plan.target().table();
    this.order = plan.order();
  }

  /** Fits the layouts. */
  public FittedLayouts fitted() {
    return new FittedLayouts(layouts(1).stream().map(SampledLayout::layout).toList(), List.of(), Map.of());
  }

  /** Fits the same layouts, and predicts scan fractions by as many rows more. */
  public FittedLayouts predicted() {
    List<SampledLayout> sampled = layouts(2);
    List<ScanPrediction.SampledGroup> groups = new ArrayList<>();
    for (int i = 0; i < sampled.size(); i++) {
      PlannedGroup group = plan.groups().get(i);
      Sampler.Drawn sample = sampled.get(i).sample();
      groups.add(
          new ScanPrediction.SampledGroup(
              sampled.get(i).layout(), sample.fitted(), sample.heldOut(), group.rows(), group.bytes()));
    }
    return new FittedLayouts(
        sampled.stream().map(SampledLayout::layout).toList(),
        groups.stream().map(group -> scanFractions(List.of(group))).toList(),
        scanFractions(groups));
  }

  /** A layout, and the sample that it is fitted to. */
  private record SampledLayout(Sampler.Drawn sample, Layout layout) {
    /** Whether the row groups that were read turn out to be clusters, so that more of them must be read. */
    boolean isOfClusters() {
      return sample.scan().rowGroups().isPresent()
          && Clusters.areClusters(layout, sample.fitted(), sample.rowGroups());
    }
  }

  private List<SampledLayout> layouts(int samples) {
    List<SampledLayout> layouts = new ArrayList<>(layouts(GroupScan.of(plan.groups(), plan.options().layout()), samples));
    int[] clusters = IntStream.range(0, layouts.size()).filter(i -> layouts.get(i).isOfClusters()).toArray();
    if (clusters.length > 0) {
      long seed = plan.options().layout().sampleSeed();
      List<GroupScan> scans =
          Arrays.stream(clusters).mapToObj(i -> layouts.get(i).sample().scan().ofClusters(seed)).toList();
      List<SampledLayout> again = layouts(scans, samples);
      for (int i = 0; i < clusters.length; i++) {
        layouts.set(clusters[i], again.get(i));
      }
    }
    TruncatedBounds.warn(table, order, layouts.stream().map(layout -> layout.sample().fitted()).toList());
    warnOfLeftOut(layouts.stream().map(SampledLayout::layout).toList());
    return layouts;
  }

  private List<SampledLayout> layouts(List<GroupScan> scans, int samples) {
    String description =
        String.format(
            Locale.ROOT, "Sampling %s for %d file groups of %s", order.names(", "), scans.size(), table.name());
    Sampler sampler = new Sampler(session, table, order, mostRows());
    List<Sampler.Drawn> drawn =
        new JobDescription(session.spark())
            .during(description, () -> sampler.draw(scans, plan.options().layout().sampleSeed(), samples));
    return drawn.stream()
        .map(sample -> new SampledLayout(sample, Layout.fit(order.all(), sample.fitted(), request(sample))))
        .toList();
  }

  /** How many rows are sampled at most, of all file groups: no more than there are, and one if there are none. */
  private long mostRows() {
    long wanted = GroupScan.rows(plan.groups(), plan.options().layout());
    return Math.max(1, Math.min(wanted, plan.groups().stream().mapToLong(PlannedGroup::rows).sum()));
  }

  private LayoutRequest request(Sampler.Drawn sample) {
    ZOrderOptions wanted = plan.options().layout();
    return new LayoutRequest(
        sample.scan().group().expectedFiles(),
        wanted.cuts(),
        order.curve(),
        order.leadingOrders(),
        wanted.maxBoundaries(),
        wanted.sizeTolerance(),
        order.weights());
  }

  /** By column name, those without a value left out. */
  private Map<String, Double> scanFractions(List<ScanPrediction.SampledGroup> groups) {
    Map<String, Double> fractions = new LinkedHashMap<>();
    List<ClusteringColumn> columns = order.all();
    for (int i = order.partition().size(); i < columns.size(); i++) {
      ClusteringColumn column = columns.get(i);
      double fraction = ScanPrediction.of(groups, i, TruncatedBounds.kept(table, column));
      if (!Double.isNaN(fraction)) {
        fractions.put(column.name(), fraction);
      }
    }
    return Collections.unmodifiableMap(fractions);
  }

  /** Warns of columns that separate nothing in any file group. */
  private void warnOfLeftOut(List<Layout> layouts) {
    for (ClusteringColumn column : order.named()) {
      long groups = layouts.stream().filter(layout -> layout.leftOut().contains(column.name())).count();
      if (groups == layouts.size()) {
        LOG.warn(
            "Left clustering column {} of {} out: it has one value only, only NULLs, or long values that begin alike",
            column.name(), table.name());
      } else if (groups > 0) {
        LOG.info(
            "Left clustering column {} of {} out in {} of {} file groups: it has one value only there",
            column.name(), table.name(), groups, layouts.size());
      }
    }
  }
}
