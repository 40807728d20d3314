package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.SupportedVersions;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.SupportsSubquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
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
  private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();

  private final transient SparkSession session;

  public JoinPruning(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    try {
      return isOn() && takesKeys() && readsOnly(plan) ? (LogicalPlan) plan.transformDown(new WithPrunableTable(plan)) : plan;
    } catch (RuntimeException | LinkageError | StackOverflowError e) { // Of deep plans, Spark's own rules leave little of the stack.
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
        && SparkInternals.execution(session).map(QueryExecution::logical).stream().noneMatch(SupportsSubquery.class::isInstance);
  }

  private static boolean isRecursive(LogicalPlan plan) {
    return JoinedTables.isOfRecursion(plan)
        || Stream.concat(SparkInternals.children(plan).stream(), SparkInternals.subqueries(plan)).anyMatch(JoinPruning::isRecursive);
  }

  private static Set<ExprId> partitionColumns(List<LogicalPlan> sources) {
    Set<ExprId> found = new HashSet<>();
    for (LogicalPlan source : sources) {
      Set<String> names = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
      partitionColumns(source).forEach(names::add);
      SparkInternals.output(source).stream().filter(each -> names.contains(each.name())).forEach(each -> found.add(each.exprId()));
    }
    return found;
  }

  /** The names of the columns that a table, of Iceberg or another format, is partitioned by, or by a field in them. */
  private static Stream<String> partitionColumns(LogicalPlan source) {
    if (JoinedTables.isTable(source)) {
      Table table = JoinedTables.table(source);
      Set<Integer> sources =
          table.specs().values().stream().flatMap(spec -> spec.fields().stream()).map(PartitionField::sourceId).collect(Collectors.toSet());
      return table.schema().columns().stream()
          .filter(column -> !Collections.disjoint(TypeUtil.indexById(Types.StructType.of(column)).keySet(), sources))
          .map(Types.NestedField::name);
    } else if (source instanceof DataSourceV2ScanRelation ofSubquery) {
      return partitionColumns((LogicalPlan) ofSubquery.relation());
    } else if (source instanceof DataSourceV2Relation relation) {
      return Arrays.stream(relation.table().partitioning())
          .flatMap(each -> Arrays.stream(each.references()))
          .map(each -> each.fieldNames()[0]);
    } else if (source instanceof HiveTableRelation hive) {
      return Arrays.stream(hive.tableMeta().partitionSchema().fieldNames());
    }
    return source instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation files
        ? Arrays.stream(files.partitionSchema().fieldNames())
        : Stream.empty();
  }

  private final class WithPrunableTable extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    private final LogicalPlan root;
    private final JoinedTables joined;
    // Found at the first table: Spark applies the rule many times, mostly to plans that have none left.
    private ComparedColumns compared;
    private boolean isRecursive;

    WithPrunableTable(LogicalPlan root) {
      this.root = root;
      joined = new JoinedTables(root);
      joined.finished().forEach(PrunableScan::takeNoMoreKeys);
    }

    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      if (!JoinedTables.isTable(plan)) {
        return false;
      }
      if (compared == null) {
        compared = new ComparedColumns(root, partitionColumns(joined.sources()));
        // Spark optimizes a subquery apart from the recursive query around it.
        isRecursive = SparkInternals.execution(session).map(QueryExecution::analyzed).stream().anyMatch(JoinPruning::isRecursive);
      }
      return !isRecursive && joined.takers().contains(plan);
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      DataSourceV2Relation relation = (DataSourceV2Relation) plan;
      return SparkInternals.withTable(
          relation, PrunableTable.wrap((SparkTable) relation.table(), compared.of(relation)));
    }
  }
}
