package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.SparkInternals;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DynamicPruning;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftAnti$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.LeftSemi$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.plans.logical.WriteDelta;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.Product;

/**
 * Hands the keys of the source of a MERGE, or of the subquery of an UPDATE or DELETE, to the scan that looks for rows of the target.
 *
 * <p>There are three such scans: the only one of a merge-on-read statement; the one by which Spark finds the files that a copy-on-write
 * statement replaces; and the one by which a MERGE that only inserts finds out what is there. The scan that copy-on-write replaces is not
 * among them: its commit deletes the files that it has read, with all of their rows.
 *
 * <p>Spark's own dynamic pruning takes keys of a broadcast side with a filter. A batch of changes has no filter, and an outer join broadcasts
 * no side whose rows it keeps. So, but for the search, the source is executed once more for its distinct keys. If it then gave others than
 * in the join, rows would not be found, and be inserted again: see {@link RepeatedColumns}.
 */
final class TargetKeys {
  private static final Logger LOG = LoggerFactory.getLogger(TargetKeys.class);

  /** How many times as many bytes as the source reads, by Spark's estimates, the scan of the target has to read. */
  private static final double LEAST_RATIO = 4;

  /** A source of so few bytes may be read again whatever the target is. */
  private static final double FEW_BYTES = 1 << 20;

  private static final String FILE = "_file";

  private final Kind kind;
  private final Predicate<DataSourceV2ScanRelation> isTarget;

  private enum Kind {
    CHANGE,
    SEARCH,
    INSERT
  }

  private TargetKeys(Kind kind, Predicate<DataSourceV2ScanRelation> isTarget) {
    this.kind = kind;
    this.isTarget = isTarget;
  }

  /** How many distinct keys of a type a scan takes: more need too much of the driver's memory. */
  static int most(DataType type) {
    return type.equals(DataTypes.StringType) ? ColumnKeys.MOST : 10 * ColumnKeys.MOST;
  }

  /** A plan with filters of keys; the plan itself if it looks for no rows of a target. */
  static LogicalPlan added(LogicalPlan plan) {
    TargetKeys keys = null;
    if (plan instanceof WriteDelta) {
      keys = new TargetKeys(Kind.CHANGE, PrunableScan::isOfChange);
    } else if (plan instanceof Subquery && findsFiles(plan)) {
      keys = new TargetKeys(Kind.SEARCH, each -> SparkInternals.output(each).stream().anyMatch(column -> column.name().equals(FILE)));
    } else if (plan instanceof AppendData append && append.table() instanceof DataSourceV2Relation target) {
      keys = new TargetKeys(Kind.INSERT, each -> each.relation().table().name().equals(target.table().name()));
    }
    TargetKeys chosen = keys;
    return chosen == null ? plan : SparkInternals.changed(plan, node -> node instanceof Join join ? chosen.withKeys(join) : node);
  }

  /** Whether a subquery gives the distinct files of a table, as it does for copy-on-write. */
  private static boolean findsFiles(LogicalPlan plan) {
    LogicalPlan at = plan;
    while (at instanceof Subquery || at instanceof Project) {
      at = SparkInternals.children(at).get(0);
    }
    if (!(at instanceof Aggregate)) {
      return false;
    }
    List<Expression> by = SparkInternals.list(at.productElement(0), Expression.class);
    return by.size() == 1 && by.get(0) instanceof Attribute column && column.name().equals(FILE);
  }

  private LogicalPlan withKeys(Join join) {
    JoinType type = join.joinType();
    boolean inserts = kind == Kind.INSERT;
    boolean dropsLeft = !inserts && (type == Inner$.MODULE$ || type == LeftSemi$.MODULE$ || type == RightOuter$.MODULE$);
    boolean dropsRight = inserts ? type == LeftAnti$.MODULE$ : type == Inner$.MODULE$ || type == LeftOuter$.MODULE$;
    Option<? extends Product> keys = ExtractEquiJoinKeys$.MODULE$.unapply(join);
    if (keys.isEmpty()) {
      return join;
    }
    List<Expression> ofLeft = SparkInternals.list(keys.get().productElement(1), Expression.class);
    List<Expression> ofRight = SparkInternals.list(keys.get().productElement(2), Expression.class);
    LogicalPlan left = dropsLeft ? withKeys(join.left(), ofLeft, join.right(), ofRight) : join.left();
    LogicalPlan right = dropsRight && left == join.left() ? withKeys(join.right(), ofRight, join.left(), ofLeft) : join.right();
    return left == join.left() && right == join.right() ? join : new Join(left, right, type, join.condition(), join.hint());
  }

