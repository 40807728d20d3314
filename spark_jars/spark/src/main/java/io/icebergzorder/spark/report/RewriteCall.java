package io.icebergzorder.spark.report;

import static io.icebergzorder.core.ClusteringColumn.quotedText;

import io.icebergzorder.core.ClusteringColumn;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Writes the CALL that rewrites a table.
 *
 * @param table its name: the catalog, the namespace, the table
 * @param sortOrder as a rewrite takes it
 * @param where which rows' files are rewritten, or null for all
 * @param branch the branch, or null for main
 */
record RewriteCall(List<String> table, String sortOrder, String where, String branch) {
  /** The CALL with some options. */
  String with(Map<String, String> options) {
    List<String> arguments = new ArrayList<>();
    arguments.add("table => " + quotedText(ClusteringColumn.quoted(table.subList(1, table.size()))));
    arguments.add("strategy => 'zorder'");
    arguments.add("sort_order => " + quotedText(sortOrder));
    if (where != null) {
      arguments.add("where => " + quotedText(where));
    }
    if (!options.isEmpty()) {
      String pairs =
          options.entrySet().stream()
              .map(option -> quotedText(option.getKey()) + ", " + quotedText(option.getValue()))
              .collect(Collectors.joining(", "));
      arguments.add("options => map(" + pairs + ")");
    }
    if (branch != null) {
      arguments.add("branch => " + quotedText(branch));
    }
    String catalog = ClusteringColumn.quoted(table.subList(0, 1));
    return "CALL " + catalog + ".system.rewrite_data_files(" + String.join(", ", arguments) + ")";
  }
}
