package io.icebergzorder.spark.request;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Curve;
import io.icebergzorder.core.SortOrder;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.core.report.SnapshotFacts;
import io.icebergzorder.core.upkeep.RequestKey;
import io.icebergzorder.spark.queries.Workload;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.BinPackRewriteFilePlanner;
import org.apache.iceberg.actions.SizeBasedFileRewritePlanner;
import org.apache.iceberg.util.SnapshotUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request that names no columns, of a table that remembers none, with a workload to choose them by.
 *
 * @param target the table
 * @param asked the request
 * @param written the same, completed by what the table remembers
 * @param options its options, read
 * @param branch the branch to rewrite
 * @param workload the queries
 */
public record UnnamedColumns(
    CatalogTable target,
    RewriteRequest asked,
    RewriteRequest written,
    RewriteOptions options,
    String branch,
    Workload workload) {
  private static final Logger LOG = LoggerFactory.getLogger(UnnamedColumns.class);

  /**
   * Looks whether columns are to be chosen, and resolves what else is asked for.
   *
   * @return empty if columns are named or remembered, or there is no workload
   * @throws IllegalArgumentException if any of it cannot be honoured
   */
  public static Optional<UnnamedColumns> of(CatalogTable target, RewriteRequest request) {
    if (request.sortOrder() != null) {
      return Optional.empty();
    }
    target.table().refresh();
    RewriteRequest written = TableDefaults.complete(target, request);
    if (written.sortOrder() != null) {
      return Optional.empty();
    }
    RewriteOptions options = RewriteOptions.of(written.options());
    String branch = ResolvedRequest.branchToRewrite(target, written);
    ResolvedRequest.filter(target, written.where());
    return ResolvedRequest.workload(target, options.layout())
        .map(workload -> new UnnamedColumns(target, request, written, options, branch, workload));
  }

  /** The partition spec of the files to be written. */
  public PartitionSpec outputSpec() {
    return ResolvedRequest.outputSpec(target.table(), options);
  }

  /**
   * Resolves the request by all columns that there are to choose from, for all files that it may rewrite, whatever comes of it, and at
   * once, as what is chosen stays. Weights do not count: they are of those columns that will be chosen.
   */
  public ResolvedRequest by(List<ClusteringColumn> candidates) {
    Map<String, String> all = new HashMap<>(written.options());
    all.remove(ZOrderOptions.COLUMN_WEIGHTS);
    all.put(SizeBasedFileRewritePlanner.REWRITE_ALL, "true");
    all.remove(BinPackRewriteFilePlanner.MAX_FILES_TO_REWRITE);
    return resolved(written.byChosen(zorder(candidates)).with(all));
  }

  /** Resolves the request as if it had named the columns that were chosen. */
  public ResolvedRequest by(String sortOrder) {
    return resolved(TableDefaults.complete(target, asked.byChosen(sortOrder)));
  }

  /** The workload is read once: it takes long, and may say something else by then. */
  private ResolvedRequest resolved(RewriteRequest request) {
    return ResolvedRequest.ofCompleted(target, request, each -> Optional.of(workload));
  }

  /** The sort order of some columns. */
  public static String zorder(List<ClusteringColumn> columns) {
    return columns.stream().map(ClusteringColumn::name).collect(Collectors.joining(", ", Curve.ZORDER.label() + "(", ")"));
  }

  /**
   * Finds the columns of the newest rewrite that was given this workload, by the names that they have today, so that the next one leaves
   * what it has done.
   *
   * @return empty if there is none whose snapshot is kept, or the table cannot be clustered by these columns any more
   */
  public Optional<String> last() {
    Table table = target.table();
    SnapshotRef head = table.refs().get(branch);
    if (head == null) {
      return Optional.empty();
    }
    String key = workload.key();
    return StreamSupport.stream(SnapshotUtil.ancestorsOf(head.snapshotId(), table::snapshot).spliterator(), false)
        .map(ResolvedReport::facts)
        .filter(each -> each.isLayout() && each.operation().equals(SnapshotFacts.REPLACE))
        .filter(each -> key.equals(each.summary().get(RequestKey.WORKLOAD)))
        .findFirst()
        // The same text asks for something else once a name has moved to another field.
        .filter(each -> !ResolvedReport.namesOtherFields(table, each, workload.names()))
        .flatMap(this::orderOfToday);
  }

  private Optional<String> orderOfToday(SnapshotFacts layout) {
    try {
      SortOrder then = ResolvedReport.sortOrder(target.table(), layout);
      // What adaptive cuts make of z-order may be told as Hilbert, which would be another request.
      SortOrder order = new SortOrder(Curve.ZORDER, then.columns(), then.prefix());
      ClusteringColumns.check(target.table(), order, options.layout(), outputSpec(), target.isCaseSensitive());
      LOG.info("Rewrites of {} go on by the columns that its workload has chosen: {}", target.name(), order.text());
      return Optional.of(order.text());
    } catch (IllegalArgumentException e) {
      LOG.info("The workload of {} chooses columns anew: {}", target.name(), e.getMessage());
      return Optional.empty();
    }
  }
}
