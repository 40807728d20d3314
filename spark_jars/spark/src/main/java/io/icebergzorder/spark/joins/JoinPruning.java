package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.SupportedVersions;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.SupportsSubquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.dynamicpruning.PartitionPruning;
import org.apache.spark.sql.internal.SQLConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.runtime.BoxedUnit;

/**
 * Hands the keys of joins to the scans of Iceberg tables, for every column in which the files' bounds are tight: see {@link KeyFilters}.
 *
 * <p>It is the last rule of Spark's optimizer, so that Spark's own choice of scans that take keys (of partition columns, and of bloom
 * filters) stands. Streams and recursive queries stay as they are; of DELETE, UPDATE and MERGE, only the target takes keys: see {@link
 * TargetKeys}. Any failure leaves the query as it was.
 */
public final class JoinPruning extends Rule<LogicalPlan> {
  /** The setting: {@code auto}, the default, {@code queries}, which leaves MERGE, UPDATE and DELETE as they are, or {@code off}. */
  static final String SETTING = "spark.iceberg-zorder.join-pruning";

  private static final String FOR_ALL = "auto";
  private static final Set<String> ON = Set.of(FOR_ALL, "queries");

  private static final Logger LOG = LoggerFactory.getLogger(JoinPruning.class);
  private static final Set<String> WARNED = ConcurrentHashMap.newKeySet();
  private static final JoinPruning RULE = new JoinPruning();

  /** Of the root of a plan. Spark applies its last rules until nothing changes; a second application would find the same joins again. */
  private static final TreeNodeTag<Boolean> IS_DONE = new TreeNodeTag<>("iceberg-zorder.join-pruning");

  private JoinPruning() {}

  /** Adds the rule to each session that has none. Extensions can add no last rule, only sessions can. */
  public static void addTo(SparkSessionExtensions extensions) {
    // Each query is analyzed before the optimizer looks up its rules.
    extensions.injectCheckRule(
        session ->
            plan -> {
              SparkInternals.addLastRule(session, RULE);
              return BoxedUnit.UNIT;
            });
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    try {
      if (!isOn() || plan.getTagValue(IS_DONE).isDefined()) {
        return plan;
      }
      LogicalPlan changed = changed(plan);
      changed.setTagValue(IS_DONE, true);
      return changed;
    } catch (RuntimeException | LinkageError | StackOverflowError e) { // Of deep plans, Spark's own rules leave little of the stack.
      warnOnce("Joins skip no files, because the plan of a query cannot be changed", e);
      return plan;
    }
  }

  private LogicalPlan changed(LogicalPlan plan) {
    if (KeyFilters.hasNode(plan, "UnionLoopRef")) {
      // Spark runs the recursive part of a query as a new query, in which keys do not resolve. It has optimized subqueries before.
      return KeyFilters.withoutAdded(plan);
    }
    if (!plan.containsPattern(TreePattern.JOIN()) || plan.isStreaming()) {
      return plan;
    }
    LogicalPlan withKeys = readsOnly(plan) ? new KeyFilters(plan).planWithKeys() : plan;
    return setting().equals(FOR_ALL) ? TargetKeys.withKeyFilters(withKeys) : withKeys;
  }

  /** Logs a warning the first time that it is given; queries go on without join pruning. */
  static void warnOnce(String message, Throwable cause) {
    if (WARNED.add(message)) {
      LOG.warn(message, cause);
    }
  }

  private String setting() {
    return conf().getConfString(SETTING, FOR_ALL).trim().toLowerCase(Locale.ROOT);
  }

  private boolean isOn() {
    String setting = setting();
    if (!setting.equals("off") && !ON.contains(setting)) {
      warnOnce("Joins skip no files, because %s is '%s' and none of 'auto', 'queries' and 'off'".formatted(SETTING, setting), null);
    }
    String excluded = conf().getConf(SQLConf.OPTIMIZER_EXCLUDED_RULES()).getOrElse(() -> "");
    // Who switches off keys of partitions wants none of other columns.
    return ON.contains(setting)
        && conf().dynamicPartitionPruningEnabled()
        && SupportedVersions.isKnown()
        && !excluded.contains(PartitionPruning.ruleName());
  }

  /** Whether a plan, and the statement that it is a part of, changes no table but by new rows. */
  private static boolean readsOnly(LogicalPlan plan) {
    boolean isInsert =
        plan instanceof AppendData || plan instanceof OverwriteByExpression || plan instanceof OverwritePartitionsDynamic;
    // Spark optimizes a subquery apart from its statement, and asks for the files that MERGE, UPDATE and DELETE have to rewrite by one.
    return (isInsert || !(plan instanceof Command))
        && SparkInternals.execution(SparkSession.active()).map(QueryExecution::logical).stream().noneMatch(SupportsSubquery.class::isInstance);
  }
}
