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
  // The plan's own tables of Iceberg that are read.
  private final List<LogicalPlan> tables = new ArrayList<>();
  private final List<LogicalPlan> sources = new ArrayList<>();

  /** A table, or a node of the plan with tables below it. {@code takes} are tables that a subquery, planned before, offered to Spark. */
  private record Node(LogicalPlan table, boolean takes, boolean isUnion, List<Node> below) {}

  JoinedTables(LogicalPlan plan) {
    // Spark removes parts that give no rows (a union's, of which the query asks for another) after it has asked for keys.
    root = node(PropagateEmptyRelation.apply(plan));
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

  /** The tables that take keys: the largest, as long as the plan does not grow too much. */
  Set<LogicalPlan> takers() {
    Set<LogicalPlan> takers = Collections.newSetFromMap(new IdentityHashMap<>());
    takers.addAll(tables);
    if (root == null || isSmall(takers)) {
      return takers;
    }
    takers.clear();
    for (LogicalPlan each : tables.stream().sorted(Comparator.comparingLong(JoinedTables::bytes).reversed()).toList()) {
      takers.add(each);
      if (!isSmall(takers)) {
        takers.remove(each);
      }
    }
    return takers;
  }

  /** Null without tables below. */
  private Node node(LogicalPlan plan) {
    if (SparkInternals.children(plan).isEmpty()) {
      sources.add(plan);
    }
    if (isTable(plan)) {
      tables.add(plan);
      leaves++;
      return new Node(plan, false, false, List.of());
    }
    if (takesKeys(plan)) {
      leaves++;
      return new Node(plan, true, false, List.of());
    }
    List<Node> below =
        Stream.concat(SparkInternals.children(plan).stream(), SparkInternals.subqueries(plan))
            .map(this::node)
            .filter(Objects::nonNull)
            .toList();
    return below.size() < 2 ? below.stream().findFirst().orElse(null) : new Node(null, false, plan instanceof Union, below);
  }

  private static boolean takesKeys(LogicalPlan plan) {
    return plan instanceof DataSourceV2Relation relation
        ? relation.table() instanceof StandIn.Marker
        : plan instanceof DataSourceV2ScanRelation read
            && read.scan() instanceof StandIn.Marker
            && ((SupportsRuntimeV2Filtering) read.scan()).filterAttributes().length > 0;
  }

  private boolean isSmall(Set<LogicalPlan> takers) {
    return size(root, takers).tables <= MOST_GROWTH * leaves;
  }

  /** The size of a plan in tables, copies included, and how many of its tables take keys of a join with another plan. */
  private record Size(double tables, double takers) {}

  private static Size size(Node node, Set<LogicalPlan> takers) {
    if (node.table != null) {
      return new Size(1, node.takes || takers.contains(node.table) ? 1 : 0);
    }
    Size all = new Size(0, 0);
    for (Node below : node.below) {
      Size each = size(below, takers);
      double copies = node.isUnion ? 0 : Math.max(all.takers * each.tables, each.takers * all.tables);
      all = new Size(all.tables + each.tables + copies, all.takers + each.takers);
    }
    return all;
  }

  private static long bytes(LogicalPlan table) {
    Snapshot snapshot = table(table).currentSnapshot();
    return snapshot == null ? 0 : PropertyUtil.propertyAsLong(snapshot.summary(), SnapshotSummary.TOTAL_FILE_SIZE_PROP, 0);
  }
}