  /** A side of a join, whose rows without a match are dropped, with keys of the other side if it reads the target. */
  private LogicalPlan withKeys(LogicalPlan side, List<Expression> compared, LogicalPlan source, List<Expression> values) {
    DataSourceV2ScanRelation target = target(side);
    if (target == null) {
      return side;
    }
    Map<Attribute, Integer> places = new LinkedHashMap<>();
    for (int place = 0; place < compared.size(); place++) {
      if (compared.get(place) instanceof Attribute column && target.outputSet().contains(column)) {
        places.putIfAbsent(column, place);
      }
    }
    Optional<PrunableScan> scan = PrunableScan.ofTarget(target);
    String reason =
        scan.isEmpty()
            ? "Spark may broadcast it, or relies on how it is partitioned"
            : reason(scan.get(), places, target, source, values);
    if (reason != null) {
      LOG.info("A statement reads all files of {} that its filter leaves, because {}", target.relation().table().name(), reason);
      return side;
    }
    Expression condition = kind == Kind.SEARCH ? ofBroadcast(places, source, values) : ofOwnJob(places, source, values);
    LogicalPlan pruned = new Filter(condition, scan.get().forSpark());
    return SparkInternals.changed(side, node -> node == target ? pruned : node);
  }

  /** The scan of the target if a side of a join only filters and computes columns; null, too, if Spark has given it keys already. */
  private DataSourceV2ScanRelation target(LogicalPlan side) {
    LogicalPlan at = side;
    while (at instanceof Project
        || at instanceof Filter filter && KeyFilters.conjuncts(filter.condition()).noneMatch(DynamicPruning.class::isInstance)) {
      at = SparkInternals.children(at).get(0);
    }
    return at instanceof DataSourceV2ScanRelation relation && isTarget.test(relation) ? relation : null;
  }

  /** Why a target takes no keys; null, and only the places of useful keys left, if it takes some. */
  private String reason(
      PrunableScan scan,
      Map<Attribute, Integer> places,
      DataSourceV2ScanRelation target,
      LogicalPlan source,
      List<Expression> values) {
    if (bytes(source) > Math.max(FEW_BYTES, bytes(target) / LEAST_RATIO)) {
      return "what the source reads is not small beside it";
    }
    places.keySet().removeIf(each -> !scan.isCandidate(each.name()));
    scan.removesLoose(places.keySet().stream().map(Attribute::name).collect(Collectors.toSet()));
    places.keySet().removeIf(each -> !scan.isCandidate(each.name()));
    if (places.isEmpty()) {
      return "no column by whose bounds its files can be told apart is compared with the source by =";
    }
    if (kind == Kind.SEARCH) {
      return null;
    }
    RepeatedColumns repeated = new RepeatedColumns();
    Set<ExprId> columns = repeated.of(source).orElse(Set.of());
    places.values().removeIf(each -> !RepeatedColumns.depends(values.get(each), columns));
    return places.isEmpty() ? "%s of the source may give other keys when it is read again".formatted(repeated.culprit()) : null;
  }

  /** What a plan reads, by Spark's estimate. */
  private static double bytes(LogicalPlan plan) {
    List<LogicalPlan> below = SparkInternals.children(plan);
    return below.isEmpty() ? plan.stats().sizeInBytes().doubleValue() : below.stream().mapToDouble(TargetKeys::bytes).sum();
  }

  /**
   * Keys of the broadcast that the search joins with; none if Spark does not broadcast the source. The search is a subquery itself. With a
   * job of their own for the keys, 16 statements at the same time would take all threads that Spark has for subqueries, and wait for ever.
   */
  private static Expression ofBroadcast(Map<Attribute, Integer> places, LogicalPlan source, List<Expression> values) {
    return all(places.entrySet().stream().map(each -> SparkInternals.keysOfBroadcast(each.getKey(), source, values, each.getValue())));
  }

  /** Keys by a job of their own. Those of several columns come of one execution of the source: Spark executes equal parts of plans once. */
  private static Expression ofOwnJob(Map<Attribute, Integer> places, LogicalPlan source, List<Expression> values) {
    List<Expression> chosen = places.values().stream().map(values::get).distinct().toList();
    LogicalPlan distinct = SparkInternals.distinct(chosen, source);
    List<Attribute> columns = SparkInternals.output(distinct);
    return all(
        places.entrySet().stream()
            .map(
                each -> {
                  Attribute value = columns.get(chosen.indexOf(values.get(each.getValue())));
                  LogicalPlan giving = chosen.size() == 1 ? distinct : SparkInternals.distinct(List.of(value), distinct);
                  // One more than a scan takes, so that it takes none if some are missing.
                  Literal most = new Literal(most(value.dataType()) + 1, DataTypes.IntegerType);
                  return SparkInternals.keys(each.getKey(), new GlobalLimit(most, new LocalLimit(most, giving)));
                }));
  }

  private static Expression all(Stream<Expression> conditions) {
    return conditions.reduce(And::new).orElseThrow();
  }
}
