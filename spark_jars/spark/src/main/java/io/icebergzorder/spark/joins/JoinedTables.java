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
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * The tables of a plan and of its subqueries, and the ways in which they are joined.
 *
 * <p>Spark copies the plan that gives the keys into each scan that takes them, with the keys that it takes itself. So each further join may
 * double a plan, and a join with a union copies it into each part.
 */
final class JoinedTables {
  /** How many times as large a plan may become. */
  private static final double MOST_GROWTH = 32;

  private final Node root;
  private final List<LogicalPlan> tables = new ArrayList<>();

  /** A table, or a node of the plan with tables below it. {@code takes} are tables that a subquery, planned before, offered to Spark. */
  private record Node(LogicalPlan table, boolean takes, boolean isUnion, List<Node> below) {}

  JoinedTables(LogicalPlan plan) {
    root = node(plan);
  }

  /** The plan's own tables of Iceberg. */
  List<LogicalPlan> tables() {
    return tables;
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
    if (root == null || growth(root, takers) <= MOST_GROWTH) {
      return takers;
    }
    takers.clear();
    for (LogicalPlan each : tables.stream().sorted(Comparator.comparingLong(JoinedTables::bytes).reversed()).toList()) {
      takers.add(each);
      if (growth(root, takers) > MOST_GROWTH) {
        takers.remove(each);
      }
    }
    return takers;
  }

  /** Null without tables below. */
  private Node node(LogicalPlan plan) {
    if (isTable(plan)) {
      tables.add(plan);
      return new Node(plan, false, false, List.of());
    }
    if (takesKeys(plan)) {
      return new Node(plan, true, false, List.of());
    }
    List<Node> below =
        Stream.concat(SparkInternals.children(plan).stream(), SparkInternals.subqueries(plan).stream())
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

  /** How many times as large Spark makes a plan of a line of joins. */
  private static double growth(Node node, Set<LogicalPlan> takers) {
    if (node.table != null) {
      return node.takes || takers.contains(node.table) ? 2 : 1;
    }
    double product = 1;
    double largest = 1;
    int taking = 0;
    for (Node each : node.below) {
      double growth = growth(each, takers);
      product *= growth;
      largest = Math.max(largest, growth);
      taking += growth > 1 ? 1 : 0;
    }
    return node.isUnion ? largest * (1 + Math.max(1, taking)) / 2 : product;
  }

  private static long bytes(LogicalPlan table) {
    Snapshot snapshot = table(table).currentSnapshot();
    return snapshot == null ? 0 : PropertyUtil.propertyAsLong(snapshot.summary(), SnapshotSummary.TOTAL_FILE_SIZE_PROP, 0);
  }
}
