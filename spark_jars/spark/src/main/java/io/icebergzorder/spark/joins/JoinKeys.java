package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.SparkInternals;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.dynamicpruning.PartitionPruning;

/**
 * The keys of joins for the scans of a plan.
 *
 * <p>Spark's own rule adds them as filters: its dynamic partition pruning, run once more while scans name further columns that take keys. Of
 * these filters, only those stay that Spark pushes down to such a scan, for a tight column as it is. So all that Spark has decided before
 * stands, such as which tables skip partitions.
 *
 * <p>Spark copies the plan that gives the keys into each filter, with the filters in it. So each further join may double a plan. The largest
 * tables take keys, as long as the plan does not grow too much.
 */
final class JoinKeys {
  /** How many times as large a plan may become: eight tables joined in a line, of which five take keys, grow to nine times their size. */
  private static final double MOST_GROWTH = 13;

  /** Spark's own limit for rules that are applied until nothing changes. */
  private static final int MOST_ROUNDS = 100;

  private final LogicalPlan plan;
  private final Set<ExprId> known = new HashSet<>();
  private final List<PrunableScan> scans;
  private final List<Set<PrunableScan>> equalScans;

  JoinKeys(LogicalPlan plan) {
    this.plan = plan;
    Set<Scan> giving = new HashSet<>();
    filters(plan)
        .flatMap(JoinKeys::keys)
        .forEach(
            each -> {
              known.add(each.exprId());
              relations(each.buildQuery()).forEach(relation -> giving.add(relation.scan()));
            });
    // Spark takes the keys from a broadcast that is of the same plan. So what gives keys already takes none, or the plans would differ.
    scans =
        relations(plan)
            .filter(each -> !giving.contains(each.scan()))
            .flatMap(each -> PrunableScan.of(each).stream())
            .sorted(Comparator.comparingLong(PrunableScan::tableBytes).reversed())
            .toList();
    equalScans = equalScans();
  }

  /** Keys that a scan takes: for which column, and of which plan in a form that equal plans share. */
  private record Taken(ExprId id, String column, LogicalPlan giving) {
    boolean isAsGoodAs(Taken other) {
      return column.equals(other.column) && giving.equals(other.giving);
    }
  }

  /** A plan with filters of keys, and those keys that a scan takes. */
  private record Pruned(LogicalPlan plan, Map<PrunableScan, Set<Taken>> taken) {
    boolean isTaken(LogicalPlan below, DynamicPruningSubquery key) {
      return taken.getOrDefault(scan(below), Set.of()).stream().anyMatch(each -> each.id.equals(key.exprId()));
    }
  }

  /** The plan whose scans take keys; the plan itself if none does. */
  LogicalPlan added() {
    double most = MOST_GROWTH * size(plan, false, new IdentityHashMap<>());
    LogicalPlan found = plan;
    int enough = 0;
    int tooMany = scans.size() + 1;
    for (int number = scans.size(); number > enough; number = (enough + tooMany) / 2) {
      Pruned pruned = pruned(scans.subList(0, number));
      LogicalPlan with = pruned.taken.isEmpty() ? plan : finished(pruned.plan, pruned, new IdentityHashMap<>());
      if (size(with, true, new IdentityHashMap<>()) <= most) {
        found = with;
        enough = number;
      } else {
        tooMany = number;
      }
    }
    return found;
  }

  /** A plan without the keys that have been added to it and to its subqueries. */
  static LogicalPlan removed(LogicalPlan plan) {
    return SparkInternals.changed(
        without(plan, JoinKeys::isAdded),
        node ->
            SparkInternals.withExpressions(
                scan(node) == null ? node : scan(node).relation(),
                each -> each instanceof SubqueryExpression subquery ? subquery.withNewPlan(removed(subquery.plan())) : each));
  }

  private static boolean isAdded(LogicalPlan below, DynamicPruningSubquery key) {
    PrunableScan scan = scan(below);
    return scan != null && !(key.pruningKey() instanceof Attribute column && scan.isOfPartitions(column));
  }

