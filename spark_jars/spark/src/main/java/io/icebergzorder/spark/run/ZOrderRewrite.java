package io.icebergzorder.spark.run;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.SortOrder;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.spark.commit.LayoutSummary;
import io.icebergzorder.spark.commit.RewriteCommit;
import io.icebergzorder.spark.internals.JobDescription;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.SupportedVersions;
import io.icebergzorder.spark.plan.ClusteringColumns;
import io.icebergzorder.spark.plan.PartitionColumn;
import io.icebergzorder.spark.plan.PlanSummary;
import io.icebergzorder.spark.plan.RewriteOptions;
import io.icebergzorder.spark.plan.RowOrder;
import io.icebergzorder.spark.plan.ZOrderPlanner;
import io.icebergzorder.spark.procedure.RewriteArguments;
import io.icebergzorder.spark.sample.Sampler;
import io.icebergzorder.spark.sample.TruncatedBounds;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.iceberg.IcebergBuild;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.spark.Spark3Util;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code CALL rewrite_data_files(strategy => 'zorder')}, from its arguments to its result:
 *
 * <ol>
 *   <li>{@link RewriteOptions} and {@link ClusteringColumns}: everything that can be wrong is refused here, before data is
 *       read or written;
 *   <li>{@link ZOrderPlanner}: Iceberg's rules choose the data files and their file groups;
 *   <li>{@link Sampler}: one job reads a joint row sample of the clustering columns, for all file groups;
 *   <li>{@link Layout}: boundaries, positions, curve and cuts, from each group's sample;
 *   <li>{@link GroupRewriter}: each group is read once, routed, sorted and written;
 *   <li>{@link RewriteCommit}: the new files replace the old ones, through Iceberg's optimistic concurrency.
 * </ol>
 */
public final class ZOrderRewrite {
  /** The strategy's name, as written in a CALL. */
  public static final String STRATEGY = "zorder";

  private static final Logger LOG = LoggerFactory.getLogger(ZOrderRewrite.class);

  private static final long NO_SNAPSHOT = -1;

  private final SparkSession session;
  private final Identifier identifier;
  private final TableCatalog catalog;
  private final Table table;
  private final String branch;
  private final Expression filter;
  private final RewriteOptions options;
  private final RowOrder order;

  private ZOrderRewrite(SparkSession session, TableCatalog catalog, RewriteArguments arguments) {
    SupportedVersions.checkIceberg();
    this.session = session;
    this.catalog = catalog;
    this.identifier = identifier(session, catalog, arguments.table());
    SparkTable sparkTable = load(catalog, identifier);
    this.table = sparkTable.table();
    this.options = RewriteOptions.of(arguments.options());
    SortOrder sortOrder = sortOrder(arguments);
    // A caching catalog hands out tables as they were when they were first loaded.
    table.refresh();
    this.branch = branch(table, arguments.branch(), sparkTable.branch());
    this.order =
        ClusteringColumns.resolve(
            table, sortOrder, options.layout().columnWeights(), outputSpec(), isCaseSensitive());
    this.filter = filter(arguments.where());
    // Iceberg's planner checks its own options when it is set up, and plans nothing yet.
    planner(NO_SNAPSHOT);
  }

