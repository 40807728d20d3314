package io.icebergzorder.spark.spec;

import io.icebergzorder.core.Cuts.EvenCuts;
import io.icebergzorder.core.SortOrder;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.core.ZOrderOptions.ColumnWeight;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The defaults of a table for requests that leave them out: its properties {@code zorder.columns}, {@code zorder.options}. */
final class TableDefaults {
  static final String COLUMNS = "zorder.columns";

  /** Options, as {@code name=value} with semicolons between. */
  static final String OPTIONS = "zorder.options";

  /** The table property with option {@code workload}, which may hold semicolons. */
  static final String WORKLOAD = "zorder.workload";

  private static final Logger LOG = LoggerFactory.getLogger(TableDefaults.class);

  private TableDefaults() {}

  /** Completes a spec by the table's defaults; the spec wins. */
  static RewriteSpec complete(CatalogTable target, RewriteSpec spec) {
    Map<String, String> given = spec.options();
    String sortOrder = spec.sortOrder() == null ? sortOrder(target) : spec.sortOrder();
    // What the table remembers of weights is for the columns that it remembers.
    SortOrder named = spec.sortOrder() == null ? null : SortOrder.parse(sortOrder);
    Map<String, String> options = options(target, named, given);
    if (options.containsKey(ZOrderOptions.WORKLOAD) && !given.containsKey(ZOrderOptions.WORKLOAD)) {
      checkWorkload(target, options.get(ZOrderOptions.WORKLOAD));
    }
    return new RewriteSpec(spec.table(), sortOrder, options, spec.where(), spec.branch(), spec.likeBuiltin());
  }

  /** Options completed by the table's defaults for a sort order, or for the table's own. */
  static Map<String, String> options(CatalogTable target, SortOrder sortOrder, Map<String, String> given) {
    Map<String, String> options = remembered(target.table());
    if (sortOrder != null && !given.containsKey(ZOrderOptions.COLUMN_WEIGHTS)) {
      removeWeightsOfOthers(options, target, sortOrder);
    }
    options.putAll(given);
    String ofTable = target.table().properties().get(WORKLOAD);
    if (ofTable != null) {
      options.putIfAbsent(ZOrderOptions.WORKLOAD, ofTable);
    }
    // A remembered workload does not count where cuts are even, or the call wants none.
    boolean isEven = EvenCuts.KIND.equals(options.get(ZOrderOptions.CUTS));
    if (isEven && !given.containsKey(ZOrderOptions.WORKLOAD) || "".equals(options.get(ZOrderOptions.WORKLOAD))) {
      options.remove(ZOrderOptions.WORKLOAD);
      if (!given.containsKey(ZOrderOptions.WORKLOAD_SHARE)) {
        options.remove(ZOrderOptions.WORKLOAD_SHARE);
      }
    }
    return options;
  }

  /** Refuses a property's workload outside of the table's location, because the rewrite's own permissions read it. */
  static void checkWorkload(CatalogTable target, String text) {
    String home = target.table().location().replaceAll("/+$", "");
    boolean isBelow = oneSlash(text).startsWith(oneSlash(home + "/")) && !List.of(text.split("/")).contains("..");
    if (!isBelow && !text.stripLeading().startsWith("{")) {
      throw new IllegalArgumentException(
          ("Cannot use the workload that a property of %s names, because %s is not below the table's location %s: move the file "
                  + "there, or pass its path as option workload")
              .formatted(target.name(), text, home));
    }
  }

  /** Hadoop writes {@code file:/x} for {@code file:///x}. */
  private static String oneSlash(String location) {
    return location.replaceFirst("^file:/+", "file:/");
  }

  /** Removes the table's weights if they are for other columns than the request's. */
  private static void removeWeightsOfOthers(Map<String, String> options, CatalogTable target, SortOrder sortOrder) {
    String weights = options.get(ZOrderOptions.COLUMN_WEIGHTS);
    if (weights == null) {
      return;
    }
    boolean areOfThese =
        ColumnWeight.parse(weights).stream()
            .allMatch(weight -> sortOrder.columns().stream().anyMatch(column -> isSame(column, weight.parts(), target)));
    if (!areOfThese) {
      LOG.warn("Ignored {} = '{}' of {}, because they are for other columns", ZOrderOptions.COLUMN_WEIGHTS, weights, target.name());
      options.remove(ZOrderOptions.COLUMN_WEIGHTS);
    }
  }

  private static boolean isSame(List<String> parts, List<String> others, CatalogTable target) {
    String name = String.join(".", parts);
    String other = String.join(".", others);
    return target.isCaseSensitive() ? name.equals(other) : name.equalsIgnoreCase(other);
  }

  /** The sort order in the table's property, as written; null without one. */
  static String sortOrder(CatalogTable target) {
    String text = target.table().properties().get(COLUMNS);
    if (text == null) {
      return null;
    }
    SortOrder sortOrder = SortOrder.parse(text);
    try {
      ClusteringColumns.checkNames(target, sortOrder);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "%s. The table's property %s = '%s' names it: change it, or name the columns"
              .formatted(e.getMessage(), COLUMNS, text),
          e);
    }
    return text;
  }

  /** The options in the table's property, as written. */
  private static Map<String, String> remembered(Table table) {
    String text = table.properties().getOrDefault(OPTIONS, "");
    Map<String, String> options = new LinkedHashMap<>();
    for (String pair : text.split(";")) {
      if (pair.isBlank()) {
        continue;
      }
      int equals = pair.indexOf('=');
      String name = pair.substring(0, Math.max(equals, 0)).strip();
      String why =
          name.isEmpty()
              ? "is not of the form name=value"
              : options.containsKey(name)
                  ? "sets an option twice"
                  : name.equals(ZOrderOptions.DRY_RUN) ? "is for a single call: no later call would write anything" : null;
      if (why != null) {
        throw new IllegalArgumentException(
            "Cannot use property %s = '%s' of %s, because '%s' %s"
                .formatted(OPTIONS, text, table.name(), pair.strip(), why));
      }
      options.put(name, pair.substring(equals + 1).strip());
    }
    return options;
  }
}