  /** Lets Spark add keys, until it asks only for columns that are tight: columns for which it asks are measured. */
  private Pruned pruned(List<PrunableScan> offered) {
    while (true) {
      LogicalPlan pushed = pushedDown(without(asked(offered), (below, key) -> isNew(key) && !canBeMade(key)));
      Map<PrunableScan, Set<String>> columns = new HashMap<>();
      Map<PrunableScan, Set<Taken>> taken = new HashMap<>();
      for (Filter filter : filters(pushed).toList()) {
        PrunableScan scan = scan(filter.child());
        for (DynamicPruningSubquery key : keys(filter).filter(this::isNew).toList()) {
          if (scan != null && offered.contains(scan) && key.pruningKey() instanceof Attribute column && scan.offers(column.name())) {
            columns.computeIfAbsent(scan, each -> new HashSet<>()).add(column.name());
            taken
                .computeIfAbsent(scan, each -> new HashSet<>())
                .add(new Taken(key.exprId(), column.name(), key.buildQuery().canonicalized()));
          }
        }
      }
      boolean hasLoose = false;
      for (Map.Entry<PrunableScan, Set<String>> each : columns.entrySet()) {
        hasLoose |= each.getKey().dropsLoose(each.getValue());
      }
      if (!hasLoose) {
        leaveEqualPartsEqual(taken);
        return new Pruned(pushed, taken);
      }
    }
  }

  /** Leaves out keys that only some of equal parts of the plan take: Spark executes equal parts once, and the others need more files. */
  private void leaveEqualPartsEqual(Map<PrunableScan, Set<Taken>> taken) {
    boolean isChanged = true;
    while (isChanged) { // A scan may be in several parts.
      isChanged = false;
      for (Set<PrunableScan> scans : equalScans) {
        List<Set<Taken>> ofEach = scans.stream().map(scan -> taken.getOrDefault(scan, Set.of())).toList();
        for (PrunableScan scan : scans) {
          isChanged |=
              taken.containsKey(scan)
                  && taken.get(scan).removeIf(key -> !ofEach.stream().allMatch(keys -> keys.stream().anyMatch(key::isAsGoodAs)));
        }
      }
    }
    taken.values().removeIf(Set::isEmpty);
  }

  /** Scans at the same place in equal parts of the plan: Spark executes equal joins once, and what equal aggregates read. */
  private List<Set<PrunableScan>> equalScans() {
    Map<LogicalPlan, PrunableScan> byRelation = byRelation(scans);
    return nodes(plan)
        .filter(each -> each instanceof Join || each instanceof Aggregate)
        .map(each -> each instanceof Aggregate aggregate ? aggregate.child() : each)
        .collect(Collectors.groupingBy(LogicalPlan::canonicalized))
        .values()
        .stream()
        .filter(parts -> parts.size() > 1)
        .map(parts -> parts.stream().map(part -> relations(part).map(byRelation::get).toList()).toList())
        .flatMap(
            parts ->
                IntStream.range(0, parts.get(0).size())
                    .mapToObj(place -> parts.stream().map(part -> part.get(place)).collect(Collectors.toSet())))
        .toList();
  }

  /**
   * Whether Spark can make keys: not those of rows and lists, which do not resolve if the names of their fields differ, and not of what
   * reads a common table expression that Spark has not put into the query. It does so last, and finds no such plan in a filter.
   */
  private static boolean canBeMade(DynamicPruningSubquery key) {
    return key.resolved() && !hasNode(key.buildQuery(), "CTERelationRef");
  }

  /** Whether a plan or one of its subqueries has a node of such a name: the classes differ between lines of Spark. */
  static boolean hasNode(LogicalPlan plan, String name) {
    return plan.nodeName().equals(name)
        || Stream.concat(SparkInternals.children(plan).stream(), SparkInternals.subqueries(plan)).anyMatch(each -> hasNode(each, name));
  }

  private LogicalPlan asked(List<PrunableScan> offered) {
    Map<LogicalPlan, PrunableScan> byRelation = byRelation(offered);
    offered.forEach(each -> each.offer(true));
    try {
      return PartitionPruning.apply(SparkInternals.changed(plan, node -> byRelation.containsKey(node) ? byRelation.get(node).forSpark() : node));
    } finally {
      offered.forEach(each -> each.offer(false));
    }
  }

  private static Map<LogicalPlan, PrunableScan> byRelation(List<PrunableScan> scans) {
    Map<LogicalPlan, PrunableScan> found = new IdentityHashMap<>();
    scans.forEach(each -> found.put(each.relation(), each));
    return found;
  }

  private boolean isNew(DynamicPruningSubquery key) {
    return !known.contains(key.exprId());
  }

