package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.SupportedVersions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.iceberg.BaseMetadataTable;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.SupportsSubquery;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.runtime.AbstractPartialFunction;

/**
 * Lets the scans of Iceberg tables take the keys of joins: Spark's dynamic partition pruning then offers them for every column in which
 * the files' bounds are tight, not for partition columns alone.
 *
 * <p>The rule puts a {@link PrunableTable} in the place of each table that a query reads. Streams, metadata tables, and all that DELETE,
 * UPDATE and MERGE and recursive queries read stay as they are. Any failure leaves the query as it was.
 */
public final class JoinPruning extends Rule<LogicalPlan> {
  /** The setting: {@code auto}, the default, or {@code off}. */
  static final String SETTING = "spark.iceberg-zorder.join-pruning";

  private static final Logger LOG = LoggerFactory.getLogger(JoinPruning.class);
  /** How many tables that are joined with each other take keys. */
  private static final int MOST_TABLES = 5;

  private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();

  private final transient SparkSession session;

  public JoinPruning(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    try {
      return isOn() && takesKeys() && readsOnly(plan) ? (LogicalPlan) plan.transformDown(new WithPrunableTable(plan)) : plan;
    } catch (RuntimeException | LinkageError e) {
      warnOnce("Joins skip no files, because the plan of a query cannot be changed", e);
      return plan;
    }
  }

  /** Logs a warning the first time that it is given; queries go on without join pruning. */
  static void warnOnce(String message, Throwable cause) {
    if (WARNED.add(message)) {
      LOG.warn(message, cause);
    }
  }

  private boolean isOn() {
    String setting = session.conf().get(SETTING, "auto").trim().toLowerCase(Locale.ROOT);
    if (!setting.equals("auto") && !setting.equals("off")) {
      warnOnce("Joins skip no files, because %s is '%s' and neither 'auto' nor 'off'".formatted(SETTING, setting), null);
    }
    return setting.equals("auto") && SupportedVersions.isKnown();
  }

  /** Whether Spark may hand on keys: without broadcasts it would not, and leave out its bloom filter of a join all the same. */
  private boolean takesKeys() {
    return conf().autoBroadcastJoinThreshold() > 0 || !conf().dynamicPartitionPruningReuseBroadcastOnly();
  }

  /** Whether a plan, and the statement that it is a part of, changes no table but by new rows. */
  private boolean readsOnly(LogicalPlan plan) {
    boolean isInsert =
        plan instanceof AppendData || plan instanceof OverwriteByExpression || plan instanceof OverwritePartitionsDynamic;
    // Spark optimizes a subquery apart from its statement, and asks for the files that MERGE, UPDATE and DELETE have to rewrite by one.
    return !plan.isStreaming()
        && (isInsert || !(plan instanceof Command))
        && SparkInternals.planOfExecution(session).stream().noneMatch(SupportsSubquery.class::isInstance);
  }

  /** Whether a node reads a table of Iceberg's. Subclasses (tables of staged rewrites among them) read in ways of their own. */
  private static boolean isTable(LogicalPlan plan) {
    return plan instanceof DataSourceV2Relation relation
        && relation.table().getClass() == SparkTable.class
        && !(((SparkTable) relation.table()).table() instanceof BaseMetadataTable);
  }

  /** Whether a query is recursive. Spark runs the optimized plan of its recursive part as a new query, in which keys do not resolve. */
  private static boolean isRecursive(LogicalPlan plan) {
    return plan.nodeName().equals("UnionLoopRef") || SparkInternals.children(plan).stream().anyMatch(JoinPruning::isRecursive);
  }

  /**
   * The tables that take keys: the largest of those that are joined, for each part of a union. Spark copies the plan that gives the keys
   * into each scan that takes them, with the keys that it takes itself, so that each table more may double a plan.
   */
  private static Set<LogicalPlan> largest(List<List<LogicalPlan>> parts) {
    Set<LogicalPlan> found = Collections.newSetFromMap(new IdentityHashMap<>());
    for (List<LogicalPlan> tables : parts) {
      long taking = tables.stream().filter(each -> !isTable(each)).count();
      tables.stream()
          .filter(JoinPruning::isTable)
          .sorted(Comparator.comparingLong(JoinPruning::bytes).reversed())
          .limit(Math.max(0, MOST_TABLES - taking))
          .forEach(found::add);
    }
    return found;
  }

  /** The tables of a plan, for each part of a union. */
  private static List<List<LogicalPlan>> parts(LogicalPlan plan) {
    List<List<LogicalPlan>> parts = new ArrayList<>();
    addTables(plan, newPart(parts), parts);
    return parts;
  }

  private static void addTables(LogicalPlan plan, List<LogicalPlan> part, List<List<LogicalPlan>> parts) {
    if (isTable(plan) || (plan instanceof DataSourceV2Relation relation && relation.table() instanceof StandIn.Marker)) {
      part.add(plan);
    }
    for (LogicalPlan child : SparkInternals.children(plan)) {
      addTables(child, plan instanceof Union ? newPart(parts) : part, parts);
    }
  }

  private static List<LogicalPlan> newPart(List<List<LogicalPlan>> parts) {
    parts.add(new ArrayList<>());
    return parts.get(parts.size() - 1);
  }

  private static long bytes(LogicalPlan table) {
    Snapshot snapshot = ((SparkTable) ((DataSourceV2Relation) table).table()).table().currentSnapshot();
    return snapshot == null ? 0 : PropertyUtil.propertyAsLong(snapshot.summary(), SnapshotSummary.TOTAL_FILE_SIZE_PROP, 0);
  }

  private static Set<ExprId> partitionColumns(List<List<LogicalPlan>> parts) {
    Set<ExprId> found = new HashSet<>();
    parts.stream().flatMap(List::stream).filter(JoinPruning::isTable).forEach(relation -> {
      Table table = ((SparkTable) ((DataSourceV2Relation) relation).table()).table();
      Set<String> names =
          table.specs().values().stream()
              .flatMap(spec -> spec.fields().stream())
              .map(field -> table.schema().findColumnName(field.sourceId()))
              .collect(Collectors.toSet());
      SparkInternals.output(relation).stream().filter(each -> names.contains(each.name())).forEach(each -> found.add(each.exprId()));
    });
    return found;
  }

  private static final class WithPrunableTable extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    private final LogicalPlan root;
    // Both are found at the first table: Spark applies the rule many times, mostly to plans that have none left.
    private ComparedColumns compared;
    private Set<LogicalPlan> takers = Set.of();

    WithPrunableTable(LogicalPlan root) {
      this.root = root;
    }

    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      if (compared == null && isTable(plan)) {
        List<List<LogicalPlan>> parts = parts(root);
        compared = new ComparedColumns(root, partitionColumns(parts));
        takers = isRecursive(root) ? Set.of() : largest(parts);
      }
      return takers.contains(plan);
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      DataSourceV2Relation relation = (DataSourceV2Relation) plan;
      return SparkInternals.withTable(
          relation, PrunableTable.wrap((SparkTable) relation.table(), compared.of(relation)));
    }
  }
}
