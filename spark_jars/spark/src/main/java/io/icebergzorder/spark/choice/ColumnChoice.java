package io.icebergzorder.spark.choice;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.WorkloadColumns;
import io.icebergzorder.core.WorkloadColumns.SampledPart;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.SupportedVersions;
import io.icebergzorder.spark.measure.ConditionReads;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.plan.RewritePlanner;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.queries.Workload;
import io.icebergzorder.spark.request.CatalogTable;
import io.icebergzorder.spark.request.ResolvedRequest;
import io.icebergzorder.spark.request.RewriteRequest;
import io.icebergzorder.spark.request.UnnamedColumns;
import io.icebergzorder.spark.sample.LayoutFitter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Plans rewrites, and has the workload choose the columns where none are named: those of the last rewrite with the same workload, else
 * those by which its queries read least of samples of the file groups that may be rewritten.
 */
public final class ColumnChoice {
  private static final Logger LOG = LoggerFactory.getLogger(ColumnChoice.class);

  private static final String NONE = "by no column would the queries of the workload read less";

  private ColumnChoice() {}

  /**
   * Plans a rewrite. Manifests are read, and a sample where columns are to be chosen.
   *
   * @param load finds the table
   * @throws IllegalArgumentException if the request cannot be honoured
   * @throws UnsupportedOperationException if this Iceberg is not known
   * @throws RuntimeException if the sample cannot be read
   */
  public static TablePlan plan(Function<String, CatalogTable> load, RewriteRequest written) {
    SupportedVersions.checkIceberg();
    CatalogTable target = load.apply(written.table());
    Optional<UnnamedColumns> unnamed = UnnamedColumns.of(target, written);
    if (unnamed.isEmpty()) {
      return RewritePlanner.plan(ResolvedRequest.of(target, written));
    }
    UnnamedColumns request = unnamed.get();
    Optional<String> last = request.last();
    if (last.isPresent()) {
      return RewritePlanner.plan(request.by(last.get()));
    }
    List<ClusteringColumn> candidates = Candidates.of(request);
    TablePlan all = RewritePlanner.plan(request.by(candidates));
    if (all.groups().isEmpty()) {
      return all.nothing(request, List.of(), all.whyNothing());
    }
    List<ClusteringColumn> chosen = chosen(all, request);
    if (chosen.isEmpty()) {
      String message = "Nothing to rewrite in %s: %s; name the columns to rewrite it anyway.".formatted(target.name(), NONE);
      return all.nothing(request, all.groups().stream().map(group -> group.left(NONE)).toList(), message);
    }
    String sortOrder = UnnamedColumns.zorder(chosen);
    LOG.info("The workload of {} has chosen its columns: {}, of {} candidates", target.name(), sortOrder, candidates.size());
    return RewritePlanner.plan(request.by(sortOrder));
  }

  private static List<ClusteringColumn> chosen(TablePlan plan, UnnamedColumns request) {
    Map<PlannedGroup, Sample> samples;
    try (RewriteSession session = new RewriteSession(request.target().session())) {
      samples = new LayoutFitter(session, plan).samples();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new RuntimeException(
          String.format("Cannot sample %s, because it was interrupted. Nothing was written.", request.target().name()), e);
    }
    Workload workload = request.workload();
    ConditionReads queries = new ConditionReads(plan, workload.conditions());
    List<SampledPart> parts = new ArrayList<>();
    samples.forEach((group, sample) -> parts.add(part(group, sample, workload, queries.asked(group))));
    ZOrderOptions options = request.options().layout();
    return WorkloadColumns.choose(
        plan.order().columns(), parts, plan.order().layoutRequest(options, 1), options.workloadColumns());
  }

  /** A file group, and the queries that its partition does not rule out. */
  private static SampledPart part(PlannedGroup group, Sample sample, Workload workload, boolean[] asked) {
    String path = group.files().stream().map(task -> task.file().location()).min(Comparator.naturalOrder()).orElseThrow();
    return new SampledPart(
        sample, group.expectedFiles(), group.rows(), path, workload.weight(asked), layout -> workload.boxes(layout.columns(), asked));
  }
}
