package io.icebergzorder.spark.procedure;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;

/**
 * The arguments of a CALL, by Iceberg's names; what was not given is null, or an empty map of options.
 *
 * @param table name of the table, as written
 * @param strategy {@code zorder}, or one of Iceberg's
 * @param sortOrder clustering columns, for example {@code zorder(a, b)}
 * @param options names and values, as written
 * @param where predicate that selects data files
 * @param branch branch to rewrite
 */
public record RewriteArguments(
    String table, String strategy, String sortOrder, Map<String, String> options, String where, String branch) {

  /** One parameter of a procedure: its name and its type. */
  public record Parameter(String name, DataType type) {}

  /** Reads the arguments by parameter name, so that their order is the procedure's own affair. */
  public static RewriteArguments of(List<Parameter> parameters, InternalRow row) {
    Map<String, Object> values = new HashMap<>();
    for (int i = 0; i < parameters.size(); i++) {
      if (!row.isNullAt(i)) {
        values.put(parameters.get(i).name(), row.get(i, parameters.get(i).type()));
      }
    }
    return new RewriteArguments(
        text(values.get("table")),
        text(values.get("strategy")),
        text(values.get("sort_order")),
        options((MapData) values.get("options")),
        text(values.get("where")),
        text(values.get("branch")));
  }

  private static String text(Object value) {
    return value == null ? null : value.toString();
  }

  private static Map<String, String> options(MapData map) {
    Map<String, String> options = new LinkedHashMap<>();
    if (map == null) {
      return options;
    }

    ArrayData keys = map.keyArray();
    ArrayData values = map.valueArray();
    for (int i = 0; i < map.numElements(); i++) {
      String name = keys.getUTF8String(i).toString();
      if (values.isNullAt(i)) {
        throw new IllegalArgumentException(String.format("Cannot set %s to NULL, because an option needs a value", name));
      }
      options.put(name, values.getUTF8String(i).toString());
    }
    return options;
  }
}
