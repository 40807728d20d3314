package io.icebergzorder.spark.spec;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.MetricsCheck;
import io.icebergzorder.core.SortOrder;
import io.icebergzorder.core.SortOrder.PrefixColumn;
import io.icebergzorder.core.SortOrder.PrefixOrder;
import io.icebergzorder.core.SpelledAlike;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.core.ZOrderOptions.ColumnWeight;
import io.icebergzorder.spark.bounds.KeptBounds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.MetricsModes;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/** Resolves the names of a sort order on a table, and refuses unsuitable columns. */
public final class ClusteringColumns {
  /** The place of a clustering column that files are partitioned by. */
  private static final int IGNORED = -1;

  private final Table table;
  private final boolean caseSensitive;
  private final boolean refusesWithoutBounds;

  private final Set<Integer> identity;
  private final Set<Integer> seen = new HashSet<>();

  private ClusteringColumns(Table table, PartitionSpec outputSpec, boolean caseSensitive, boolean refusesWithoutBounds) {
    this.table = table;
    this.caseSensitive = caseSensitive;
    this.refusesWithoutBounds = refusesWithoutBounds;
    this.identity = outputSpec.identitySourceIds();
  }

  /** Resolves a sort order for files of a partition spec, whose identity columns, constant in a file, are ignored. */
  static ResolvedSortOrder resolve(
      CatalogTable target, SortOrder sortOrder, ZOrderOptions options, PartitionSpec outputSpec, boolean isForReport) {
    boolean refuses = !isForReport && options.refusesBadMetrics();
    return new ClusteringColumns(target.table(), outputSpec, target.isCaseSensitive(), refuses).order(sortOrder, options.columnWeights());
  }

  static void checkNames(CatalogTable target, SortOrder sortOrder) {
    Table table = target.table();
    sortOrder.names().forEach(new ClusteringColumns(table, table.spec(), target.isCaseSensitive(), false)::find);
  }

  private ResolvedSortOrder order(SortOrder sortOrder, List<ColumnWeight> weights) {
    List<ClusteringColumn> prefix = new ArrayList<>();
    List<PrefixOrder> prefixOrders = new ArrayList<>();
    for (PrefixColumn column : sortOrder.prefix()) {
      resolve(column.parts()).ifPresent(resolved -> {
        prefix.add(resolved);
        prefixOrders.add(column.order());
      });
    }
    List<ClusteringColumn> columns = new ArrayList<>();
    List<String> ignored = new ArrayList<>();
    Map<Integer, Integer> placeOf = new HashMap<>();
    for (List<String> parts : sortOrder.columns()) {
      int field = fieldId(parts);
      Optional<ClusteringColumn> column = resolve(parts);
      placeOf.put(field, column.isPresent() ? columns.size() : IGNORED);
      column.ifPresentOrElse(columns::add, () -> ignored.add(String.join(".", parts)));
    }
    if (columns.isEmpty()) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot cluster by %s, because %s is partitioned by every one of these columns",
              sortOrder.columns().stream().map(parts -> String.join(".", parts)).collect(Collectors.joining(", ")),
              table.name()));
    }
    return new ResolvedSortOrder(
        List.of(), prefix, prefixOrders, columns, weights(weights, placeOf, columns.size()), sortOrder.curve(), ignored);
  }

  /** The column of a name; empty if files are partitioned by it. */
  private Optional<ClusteringColumn> resolve(List<String> parts) {
    List<Types.NestedField> path = find(parts);
    Types.NestedField field = path.get(path.size() - 1);
    ClusteringColumn column = clusteringColumn(path, parts);
    if (!seen.add(field.fieldId())) {
      throw new IllegalArgumentException(
          "Cannot cluster by column %s twice, because each clustering column counts once".formatted(column.name()));
    }
    if (identity.contains(field.fieldId())) {
      return Optional.empty();
    }
    if (refusesWithoutBounds) {
      checkKeepsBounds(MetricsConfig.forTable(table), table, column, field);
    }
    return Optional.of(column);
  }

  private double[] weights(List<ColumnWeight> given, Map<Integer, Integer> placeOf, int columns) {
    double[] weights = new double[columns];
    Arrays.fill(weights, 1);
    Set<Integer> weighted = new HashSet<>();
    for (ColumnWeight weight : given) {
      int field = fieldId(weight.parts());
      Integer place = placeOf.get(field);
      if (place == null || !weighted.add(field)) {
        throw new IllegalArgumentException(
            String.format(
                "Cannot set %s for column %s, because it %s",
                ZOrderOptions.COLUMN_WEIGHTS,
                display(weight.parts()),
                place == null ? "is not a clustering column" : "appears twice"));
      }
      if (place != IGNORED) {
        weights[place] = weight.weight();
      }
    }
    return weights;
  }

  private int fieldId(List<String> parts) {
    List<Types.NestedField> path = find(parts);
    return path.get(path.size() - 1).fieldId();
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
              "Cannot cluster by column %s, because %s is of type %s: only structs have named fields"
                  .formatted(display(parts), parent.name(), parent.type()));
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

    List<String> fields = struct.fields().stream().map(Types.NestedField::name).toList();
    String names = String.join(", ", fields);
    throw new IllegalArgumentException(
        found.isEmpty()
            ? "Cannot cluster by column %s, because %s has no such column%s"
                .formatted(display(parts), table.name(), SpelledAlike.hint(part, fields, "it has " + names))
            : "Cannot cluster by column %s, because the name is ambiguous when case does not count: %s has %s"
                .formatted(display(parts), table.name(), names));
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

  private static void checkKeepsBounds(MetricsConfig metrics, Table table, ClusteringColumn column, Types.NestedField field) {
    String name = table.schema().findColumnName(field.fieldId());
    MetricsModes.MetricsMode mode = metrics.columnMode(name);
    if (!KeptBounds.areKept(mode)) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot cluster by column %s, because %s keeps no lower/upper bounds for it (metrics mode %s), so no file"
                  + " could be skipped: %s first",
              column.name(), table.name(), mode, MetricsCheck.setMode("...", name, MetricsCheck.leastMode(column.type()))));
    }
  }

  /** The names on the way from the table to a field, outermost first. */
  static List<String> parts(Schema schema, int fieldId) {
    Map<Integer, Integer> parents = TypeUtil.indexParents(schema.asStruct());
    List<String> parts = new ArrayList<>();
    for (Integer id = fieldId; id != null; id = parents.get(id)) {
      parts.add(0, schema.findField(id).name());
    }
    return parts;
  }

  private static String display(List<String> parts) {
    return "'" + String.join(".", parts) + "'";
  }
}