  /** Leaves out the filters that do not stay, in a plan and in the copies that give keys: those must be as the plans in the joins. */
  private LogicalPlan finished(LogicalPlan pushed, Pruned pruned, Map<LogicalPlan, LogicalPlan> copies) {
    return SparkInternals.changed(
        // Spark has a key under one id at each part of a union, of which some take it.
        without(pushed, (below, key) -> isNew(key) && !pruned.isTaken(below, key)),
        node ->
            SparkInternals.withExpressions(
                withScan(node, pruned.taken.keySet()),
                each ->
                    each instanceof DynamicPruningSubquery key && isNew(key)
                        ? key.withNewPlan(copies.computeIfAbsent(key.buildQuery(), copy -> finished(pushedDown(copy), pruned, copies)))
                        : each));
  }

  /** The node itself, unless it is a scan of those that were offered. */
  private LogicalPlan withScan(LogicalPlan node, Set<PrunableScan> taking) {
    PrunableScan scan = scan(node);
    if (scan == null || !scans.contains(scan)) {
      return node;
    }
    return taking.contains(scan) ? scan.forSpark() : scan.relation();
  }

  /** The proxy whose scan a node reads; null if it reads none. */
  private static PrunableScan scan(LogicalPlan plan) {
    return plan instanceof DataSourceV2ScanRelation relation ? PrunableScan.behind(relation.scan()) : null;
  }

  /** As Spark does after its pruning of partitions. */
  private static LogicalPlan pushedDown(LogicalPlan plan) {
    LogicalPlan before = plan;
    for (int round = 0; round < MOST_ROUNDS; round++) {
      LogicalPlan after = PushDownPredicates.apply(before);
      if (after.fastEquals(before)) {
        break;
      }
      before = after;
    }
    return before;
  }

  /** A plan without some keys, each judged by what it filters and by itself. */
  private static LogicalPlan without(LogicalPlan plan, BiPredicate<LogicalPlan, DynamicPruningSubquery> isLeftOut) {
    return SparkInternals.changed(
        plan,
        node -> {
          if (!(node instanceof Filter filter) || keys(filter).noneMatch(key -> isLeftOut.test(filter.child(), key))) {
            return node;
          }
          return conjuncts(filter.condition())
              .filter(each -> !(each instanceof DynamicPruningSubquery key && isLeftOut.test(filter.child(), key)))
              .reduce(And::new)
              .map(rest -> (LogicalPlan) new Filter(rest, filter.child()))
              .orElse(filter.child());
        });
  }

  private static Stream<Expression> conjuncts(Expression condition) {
    return condition instanceof And and ? Stream.concat(conjuncts(and.left()), conjuncts(and.right())) : Stream.of(condition);
  }

  private static Stream<DynamicPruningSubquery> keys(Filter filter) {
    return conjuncts(filter.condition()).filter(DynamicPruningSubquery.class::isInstance).map(DynamicPruningSubquery.class::cast);
  }

  private static Stream<LogicalPlan> nodes(LogicalPlan plan) {
    return Stream.concat(Stream.of(plan), SparkInternals.children(plan).stream().flatMap(JoinKeys::nodes));
  }

  private static Stream<Filter> filters(LogicalPlan plan) {
    return nodes(plan).filter(Filter.class::isInstance).map(Filter.class::cast);
  }

  private static Stream<DataSourceV2ScanRelation> relations(LogicalPlan plan) {
    return nodes(plan).filter(DataSourceV2ScanRelation.class::isInstance).map(DataSourceV2ScanRelation.class::cast);
  }

  /** How many relations a plan and its subqueries read, with all copies if so wanted. What is found is kept: copies share plans. */
  private static double size(LogicalPlan plan, boolean withCopies, Map<LogicalPlan, Double> found) {
    Double known = found.get(plan);
    if (known == null) {
      List<LogicalPlan> below = SparkInternals.children(plan);
      Stream<LogicalPlan> inside =
          withCopies ? Stream.concat(SparkInternals.subqueries(plan), SparkInternals.copies(plan)) : SparkInternals.subqueries(plan);
      known = (below.isEmpty() ? 1 : 0) + Stream.concat(below.stream(), inside).mapToDouble(each -> size(each, withCopies, found)).sum();
      found.put(plan, known);
    }
    return known;
  }
}
