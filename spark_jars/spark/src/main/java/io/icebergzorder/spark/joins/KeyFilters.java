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
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.dynamicpruning.PartitionPruning;

/**
 * Adds filters by the keys of joins to a plan: Spark makes them, and scans of Iceberg tables take them.
 *
 * <p>Spark's own rule, dynamic partition pruning, runs again while scans name columns that are not of partitions. A filter that it adds
 * stays only if Spark pushes it down to such a scan, and if it compares a tight column itself, without a cast or an expression. So all that
 * Spark has decided before stands, such as which tables skip partitions.
 *
 * <p>Spark copies the plan that gives the keys into each filter, with the filters in it. So each further join may double a plan. The largest
 * tables take keys, as long as the plan does not grow too much.
 */
final class KeyFilters {
  /**
   * How many times as many relations as the query a plan may read, with those of its filters. Of eight tables joined in a line, five then
   * take keys: these plans read nine times as many.
   */
  private static final double MOST_GROWTH = 13;

  /** As many as Spark's optimizer makes by default. */
  private static final int MOST_ROUNDS = 100;

  private final LogicalPlan plan;
  private final Set<ExprId> idsOfSpark = new HashSet<>();
  private final List<PrunableScan> scans;

  KeyFilters(LogicalPlan plan) {
    this.plan = plan;
    Set<Scan> giving = new HashSet<>();
    filters(plan)
        .flatMap(KeyFilters::keys)
        .forEach(
            each -> {
              idsOfSpark.add(each.exprId());
              relations(each.buildQuery()).forEach(relation -> giving.add(relation.scan()));
            });
    // Spark reuses a broadcast only for an equal plan. So scans that already give keys to others take none, which would change one of two.
    scans =
        relations(plan)
            .filter(each -> !giving.contains(each.scan()))
            .flatMap(each -> PrunableScan.of(each).stream())
            .sorted(Comparator.comparingLong(PrunableScan::tableBytes).reversed())
            .toList();
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
  LogicalPlan planWithKeys() {
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

  /** A plan without the filters that have been added to it and to its subqueries. */
  static LogicalPlan withoutAdded(LogicalPlan plan) {
    return SparkInternals.changed(
        without(plan, KeyFilters::isAdded),
        node ->
            SparkInternals.withExpressions(
                scan(node) == null ? node : scan(node).relation(),
                each -> each instanceof SubqueryExpression subquery ? subquery.withNewPlan(withoutAdded(subquery.plan())) : each));
  }

  private static boolean isAdded(LogicalPlan below, DynamicPruningSubquery key) {
    PrunableScan scan = scan(below);
    return scan != null && !(key.pruningKey() instanceof Attribute column && scan.isOfPartitions(column));
  }

  /** Lets scans name their candidates to Spark until it uses only tight ones: those that it uses are measured, and loose ones taken out. */
  private Pruned pruned(List<PrunableScan> chosen) {
    while (true) {
      LogicalPlan pushed = pushedDown(without(withSparksKeys(chosen), (below, key) -> isNew(key) && !canBeMade(key)));
      Map<PrunableScan, Set<String>> columns = new HashMap<>();
      Map<PrunableScan, Set<Taken>> taken = new HashMap<>();
      for (Filter filter : filters(pushed).toList()) {
        PrunableScan scan = scan(filter.child());
        for (DynamicPruningSubquery key : keys(filter).filter(this::isNew).toList()) {
          if (scan != null && chosen.contains(scan) && key.pruningKey() instanceof Attribute column && scan.isCandidate(column.name())) {
            columns.computeIfAbsent(scan, each -> new HashSet<>()).add(column.name());
            taken
                .computeIfAbsent(scan, each -> new HashSet<>())
                .add(new Taken(key.exprId(), column.name(), canonical(key.buildQuery())));
          }
        }
      }
      boolean hasLoose = false;
      for (Map.Entry<PrunableScan, Set<String>> each : columns.entrySet()) {
        hasLoose |= each.getKey().removesLoose(each.getValue());
      }
      if (!hasLoose) {
        leaveEqualPartsEqual(taken);
        return new Pruned(pushed, taken);
      }
    }
  }

  /** Leaves out keys that only some of equal parts of the plan take: Spark executes equal parts once, and the others need more files. */
  private void leaveEqualPartsEqual(Map<PrunableScan, Set<Taken>> taken) {
    boolean isChanged = !taken.isEmpty();
    List<Set<PrunableScan>> equalScans = isChanged ? equalScans() : List.of();
    while (isChanged) { // A scan may be in several parts.
      isChanged = false;
      for (Set<PrunableScan> alike : equalScans) {
        List<Set<Taken>> ofEach = alike.stream().map(scan -> taken.getOrDefault(scan, Set.of())).toList();
        for (PrunableScan scan : alike) {
          isChanged |=
              taken.containsKey(scan)
                  && taken.get(scan).removeIf(key -> !ofEach.stream().allMatch(keys -> keys.stream().anyMatch(key::isAsGoodAs)));
        }
      }
    }
    taken.values().removeIf(Set::isEmpty);
  }

  /** Scans at the same place in equal parts of the plan that Spark shuffles, which it does once; null for a scan that can take no keys. */
  private List<Set<PrunableScan>> equalScans() {
    Map<LogicalPlan, PrunableScan> byRelation = byRelation(scans);
    return nodes(plan)
        .filter(KeyFilters::isShuffled)
        .flatMap(each -> SparkInternals.children(each).stream())
        .collect(Collectors.groupingBy(KeyFilters::canonical))
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

  /** Whether Spark shuffles what a node reads. Joins do not count: each of their sides mostly reads less with keys of its own. */
  private static boolean isShuffled(LogicalPlan node) {
    return node instanceof Aggregate
        || node instanceof Window
        || node instanceof RepartitionOperation
        || node instanceof RebalancePartitions;
  }

  /** A form that is equal for plans that Spark executes once. */
  private static LogicalPlan canonical(LogicalPlan plan) {
    return SparkInternals.changed(plan, node -> node instanceof DataSourceV2ScanRelation relation ? SparkInternals.withoutIds(relation) : node)
        .canonicalized();
  }

  /**
   * Whether Spark can run what gives the keys. It cannot if the key does not resolve, as rows whose fields have other names, or if the plan
   * reads a common table expression that is not inlined: Spark puts it in after all rules, and does not look into filters.
   */
  private static boolean canBeMade(DynamicPruningSubquery key) {
    return key.resolved() && !hasNode(key.buildQuery(), "CTERelationRef");
  }

  /** Whether a plan or one of its subqueries has a node of such a name: the classes differ between lines of Spark. */
  static boolean hasNode(LogicalPlan plan, String name) {
    return plan.nodeName().equals(name)
        || Stream.concat(SparkInternals.children(plan).stream(), SparkInternals.subqueries(plan)).anyMatch(each -> hasNode(each, name));
  }

  private LogicalPlan withSparksKeys(List<PrunableScan> chosen) {
    Map<LogicalPlan, PrunableScan> byRelation = byRelation(chosen);
    chosen.forEach(each -> each.nameCandidates(true));
    try {
      return PartitionPruning.apply(SparkInternals.changed(plan, node -> byRelation.containsKey(node) ? byRelation.get(node).forSpark() : node));
    } finally {
      chosen.forEach(each -> each.nameCandidates(false));
    }
  }

  private static Map<LogicalPlan, PrunableScan> byRelation(List<PrunableScan> scans) {
    Map<LogicalPlan, PrunableScan> found = new IdentityHashMap<>();
    scans.forEach(each -> found.put(each.relation(), each));
    return found;
  }

  private boolean isNew(DynamicPruningSubquery key) {
    return !idsOfSpark.contains(key.exprId());
  }

  /** Leaves out the filters that no scan takes. Copies that give keys are treated alike: Spark reuses a broadcast only for an equal plan. */
  private LogicalPlan finished(LogicalPlan pushed, Pruned pruned, Map<LogicalPlan, LogicalPlan> copies) {
    return SparkInternals.changed(
        // Above a union, Spark repeats a filter, with its id, in every part; only some parts take it.
        without(pushed, (below, key) -> isNew(key) && !pruned.isTaken(below, key)),
        node ->
            SparkInternals.withExpressions(
                withScan(node, pruned.taken.keySet()),
                each ->
                    each instanceof DynamicPruningSubquery key && isNew(key)
                        ? key.withNewPlan(copies.computeIfAbsent(key.buildQuery(), copy -> finished(pushedDown(copy), pruned, copies)))
                        : each));
  }

  /** The node itself, unless it reads one of the scans that may take keys. */
  private LogicalPlan withScan(LogicalPlan node, Set<PrunableScan> taking) {
    PrunableScan scan = scan(node);
    if (scan == null || !scans.contains(scan)) {
      return node;
    }
    return taking.contains(scan) ? scan.forSpark() : scan.relation();
  }

  /** What stands behind the scan that a node reads; null if that is Iceberg's own, or none. */
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

  static Stream<Expression> conjuncts(Expression condition) {
    return condition instanceof And and ? Stream.concat(conjuncts(and.left()), conjuncts(and.right())) : Stream.of(condition);
  }

  private static Stream<DynamicPruningSubquery> keys(Filter filter) {
    return conjuncts(filter.condition()).filter(DynamicPruningSubquery.class::isInstance).map(DynamicPruningSubquery.class::cast);
  }

  private static Stream<LogicalPlan> nodes(LogicalPlan plan) {
    return Stream.concat(Stream.of(plan), SparkInternals.children(plan).stream().flatMap(KeyFilters::nodes));
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
