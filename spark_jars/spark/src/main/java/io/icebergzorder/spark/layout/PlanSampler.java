package io.icebergzorder.spark.layout;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.MetricsCheck.GroupKeys;
import io.icebergzorder.core.SampledRowGroups;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.internals.FailureStreak;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.ResolvedSortOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.iceberg.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Samples the file groups of a plan. The keys stay in the driver's memory until the commit. */
public final class PlanSampler {
  private static final Logger LOG = LoggerFactory.getLogger(PlanSampler.class);

  private final RewriteSession session;
  private final TablePlan plan;
  private final LayoutFitter fitter;
  private final boolean failAlone;
  private final Table table;
  private final ResolvedSortOrder order;
  private final int[] keyLengths;
  private final Map<FileGroup, Throwable> failures = new LinkedHashMap<>();
  private final FailureStreak streak = new FailureStreak();

  /** Takes a plan, and whether a file group that cannot be read is left out, with the reason. */
  public PlanSampler(RewriteSession session, TablePlan plan, LayoutFitter fitter, boolean failAlone) {
    this.session = session;
    this.plan = plan;
    this.fitter = fitter;
    this.failAlone = failAlone;
    this.table = plan.target().table();
    this.order = plan.order();
    KeptBounds kept = KeptBounds.of(table, order.named());
    this.keyLengths = Sampler.keyLengths(kept, plan.options().layout().fixesMetrics(), order, mostRows());
  }

  /** A file group's sample, and the layout that it has as it was planned. */
  public record Sampled(Sampler.Drawn sample, Layout layout) {
    FileGroup group() {
      return sample.scan().group();
    }

    /** Whether the row groups that were read turn out to be clusters, so that more of them must be read. */
    private boolean isOfClusters() {
      return sample.scan().rowGroups().isPresent()
          && SampledRowGroups.areClusters(layout, sample.fitted(), sample.rowGroups());
    }

    /** How its sampled rows lie in a column of strings or binaries. */
    GroupKeys keys(int place) {
      return GroupKeys.of(layout, sample.fitted(), place, sample.tails().get(place));
    }

    /** The same for {@link ScanPrediction}. */
    ScanPrediction.GroupSample toPredictFrom() {
      return new ScanPrediction.GroupSample(layout, sample.fitted(), sample.heldOut(), group().rows(), group().bytes());
    }
  }

  /** Samples the file groups, in one job unless one fails. */
  public Map<FileGroup, Sampled> sample() {
    Map<FileGroup, Sampled> samples = sample(GroupScan.of(plan.groups(), plan.options().layout()));
    long seed = plan.options().layout().sampleSeed();
    List<GroupScan> clusters =
        samples.values().stream()
            .filter(Sampled::isOfClusters)
            .map(each -> each.sample().scan().ofClusters(seed))
            .toList();
    if (!clusters.isEmpty()) {
      Map<FileGroup, Sampled> again = sample(clusters);
      // One that cannot be read this time has no layout any more.
      clusters.forEach(scan -> samples.computeIfPresent(scan.group(), (group, sparse) -> again.get(group)));
    }
    return samples;
  }

  /** The file groups that could not be sampled, and why. */
  public Map<FileGroup, Throwable> failures() {
    return failures;
  }

  /** By column, the bytes at which keys of samples are cut. */
  public int[] keyLengths() {
    return keyLengths;
  }

  private Map<FileGroup, Sampled> sample(List<GroupScan> scans) {
    Map<FileGroup, Sampled> samples = new LinkedHashMap<>();
    for (Sampler.Drawn drawn : failAlone ? drawnApart(scans) : drawn(scans)) {
      FileGroup group = drawn.scan().group();
      samples.put(group, new Sampled(drawn, fitter.fit(group, drawn.fitted(), group.expectedFiles())));
    }
    return samples;
  }

  private List<Sampler.Drawn> drawn(List<GroupScan> scans) {
    String description =
        String.format(
            Locale.ROOT, "Sampling %s for %d file groups of %s", order.names(", "), scans.size(), table.name());
    Sampler sampler = new Sampler(session, table, order, keyLengths);
    return session.describing(description, () -> sampler.draw(scans, plan.options().layout().sampleSeed()));
  }

  /** Draws samples of those that can be read: which of several is to blame for the failure of their job, nobody knows. */
  private List<Sampler.Drawn> drawnApart(List<GroupScan> scans) {
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
    List<Sampler.Drawn> drawn = new ArrayList<>(drawnApart(scans.subList(0, middle)));
    drawn.addAll(drawnApart(scans.subList(middle, scans.size())));
    return drawn;
  }

  /** How many rows are sampled at most, of all file groups: no more than there are, and one if there are none. */
  private long mostRows() {
    long wanted = GroupScan.rows(plan.groups(), plan.options().layout());
    return Math.max(1, Math.min(wanted, plan.groups().stream().mapToLong(FileGroup::rows).sum()));
  }
}
