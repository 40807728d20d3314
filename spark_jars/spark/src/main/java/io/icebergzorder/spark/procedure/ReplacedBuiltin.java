package io.icebergzorder.spark.procedure;

import io.icebergzorder.core.SortOrder;
import io.icebergzorder.spark.request.CatalogTable;
import io.icebergzorder.spark.request.RewriteRequest;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.actions.SparkActions;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Iceberg's own z-order and Hilbert sort, taken over where a session setting says so: jobs that call {@code strategy =>
 * 'sort'} with {@code sort_order => 'zorder(a, b)'} then get ours, as they are.
 */
final class ReplacedBuiltin {
  /** The setting; false by default. */
  static final String SETTING = "spark.iceberg-zorder.replace-builtin";

  private static final Logger LOG = LoggerFactory.getLogger(ReplacedBuiltin.class);

  /** Iceberg's default strategy with a sort order, too. */
  private static final String STRATEGY = "sort";

  private static final Pattern QUOTED = Pattern.compile("`[^`]*`");
  private static final Pattern CURVE =
      Pattern.compile("\\s*(zorder|hilbert)\\s*\\([^()]*\\)\\s*", Pattern.CASE_INSENSITIVE);

  /** Options of Iceberg's sorts that a layout has no use for. */
  private static final Set<String> WITHOUT_USE =
      Set.of("shuffle-partitions-per-file", "max-output-size", "var-length-contribution");

  private ReplacedBuiltin() {}

  /** Whether a CALL of Iceberg's is to be ours. */
  static boolean applies(SparkSession session, String strategy, String sortOrder) {
    return (strategy == null || strategy.equalsIgnoreCase(STRATEGY))
        && sortOrder != null
        && CURVE.matcher(QUOTED.matcher(sortOrder).replaceAll("name")).matches()
        && Boolean.parseBoolean(session.conf().get(SETTING, "false"));
  }

  /** The same request without the options that only Iceberg's sorts have. */
  static RewriteRequest of(SparkSession session, TableCatalog catalog, RewriteRequest request) {
    String[] columns =
        SortOrder.parse(request.sortOrder()).columns().stream()
            .map(parts -> String.join(".", parts))
            .toArray(String[]::new);
    Table table = CatalogTable.load(session, catalog, request.table()).table();
    SparkActions.get(session).rewriteDataFiles(table).zOrder(columns);
    Map<String, String> options = new LinkedHashMap<>(request.options());
    options.keySet().removeAll(WITHOUT_USE);
    if (options.size() < request.options().size()) {
      Set<String> ignored = new TreeSet<>(request.options().keySet());
      ignored.retainAll(WITHOUT_USE);
      LOG.warn("Options {} of {} are ignored: {} is true, and strategy zorder has no use for them", ignored, request.table(), SETTING);
    }
    return new RewriteRequest(request.table(), request.sortOrder(), options, request.where(), request.branch(), true);
  }
}
