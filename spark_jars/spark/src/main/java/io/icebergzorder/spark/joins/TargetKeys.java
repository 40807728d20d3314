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
import org.apache.spark.sql.catalyst.optimizer.ColumnPruning$;
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
 * <p>The scan that reads the files which copy-on-write replaces takes no keys: the commit deletes every file of that scan, so all of their
 * rows must be read.
 *
 * <p>Spark's dynamic pruning needs a broadcast side that has a filter. A batch of changes has no filter, and an outer join cannot broadcast
 * the side whose rows it keeps. So a job runs the source a second time for its distinct keys; only a search takes them from its broadcast.
 * If the second run gave other keys, the join would miss rows of the target, and a MERGE insert them again: see {@link RepeatedColumns}.
 */
final class TargetKeys {
  private static final Logger LOG = LoggerFactory.getLogger(TargetKeys.class);

  /** The target's scan must read at least this many times the bytes of the source, by Spark's estimates. */
  private static final double LEAST_RATIO = 4;

  /** Sources up to this size may be read again whatever the target is. */
  private static final double SMALL_SOURCE_BYTES = 1 << 20;

  private static final String FILE = "_file";

  private final Kind kind;
  private final Predicate<DataSourceV2ScanRelation> isTarget;

  private enum Kind {
    /** The target's only scan in a merge-on-read statement. */
    CHANGE,
    /** The query by which Spark finds the files that a copy-on-write statement replaces. */
    SEARCH,
    /** The scan by which a MERGE that only inserts, or an INSERT with NOT EXISTS, finds out which rows are there. */
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
  static LogicalPlan withKeyFilters(LogicalPlan plan) {
    return of(plan)
        .map(keys -> SparkInternals.changed(plan, node -> node instanceof Join join ? keys.withKeys(join) : node))
        .orElse(plan);
  }

  private static Optional<TargetKeys> of(LogicalPlan plan) {
    if (plan instanceof WriteDelta) {
      return Optional.of(new TargetKeys(Kind.CHANGE, PrunableScan::isOfChange));
    }
    if (plan instanceof Subquery && findsFiles(plan)) {
      Predicate<DataSourceV2ScanRelation> hasFiles =
          each -> SparkInternals.output(each).stream().anyMatch(column -> column.name().equals(FILE));
      return Optional.of(new TargetKeys(Kind.SEARCH, hasFiles));
    }
    if (plan instanceof AppendData append && append.table() instanceof DataSourceV2Relation target) {
      return Optional.of(new TargetKeys(Kind.INSERT, each -> each.relation().table().name().equals(target.table().name())));
    }
    return Optional.empty();
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
    List<Expression> leftKeys = SparkInternals.list(keys.get().productElement(1), Expression.class);
    List<Expression> rightKeys = SparkInternals.list(keys.get().productElement(2), Expression.class);
    LogicalPlan left = dropsLeft ? withKeys(join.left(), leftKeys, join.right(), rightKeys) : join.left();
    LogicalPlan right = dropsRight && left == join.left() ? withKeys(join.right(), rightKeys, join.left(), leftKeys) : join.right();
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
      LOG.info("No keys of a statement's source for {}: {}", target.relation().table().name(), reason);
      return side;
    }
    Expression condition = kind == Kind.SEARCH ? keysFromBroadcast(places, source, values) : keysFromJob(places, source, values);
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
    if (bytes(source) > Math.max(SMALL_SOURCE_BYTES, bytes(target) / LEAST_RATIO)) {
      return "the source reads more than 1 MiB, and more than a quarter of what the target's scan reads";
    }
    places.keySet().removeIf(each -> !scan.isCandidate(each.name()));
    scan.removesLoose(places.keySet().stream().map(Attribute::name).collect(Collectors.toSet()));
    places.keySet().removeIf(each -> !scan.isCandidate(each.name()));
    if (places.isEmpty()) {
      return "the condition compares no tight column with the source by =";
    }
    if (kind == Kind.SEARCH) {
      return null;
    }
    RepeatedColumns repeated = new RepeatedColumns();
    Set<ExprId> columns = repeated.of(source).orElse(Set.of());
    places.values().removeIf(each -> !RepeatedColumns.depends(values.get(each), columns));
    return places.isEmpty() ? repeated.reason() : null;
  }

  /** What a plan reads, by Spark's estimate. */
  private static double bytes(LogicalPlan plan) {
    List<LogicalPlan> below = SparkInternals.children(plan);
    return below.isEmpty() ? plan.stats().sizeInBytes().doubleValue() : below.stream().mapToDouble(TargetKeys::bytes).sum();
  }

  /**
   * Keys of the broadcast that the search joins with; none if Spark does not broadcast the source. The search is a subquery already. A job for
   * the keys would need a second one of the 16 threads that Spark has for subqueries, and 16 statements at once would wait for ever.
   */
  private static Expression keysFromBroadcast(Map<Attribute, Integer> places, LogicalPlan source, List<Expression> values) {
    return all(places.entrySet().stream().map(each -> SparkInternals.keysOfBroadcast(each.getKey(), source, values, each.getValue())));
  }

  /** Keys by a job of their own, which reads no other columns of files. All have one distinct plan below them, so that Spark can run it once. */
  private static Expression keysFromJob(Map<Attribute, Integer> places, LogicalPlan source, List<Expression> values) {
    List<Expression> chosen = places.values().stream().map(values::get).distinct().toList();
    LogicalPlan distinct = ColumnPruning$.MODULE$.apply(SparkInternals.distinct(chosen, source));
    List<Attribute> columns = SparkInternals.output(distinct);
    return all(
        places.entrySet().stream()
            .map(
                each -> {
                  Attribute value = columns.get(chosen.indexOf(values.get(each.getValue())));
                  LogicalPlan giving = chosen.size() == 1 ? distinct : SparkInternals.distinct(List.of(value), distinct);
                  // One key too many: the scan then sees that some are missing, and takes none.
                  Literal most = new Literal(most(value.dataType()) + 1, DataTypes.IntegerType);
                  return SparkInternals.keys(each.getKey(), new GlobalLimit(most, new LocalLimit(most, giving)));
                }));
  }

  private static Expression all(Stream<Expression> conditions) {
    return conditions.reduce(And::new).orElseThrow();
  }
}
