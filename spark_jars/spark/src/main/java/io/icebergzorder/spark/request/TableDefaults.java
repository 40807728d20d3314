package io.icebergzorder.spark.request;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.iceberg.Table;

/** What a table remembers of its layout, for requests that do not say: its properties {@code zorder.columns}, {@code zorder.options}. */
final class TableDefaults {
  /** The sort order, as a rewrite takes it. */
  static final String COLUMNS = "zorder.columns";

  /** Options, as {@code name=value} with semicolons between. */
  static final String OPTIONS = "zorder.options";

  private TableDefaults() {}

  /**
   * Completes a request by what the table remembers; what the request says wins.
   *
   * @throws IllegalArgumentException if the property of options is not of the form
   */
  static RewriteRequest complete(Table table, RewriteRequest request) {
    String sortOrder = request.sortOrder() == null ? table.properties().get(COLUMNS) : request.sortOrder();
    Map<String, String> options = options(table);
    options.putAll(request.options());
    return new RewriteRequest(request.table(), sortOrder, options, request.where(), request.branch(), request.likeBuiltin());
  }

  /**
   * The options that a table remembers, as they are written.
   *
   * @throws IllegalArgumentException if the property is not of the form
   */
  static Map<String, String> options(Table table) {
    String text = table.properties().getOrDefault(OPTIONS, "");
    Map<String, String> options = new LinkedHashMap<>();
    for (String pair : text.split(";")) {
      if (pair.isBlank()) {
        continue;
      }
      int equals = pair.indexOf('=');
      String name = pair.substring(0, Math.max(equals, 0)).strip();
      if (name.isEmpty() || options.containsKey(name)) {
        throw new IllegalArgumentException(
            String.format(
                "Cannot use property %s = '%s' of %s, because '%s' %s",
                OPTIONS,
                text,
                table.name(),
                pair.strip(),
                name.isEmpty() ? "is not of the form name=value" : "sets an option twice"));
      }
      options.put(name, pair.substring(equals + 1).strip());
    }
    return options;
  }
}
