package io.icebergzorder.spark.sample;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.spark.internals.JobDescription;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.RowOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
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
    List<Sample> samples = sampled(sampler()::sample);
    return new FittedLayouts(layouts(samples), List.of(), Map.of());
  }

  /** Fits the same layouts, and predicts scan fractions by as many rows more. */
  public FittedLayouts predicted() {
    List<Sampler.Halves> samples = sampled(sampler()::halves);
    List<Layout> layouts = layouts(samples.stream().map(Sampler.Halves::fitted).toList());
    List<ScanPrediction.SampledGroup> groups = new ArrayList<>();
    for (int i = 0; i < layouts.size(); i++) {
      PlannedGroup group = plan.groups().get(i);
      Sampler.Halves sample = samples.get(i);
      groups.add(
          new ScanPrediction.SampledGroup(layouts.get(i), sample.fitted(), sample.heldOut(), group.rows(), group.bytes()));
    }
    return new FittedLayouts(
        layouts, groups.stream().map(group -> scanFractions(List.of(group))).toList(), scanFractions(groups));
  }

  private Sampler sampler() {
    return new Sampler(session, table, order);
  }

  /** How samples are drawn of file groups. */
  private interface Draw<T> {
    List<T> of(List<PlannedGroup> groups, ZOrderOptions options);
  }

  private <T> List<T> sampled(Draw<T> draw) {
    String description =
        String.format(
            Locale.ROOT, "Sampling %s for %d file groups of %s", order.names(", "), plan.groups().size(), table.name());
    return new JobDescription(session.spark())
        .during(description, () -> draw.of(plan.groups(), plan.options().layout()));
  }

  private List<Layout> layouts(List<Sample> samples) {
    TruncatedBounds.warn(table, order, samples);
    List<Layout> layouts = new ArrayList<>();
    for (int i = 0; i < samples.size(); i++) {
      layouts.add(Layout.fit(order.all(), samples.get(i), request(plan.groups().get(i).expectedFiles())));
    }
    warnOfLeftOut(layouts);
    return layouts;
  }

  private LayoutRequest request(int files) {
    ZOrderOptions wanted = plan.options().layout();
    return new LayoutRequest(
        files,
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
