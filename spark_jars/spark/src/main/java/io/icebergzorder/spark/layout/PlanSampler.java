package io.icebergzorder.spark.layout;

import io.icebergzorder.core.LaidOutSample;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.MetricsCheck.GroupKeys;
import io.icebergzorder.core.SampledRowGroups;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.internals.FailureStreak;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Samples the file groups of a plan. The keys stay in the driver's memory until the commit. */
public final class PlanSampler {
  private static final Logger LOG = LoggerFactory.getLogger(PlanSampler.class);

  private final RewriteSession session;
  private final CatalogTable target;
  private final TablePlan plan;
  private final LayoutFitter fitter;
  private final boolean failAlone;
  private final int[] keyLengths;
  private final Sampler sampler;
  private final long expectedFiles;
  private final long wantedRows;
  private final Map<FileGroup, Throwable> failures = new LinkedHashMap<>();
  private final FailureStreak streak = new FailureStreak();

  /** Takes a plan, and whether a file group that cannot be read is left out, with the reason. */
  public PlanSampler(RewriteSession session, CatalogTable target, TablePlan plan, LayoutFitter fitter, boolean failAlone) {
    this.session = session;
    this.target = target;
    this.plan = plan;
    this.fitter = fitter;
    this.failAlone = failAlone;
    ResolvedSortOrder order = plan.order();
    expectedFiles = plan.groups().stream().mapToLong(FileGroup::expectedFiles).sum();
    wantedRows = plan.options().layout().sampleRows((int) Math.min(Integer.MAX_VALUE, expectedFiles));
    long mostRows = Math.max(1, Math.min(wantedRows, plan.groups().stream().mapToLong(FileGroup::rows).sum()));
    KeptBounds kept = KeptBounds.of(target.table(), order.named());
    keyLengths = Sampler.keyLengths(kept, plan.options().layout().fixesMetrics(), order, mostRows);
    sampler = new Sampler(session, target.table(), order, keyLengths);
  }

  /** A file group's sample, and the layout that it has as it was planned. */
  public record Sampled(Sampler.Drawn sample, Layout layout) {
    FileGroup group() {
      return sample.group();
    }

    /** Whether the row groups that were read turn out to be clusters, so that more of them must be read. */
    private boolean isOfClusters() {
      return sample.rowGroups().isPresent() && SampledRowGroups.areClusters(layout, sample.fitted(), sample.rowGroups().get());
    }

    /** How its sampled rows lie in a column of strings or binaries. */
    GroupKeys keys(int place) {
      return GroupKeys.of(layout, sample.fitted(), place, sample.tails().get(place));
    }

    LaidOutSample laidOut() {
      return new LaidOutSample(layout, sample.fitted(), sample.heldOut(), group().rows(), group().bytes(), layout.files());
    }
  }

  /** Samples the file groups, in one job unless one fails; those that cannot be read are left out. */
  public Map<FileGroup, Sampled> sample() {
    Map<FileGroup, Sampled> samples = sample(plan.groups(), false);
    List<FileGroup> clusters = samples.values().stream().filter(Sampled::isOfClusters).map(Sampled::group).toList();
    if (!clusters.isEmpty()) {
      Map<FileGroup, Sampled> again = sample(clusters, true);
      // One that cannot be read this time has no layout any more.
      clusters.forEach(group -> samples.computeIfPresent(group, (each, sparse) -> again.get(group)));
    }
    return samples;
  }

  /** The file groups that could not be sampled, and why. */
  public Map<FileGroup, Throwable> failures() {
    return failures;
  }

  /** By column, the bytes at which keys of samples are cut. */
  int[] keyLengths() {
    return keyLengths;
  }

  private Map<FileGroup, Sampled> sample(List<FileGroup> groups, boolean areClusters) {
    Map<FileGroup, Sampled> samples = new LinkedHashMap<>();
    for (Sampler.Drawn each : failAlone ? drawnApart(groups, areClusters) : drawn(groups, areClusters)) {
      samples.put(each.group(), new Sampled(each, fitter.fit(each.group(), each.fitted())));
    }
    return samples;
  }

  private List<Sampler.Drawn> drawn(List<FileGroup> groups, boolean areClusters) {
    String description =
        String.format(
            Locale.ROOT,
            "Sampling %s for %d file groups of %s",
            plan.order().names(", "), groups.size(), target.name());
    long seed = plan.options().layout().sampleSeed();
    Drawing drawing = new Drawing(groups, this::rowsOf, seed, areClusters);
    return session.describing(description, () -> sampler.draw(groups, drawing, seed));
  }

  /** Each group is sampled as densely as its share of the output files asks. */
  private long rowsOf(FileGroup group) {
    return (wantedRows * group.expectedFiles() + expectedFiles - 1) / expectedFiles;
  }

  /** Draws samples of those that can be read: which of several is to blame for the failure of their job, nobody knows. */
  private List<Sampler.Drawn> drawnApart(List<FileGroup> groups, boolean areClusters) {
    if (streak.isOver()) {
      groups.forEach(group -> failures.put(group, streak.why()));
      return List.of();
    }
    try {
      List<Sampler.Drawn> drawn = drawn(groups, areClusters);
      streak.done();
      return drawn;
    } catch (Throwable e) {
      if (Failures.isCancellation(e) || e instanceof InterruptedException || Thread.currentThread().isInterrupted()) {
        throw e;
      }
      if (groups.size() == 1) {
        failures.put(groups.get(0), e);
        streak.failed(e);
        return List.of();
      }
      LOG.warn("Sampling {} file groups of {} apart, because one failed", groups.size(), target.name(), e);
    }
    int middle = groups.size() / 2;
    List<Sampler.Drawn> drawn = new ArrayList<>(drawnApart(groups.subList(0, middle), areClusters));
    drawn.addAll(drawnApart(groups.subList(middle, groups.size()), areClusters));
    return drawn;
  }
}