  /**
   * Rewrites data files.
   *
   * @param session the session of the CALL
   * @param catalog the catalog whose procedure was called
   * @param arguments the arguments of the CALL
   * @return Iceberg's result; empty if the table has no snapshot or the planner chose no file
   * @throws IllegalArgumentException if an argument cannot be honoured; nothing was read or written then
   * @throws RuntimeException if a file group failed, or the commit did; new files are deleted unless the outcome of the
   *     commit is unknown. Whatever was committed before is visible to later queries of the session
   */
  public static RewriteDataFiles.Result execute(
      SparkSession session, TableCatalog catalog, RewriteArguments arguments) {
    ZOrderRewrite rewrite = new ZOrderRewrite(session, catalog, arguments);
    boolean interrupted = false;
    try {
      return rewrite.run();
    } catch (InterruptedException e) {
      interrupted = true;
      String message = String.format("Cannot complete the rewrite of %s, because it was interrupted", rewrite.table.name());
      throw new RuntimeException(e.getMessage() != null && e.getMessage().startsWith(message) ? e.getMessage() : message, e);
    } finally {
      // Partial progress, or a commit whose outcome is unknown, may have changed the table before a failure.
      rewrite.refreshCaches();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Has Spark and the catalog look at the table anew. What was committed stands, whether or not they can. */
  private void refreshCaches() {
    try {
      catalog.invalidateTable(identifier);
      session.catalog().refreshTable(quotedName());
    } catch (Throwable e) {
      LOG.warn("Cannot refresh what is cached of {}; REFRESH TABLE does", table.name(), e);
    }
  }

  /**
   * Plans a rewrite with the same checks, and reads or writes no data.
   *
   * @throws IllegalArgumentException as {@link #execute}
   */
  public static PlanSummary plan(
      SparkSession session, TableCatalog catalog, RewriteArguments arguments) {
    ZOrderRewrite rewrite = new ZOrderRewrite(session, catalog, arguments);
    if (rewrite.table.currentSnapshot() == null) {
      return new PlanSummary(0, 0, 0, 0, rewrite.noSnapshot());
    }
    ZOrderPlanner planner = rewrite.planner(rewrite.startingSnapshotId());
    List<RewriteFileGroup> groups = groups(planner);
    return new PlanSummary(
        planner.seenFiles(),
        groups.stream().mapToInt(RewriteFileGroup::inputFileNum).sum(),
        groups.size(),
        groups.stream().mapToInt(RewriteFileGroup::expectedOutputFiles).sum(),
        groups.isEmpty() ? planner.explainNothing() : null);
  }

  private RewriteDataFiles.Result run() throws InterruptedException {
    RewriteDataFiles.Result nothing = ImmutableRewriteDataFiles.Result.builder().build();
    if (table.currentSnapshot() == null) {
      LOG.warn(noSnapshot());
      return nothing;
    }

    long startingSnapshotId = startingSnapshotId();
    ZOrderPlanner planner = planner(startingSnapshotId);
    List<RewriteFileGroup> groups = groups(planner);
    if (groups.isEmpty()) {
      LOG.warn(planner.explainNothing());
      return nothing;
    }

    try (RewriteSession own = new RewriteSession(session)) {
      return run(own, startingSnapshotId, groups);
    }
  }

  private RewriteDataFiles.Result run(RewriteSession own, long startingSnapshotId, List<RewriteFileGroup> groups)
      throws InterruptedException {
    LOG.info("Rewriting {} file groups of {} by {} of {}", groups.size(), table.name(), order.curve().label(), order.names(", "));

    RowOrder within = changesSpec(groups) ? order.within(PartitionColumn.of(table, outputSpec())) : order;
    List<Layout> layouts = layouts(own, groups, within);
    RewriteCommit commit =
        new RewriteCommit(
            table, branch, startingSnapshotId, options, LayoutSummary.properties(within, layouts));
    GroupRewriter rewriter = new GroupRewriter(own, table, within);
    return new GroupExecution(own.spark(), table, options, commit).run(groups, layouts, rewriter);
  }

  private static boolean changesSpec(List<RewriteFileGroup> groups) {
    return groups.stream().anyMatch(GroupRewriter::changesSpec);
  }

  private List<Layout> layouts(RewriteSession own, List<RewriteFileGroup> groups, RowOrder within) {
    JobDescription description = new JobDescription(own.spark());
    List<Sample> samples =
        description.during(
            String.format(Locale.ROOT, "Sampling %s for %d file groups of %s", order.names(", "), groups.size(), table.name()),
            () -> new Sampler(own, table, within).sample(groups, options.layout()));
    TruncatedBounds.warn(table, within, samples);
    List<Layout> layouts = new ArrayList<>();
    for (int i = 0; i < groups.size(); i++) {
      layouts.add(Layout.fit(within.all(), samples.get(i), request(within, groups.get(i).expectedOutputFiles())));
    }
    LayoutSummary.logLeftOut(table, within.named(), layouts);
    return layouts;
  }

  private LayoutRequest request(RowOrder within, int files) {
    ZOrderOptions wanted = options.layout();
    return new LayoutRequest(
        files,
        wanted.cuts(),
        order.curve(),
        within.leadingOrders(),
        wanted.maxBoundaries(),
        wanted.sizeTolerance(),
        order.weights());
  }

  private ZOrderPlanner planner(long snapshotId) {
    ZOrderPlanner planner = new ZOrderPlanner(table, filter, snapshotId, isCaseSensitive());
    try {
      planner.init(options.forPlanner());
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          String.format("Cannot rewrite data files of %s, because %s", table.name(), e.getMessage()), e);
    }
    return planner;
  }

  private static List<RewriteFileGroup> groups(ZOrderPlanner planner) {
    List<RewriteFileGroup> groups = new ArrayList<>();
    planner.plan().groups().forEach(groups::add);
    return groups;
  }

  private long startingSnapshotId() {
    return table.snapshot(branch).snapshotId();
  }

  private PartitionSpec outputSpec() {
    String specId = options.all().get(RewriteDataFiles.OUTPUT_SPEC_ID);
    PartitionSpec spec = specId == null ? table.spec() : table.specs().get(Integer.parseInt(specId));
    if (spec == null) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot use output spec id %s, because the table does not contain a reference to this spec-id.", specId));
    }
    return spec;
  }

