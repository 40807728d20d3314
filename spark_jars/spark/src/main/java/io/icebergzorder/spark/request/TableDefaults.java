package io.icebergzorder.spark.request;

import io.icebergzorder.core.ColumnWeight;
import io.icebergzorder.core.EvenCuts;
import io.icebergzorder.core.SortOrder;
import io.icebergzorder.core.ZOrderOptions;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.iceberg.Table;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a table remembers of its layout, for requests that do not say: its properties {@code zorder.columns}, {@code zorder.options}. */
final class TableDefaults {
  /** The sort order, as a rewrite takes it. */
  static final String COLUMNS = "zorder.columns";

  /** Options, as {@code name=value} with semicolons between. */
  static final String OPTIONS = "zorder.options";

  /** The table property with option {@code workload}, which may hold semicolons. */
  static final String WORKLOAD = "zorder.workload";

  private static final Logger LOG = LoggerFactory.getLogger(TableDefaults.class);

  private TableDefaults() {}

  /** Completes a request by what the table remembers; what the request says wins. */
  static RewriteRequest complete(CatalogTable target, RewriteRequest request) {
    String sortOrder = request.sortOrder() == null ? sortOrder(target) : request.sortOrder();
    Map<String, String> options = options(target.table());
    if (request.sortOrder() != null && !request.options().containsKey(ZOrderOptions.COLUMN_WEIGHTS)) {
      removeWeightsOfOthers(options, target, SortOrder.parse(request.sortOrder()));
    }
    options.putAll(request.options());
    completeWorkload(options, target.table().properties().get(WORKLOAD), request.options());
    if (options.containsKey(ZOrderOptions.WORKLOAD) && !request.options().containsKey(ZOrderOptions.WORKLOAD)) {
      checkWorkload(target, options.get(ZOrderOptions.WORKLOAD));
    }
    return new RewriteRequest(
        request.table(), sortOrder, options, request.where(), request.branch(), request.likeBuiltin());
  }

  /** Takes the table's workload if no other is named, and takes a remembered one away where cuts are even, or the call wants none. */
  private static void completeWorkload(Map<String, String> options, String ofTable, Map<String, String> written) {
    if (ofTable != null) {
      options.putIfAbsent(ZOrderOptions.WORKLOAD, ofTable);
    }
    boolean isEven = EvenCuts.KIND.equals(options.get(ZOrderOptions.CUTS));
    if (isEven && !written.containsKey(ZOrderOptions.WORKLOAD) || "".equals(options.get(ZOrderOptions.WORKLOAD))) {
      options.remove(ZOrderOptions.WORKLOAD);
      if (!written.containsKey(ZOrderOptions.WORKLOAD_SHARE)) {
        options.remove(ZOrderOptions.WORKLOAD_SHARE);
      }
    }
  }

  /** Refuses a property's workload outside of the table's location: it is read with the rights of whoever rewrites. */
  static void checkWorkload(CatalogTable target, String text) {
    String home = target.table().location().replaceAll("/+$", "");
    boolean isBelow = oneSlash(text).startsWith(oneSlash(home + "/")) && !List.of(text.split("/")).contains("..");
    if (!isBelow && !text.stripLeading().startsWith("{")) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot use the workload that a property of %s names, because %s is not below the table's location %s: write its JSON "
                  + "there, or pass it as option workload",
              target.name(), text, home));
    }
  }

  /** Hadoop writes {@code file:/x} where others write {@code file:///x}. */
  private static String oneSlash(String location) {
    return location.replaceFirst("^file:/+", "file:/");
  }

  /** The options that a table remembers for a sort order. */
  static Map<String, String> options(CatalogTable target, SortOrder sortOrder) {
    Map<String, String> options = options(target.table());
    removeWeightsOfOthers(options, target, sortOrder);
    completeWorkload(options, target.table().properties().get(WORKLOAD), Map.of());
    return options;
  }

  /** Removes remembered weights if they are not all of clustering columns that a request names: they were set for others. */
  private static void removeWeightsOfOthers(Map<String, String> options, CatalogTable target, SortOrder sortOrder) {
    String weights = options.get(ZOrderOptions.COLUMN_WEIGHTS);
    if (weights == null) {
      return;
    }
    boolean areOfThese =
        ColumnWeight.parse(weights).stream()
            .allMatch(
                weight ->
                    sortOrder.columns().stream()
                        .anyMatch(column -> isSame(column, weight.parts(), target.isCaseSensitive())));
    if (!areOfThese) {
      LOG.warn(
          "Ignored {} = '{}' that {} remembers: they are of other columns", ZOrderOptions.COLUMN_WEIGHTS, weights, target.name());
      options.remove(ZOrderOptions.COLUMN_WEIGHTS);
    }
  }

  private static boolean isSame(List<String> parts, List<String> others, boolean isCaseSensitive) {
    return parts.size() == others.size()
        && IntStream.range(0, parts.size())
            .allMatch(
                i -> isCaseSensitive ? parts.get(i).equals(others.get(i)) : parts.get(i).equalsIgnoreCase(others.get(i)));
  }

  /** The sort order that a table remembers, as it is written, or null. */
  static String sortOrder(CatalogTable target) {
    String text = target.table().properties().get(COLUMNS);
    if (text == null) {
      return null;
    }
    SortOrder sortOrder = SortOrder.parse(text);
    try {
      ClusteringColumns.checkNames(target.table(), sortOrder, target.isCaseSensitive());
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          String.format(
              "%s. The table's property %s = '%s' names it: set that anew, or name the columns", e.getMessage(), COLUMNS, text),
          e);
    }
    return text;
  }

  /** The options that a table remembers, as they are written. */
  static Map<String, String> options(Table table) {
    String text = table.properties().getOrDefault(OPTIONS, "");
    Map<String, String> options = new LinkedHashMap<>();
    for (String pair : text.split(";")) {
      if (pair.isBlank()) {
        continue;
      }
      int equals = pair.indexOf('=');
      String name = pair.substring(0, Math.max(equals, 0)).strip();
      String why = whyRefused(name, options);
      if (why != null) {
        throw new IllegalArgumentException(
            String.format(
                "Cannot use property %s = '%s' of %s, because '%s' %s", OPTIONS, text, table.name(), pair.strip(), why));
      }
      options.put(name, pair.substring(equals + 1).strip());
    }
    return options;
  }

  private static String whyRefused(String name, Map<String, String> before) {
    if (name.isEmpty()) {
      return "is not of the form name=value";
    }
    if (before.containsKey(name)) {
      return "sets an option twice";
    }
    return name.equals(ZOrderOptions.DRY_RUN) ? "is for one call: none would write anything then" : null;
  }
}
