package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.SparkInternals;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.BaseMetadataTable;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.spark.sql.catalyst.optimizer.PropagateEmptyRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * The tables of a plan and of its subqueries, and the ways in which they are joined.
 *
 * <p>Spark copies the plan that gives the keys into each scan that takes them, with the keys that it takes itself. So each further join may
 * double a plan, and a join with a union copies one into each part.
 */
final class JoinedTables {
  /** How many times as large a plan may become: eight that are joined in a line, of which five take keys, grow to nine times their size. */
  private static final double MOST_GROWTH = 13;

  private final Node root;
  private int leaves;
  private final List<LogicalPlan> sources = new ArrayList<>();
  // The plan's own tables, and scans of subqueries, which Spark plans before.
  private final List<LogicalPlan> undecided = new ArrayList<>();
  private final List<Scan> finished = new ArrayList<>();
  private boolean isRecursive;
  private final Set<LogicalPlan> takers = Collections.newSetFromMap(new IdentityHashMap<>());

  /** A table, or a node of the plan with tables below it; {@code copies} are tables in plans that Spark has copied into the node before. */
  private record Node(LogicalPlan table, long copies, boolean isUnion, List<Node> below) {}

  JoinedTables(LogicalPlan plan) {
    // Spark removes parts that give no rows (a union's, of which the query asks for another) after it has asked for keys.
    root = node(PropagateEmptyRelation.apply(plan), false);
    if (isRecursive) {
      takers.clear();
      undecided.stream().filter(each -> !isTable(each)).map(JoinedTables::scan).forEach(finished::add);
    } else if (!undecided.isEmpty()) {
      decide();
    }
  }

  /** What the plan reads, of whatever kind. */
  List<LogicalPlan> sources() {
    return sources;
  }

  /** Whether a node reads a table of Iceberg's. Subclasses (tables of staged rewrites among them) read in ways of their own. */
  static boolean isTable(LogicalPlan plan) {
    return plan instanceof DataSourceV2Relation relation
        && relation.table().getClass() == SparkTable.class
        && !(((SparkTable) relation.table()).table() instanceof BaseMetadataTable);
  }

  static Table table(LogicalPlan relation) {
    return ((SparkTable) ((DataSourceV2Relation) relation).table()).table();
  }

  /**
   * Whether a node stands for what a recursive query has found so far. Spark runs the recursive part as a new query, in which keys do not
   * resolve, so that no table of such a query takes keys.
   */
  static boolean isOfRecursion(LogicalPlan plan) {
    return plan.nodeName().equals("UnionLoopRef");
  }

  /** The tables that take keys: the largest, as long as the plan does not grow too much. */
  Set<LogicalPlan> takers() {
    return takers;
  }

  /** The scans of subqueries that are to take no more keys than they do. */
  List<Scan> finished() {
    return finished;
  }

  private void decide() {
    takers.addAll(undecided);
    if (!isSmall()) {
      undecided.forEach(takers::remove);
      for (LogicalPlan each : undecided.stream().sorted(Comparator.comparingLong(JoinedTables::bytes).reversed()).toList()) {
        takers.add(each);
        if (!isSmall()) {
          takers.remove(each);
        }
      }
    }
    undecided.stream().filter(each -> !isTable(each) && !takers.contains(each)).map(JoinedTables::scan).forEach(finished::add);
  }

  /** Null without tables below. {@code hasKeys} says whether Spark has added keys to the rows of the plan. */
  private Node node(LogicalPlan plan, boolean hasKeys) {
    List<LogicalPlan> children = SparkInternals.children(plan);
    if (children.isEmpty()) {
      sources.add(plan);
      isRecursive |= isOfRecursion(plan);
    }
    if (plan instanceof DataSourceV2Relation relation && (isTable(plan) || relation.table() instanceof StandIn.Marker)) {
      (isTable(plan) ? undecided : takers).add(plan);
      return leaf(plan);
    }
    if (plan instanceof DataSourceV2ScanRelation read && read.scan() instanceof StandIn.Marker) {
      // Spark would ask a scan that has keys again, also for the joins of its subquery.
      if (hasKeys) {
        finished.add(read.scan());
      } else if (((SupportsRuntimeV2Filtering) read.scan()).filterAttributes().length > 0) {
        undecided.add(plan);
      }
      return leaf(plan);
    }
    long copies = SparkInternals.copies(plan).mapToLong(JoinedTables::count).sum();
    boolean haveKeys = copies > 0 || (hasKeys && children.size() == 1);
    List<Node> below =
        Stream.concat(children.stream().map(each -> node(each, haveKeys)), SparkInternals.subqueries(plan).map(each -> node(each, false)))
            .filter(Objects::nonNull)
            .toList();
    boolean isPassed = below.isEmpty() || (below.size() == 1 && copies == 0);
    return isPassed ? below.stream().findFirst().orElse(null) : new Node(null, copies, plan instanceof Union, below);
  }

  private Node leaf(LogicalPlan plan) {
    leaves++;
    return new Node(plan, 0, false, List.of());
  }

  private static Scan scan(LogicalPlan plan) {
    return ((DataSourceV2ScanRelation) plan).scan();
  }

  /** How many tables a plan reads, those of all its subqueries and copies included. */
  private static long count(LogicalPlan plan) {
    List<LogicalPlan> below = SparkInternals.children(plan);
    Stream<LogicalPlan> inside = Stream.concat(SparkInternals.subqueries(plan), SparkInternals.copies(plan));
    return (below.isEmpty() ? 1 : 0) + Stream.concat(below.stream(), inside).mapToLong(JoinedTables::count).sum();
  }

  private boolean isSmall() {
    return size(root).tables <= MOST_GROWTH * leaves;
  }

  /** The size of a plan in tables, copies included, and how many of its tables take keys of a join with another plan. */
  private record Size(double tables, double takers) {}

  private Size size(Node node) {
    if (node.table != null) {
      return new Size(1, takers.contains(node.table) ? 1 : 0);
    }
    Size all = new Size(node.copies, 0);
    for (Node below : node.below) {
      Size each = size(below);
      double copies = node.isUnion ? 0 : Math.max(all.takers * each.tables, each.takers * all.tables);
      all = new Size(all.tables + each.tables + copies, all.takers + each.takers);
    }
    return all;
  }

  private static long bytes(LogicalPlan plan) {
    Snapshot snapshot = (isTable(plan) ? table(plan) : PrunableScan.table(scan(plan))).currentSnapshot();
    return snapshot == null ? 0 : PropertyUtil.propertyAsLong(snapshot.summary(), SnapshotSummary.TOTAL_FILE_SIZE_PROP, 0);
  }
}