  private boolean isCaseSensitive() {
    return Boolean.parseBoolean(session.conf().get("spark.sql.caseSensitive", "false"));
  }

  private Expression filter(String where) {
    if (where == null) {
      return Expressions.alwaysTrue();
    }
    try {
      return SparkInternals.icebergExpression(session, quotedName(), where);
    } catch (AnalysisException | RuntimeException e) {
      // Spark's optimizer evaluates parts of it, and fails in many ways.
      throw new IllegalArgumentException(
          String.format("Cannot use the filter '%s' on %s, because %s", where, table.name(), Failures.rootMessage(e).strip()), e);
    }
  }

  private String quotedName() {
    return Spark3Util.quotedFullIdentifier(catalog.name(), identifier);
  }

  private String noSnapshot() {
    return String.format("Nothing to rewrite in %s: the table has no snapshot yet.", table.name());
  }

  private static SortOrder sortOrder(RewriteArguments arguments) {
    if (arguments.sortOrder() == null) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot rewrite data files of %s, because strategy '%s' needs sort_order, for example 'zorder(a, b)'",
              arguments.table(), STRATEGY));
    }
    return SortOrder.parse(arguments.sortOrder());
  }

  /**
   * The table's identifier in the procedure's own catalog. Iceberg's helper for this logs a stack trace for every name that
   * does not begin with a catalog.
   */
  private static Identifier identifier(SparkSession session, TableCatalog catalog, String name) {
    List<String> parts;
    try {
      parts = name == null ? List.of() : SparkInternals.parseName(session, name);
    } catch (AnalysisException e) {
      throw new IllegalArgumentException(
          String.format("Cannot rewrite data files of '%s', because it is no name of a table", name), e);
    }
    if (parts.isEmpty()) {
      throw new IllegalArgumentException("Cannot rewrite data files, because argument table is empty");
    }

    String first = parts.get(0);
    if (parts.size() > 1 && first.equals(catalog.name())) {
      parts = parts.subList(1, parts.size());
    } else if (parts.size() > 2 && session.sessionState().catalogManager().isCatalogRegistered(first)) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot rewrite data files of %s, because the procedure was called in catalog %s and the table is in"
                  + " catalog %s",
              name, catalog.name(), first));
    }
    String[] namespace = parts.subList(0, parts.size() - 1).toArray(String[]::new);
    if (namespace.length == 0) {
      namespace = defaultNamespace(session, catalog);
    }
    return Identifier.of(namespace, parts.get(parts.size() - 1));
  }

  private static String[] defaultNamespace(SparkSession session, TableCatalog catalog) {
    CatalogManager manager = session.sessionState().catalogManager();
    return manager.currentCatalog().equals(catalog) ? manager.currentNamespace() : catalog.defaultNamespace();
  }

  /**
   * Loads a table by its name, as a CALL in a catalog writes it.
   *
   * @throws IllegalArgumentException if there is no such table, or it is not Iceberg's
   */
  public static SparkTable load(SparkSession session, TableCatalog catalog, String name) {
    return load(catalog, identifier(session, catalog, name));
  }

  private static SparkTable load(TableCatalog catalog, Identifier identifier) {
    org.apache.spark.sql.connector.catalog.Table loaded;
    try {
      loaded = catalog.loadTable(identifier);
    } catch (NoSuchTableException e) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot rewrite data files of %s, because there is no such table in catalog %s",
              identifier, catalog.name()),
          e);
    }
    if (loaded instanceof SparkTable sparkTable) {
      return sparkTable;
    }
    throw new IllegalArgumentException(
        String.format("Cannot rewrite data files of %s, because it is not an Iceberg table", identifier));
  }

  /** The branch of the argument, else of the table's name, else main. */
  private static String branch(Table table, String argument, String ofTable) {
    String branch = argument != null ? argument : ofTable != null ? ofTable : SnapshotRef.MAIN_BRANCH;
    SnapshotRef ref = table.refs().get(branch);
    if (table.currentSnapshot() != null && (ref == null || !ref.isBranch())) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot rewrite data files for branch %s, because %s has no such branch: branch does not exist",
              branch, table.name()));
    }
    if (!branch.equals(SnapshotRef.MAIN_BRANCH) && !SupportedVersions.commitsToBranches()) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot rewrite data files for branch %s of %s, because Iceberg %s commits rewrites to %s only",
              branch, table.name(), IcebergBuild.version(), SnapshotRef.MAIN_BRANCH));
    }
    return branch;
  }
}
