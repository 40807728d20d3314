package io.icebergzorder.spark;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Keys;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.MetricsModes;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Resolves the names of a sort order against a table, and refuses what cannot be clustered by. */
final class ClusteringColumns {
  private static final Logger LOG = LoggerFactory.getLogger(ClusteringColumns.class);

  private static final String METRICS_PREFIX = "write.metadata.metrics.column.";

  private final Table table;
  private final boolean caseSensitive;

  private ClusteringColumns(Table table, boolean caseSensitive) {
    this.table = table;
    this.caseSensitive = caseSensitive;
  }

  /**
   * Resolves clustering columns.
   *
   * @param table the table, whose schema and metrics configuration are consulted
   * @param names the columns as written, each as its parts
   * @param outputSpec the partition spec of the files to be written; its identity columns are constant in a file
   *     and therefore ignored, with a warning
   * @param caseSensitive whether names differ by case
   * @return at least one column, named as the schema names it
   * @throws IllegalArgumentException if a column is unknown, ambiguous, named twice, of a type without an order,
   *     or without lower/upper bounds; or if no column is left
   */
  static List<ClusteringColumn> resolve(
      Table table, List<List<String>> names, PartitionSpec outputSpec, boolean caseSensitive) {
    ClusteringColumns resolver = new ClusteringColumns(table, caseSensitive);
    MetricsConfig metrics = MetricsConfig.forTable(table);
    Set<Integer> identity = identitySources(outputSpec);
    Set<Integer> seen = new HashSet<>();
    List<ClusteringColumn> columns = new ArrayList<>();
    for (List<String> parts : names) {
      List<Types.NestedField> path = resolver.find(parts);
      Types.NestedField field = path.get(path.size() - 1);
      ClusteringColumn column = clusteringColumn(path, parts);
      if (!seen.add(field.fieldId())) {
        throw new IllegalArgumentException(
            String.format("Cannot cluster by column %s twice, because each clustering column counts once", column.name()));
      }
      if (identity.contains(field.fieldId())) {
        LOG.warn("Ignored clustering column {} of {}: the table is partitioned by it", column.name(), table.name());
        continue;
      }
      checkKeepsBounds(metrics, table, column, field);
      columns.add(column);
    }
    if (columns.isEmpty()) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot cluster by %s, because %s is partitioned by every one of these columns",
              names.stream().map(parts -> String.join(".", parts)).collect(Collectors.joining(", ")), table.name()));
    }
    return columns;
  }

  private static Set<Integer> identitySources(PartitionSpec spec) {
    return spec.fields().stream()
        .filter(field -> field.transform().isIdentity())
        .map(PartitionField::sourceId)
        .collect(Collectors.toSet());
  }

  /** The fields from the top-level column down to the named one. */
  private List<Types.NestedField> find(List<String> parts) {
    List<Types.NestedField> path = new ArrayList<>();
    Types.StructType struct = table.schema().asStruct();
    for (String part : parts) {
      if (!path.isEmpty()) {
        Types.NestedField parent = path.get(path.size() - 1);
        if (!parent.type().isStructType()) {
          throw new IllegalArgumentException(
              String.format(
                  "Cannot cluster by column %s, because %s is of type %s: only fields of structs can be named inside a column",
                  display(parts), parent.name(), parent.type()));
        }
        struct = parent.type().asStructType();
      }
      path.add(child(struct, part, parts));
    }
    return path;
  }

  private Types.NestedField child(Types.StructType struct, String part, List<String> parts) {
    List<Types.NestedField> found =
        struct.fields().stream()
            .filter(field -> caseSensitive ? field.name().equals(part) : field.name().equalsIgnoreCase(part))
            .toList();
    if (found.size() == 1) {
      return found.get(0);
    }

    String names = struct.fields().stream().map(Types.NestedField::name).collect(Collectors.joining(", "));
    throw new IllegalArgumentException(
        found.isEmpty()
            ? String.format(
                "Cannot cluster by column %s, because %s has no such column: it has %s",
                display(parts), table.name(), names)
            : String.format(
                "Cannot cluster by column %s, because the name is ambiguous when case does not count: %s has %s",
                display(parts), table.name(), names));
  }

  private static ClusteringColumn clusteringColumn(List<Types.NestedField> path, List<String> parts) {
    Type type = path.get(path.size() - 1).type();
    try {
      Keys.domain(type.toString());
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot cluster by column %s, because its type %s has no lower/upper bounds to prune by%s",
              display(parts), type.typeId().name().toLowerCase(Locale.ROOT), type.isStructType() ? ": name one of its fields" : ""),
          e);
    }
    return new ClusteringColumn(path.stream().map(Types.NestedField::name).toList(), type.toString());
  }

  private static void checkKeepsBounds(
      MetricsConfig metrics, Table table, ClusteringColumn column, Types.NestedField field) {
    String name = table.schema().findColumnName(field.fieldId());
    MetricsModes.MetricsMode mode = metrics.columnMode(name);
    if (mode instanceof MetricsModes.None || mode instanceof MetricsModes.Counts) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot cluster by column %s, because %s keeps no lower/upper bounds for it (metrics mode %s), so no file"
                  + " could be skipped: ALTER TABLE ... SET TBLPROPERTIES ('%s' = 'full') first",
              column.name(), table.name(), mode, METRICS_PREFIX + name));
    }
  }

  private static String display(List<String> parts) {
    return "'" + String.join(".", parts) + "'";
  }
}
