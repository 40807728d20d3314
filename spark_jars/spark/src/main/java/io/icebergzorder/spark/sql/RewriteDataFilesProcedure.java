package io.icebergzorder.spark.sql;

import io.icebergzorder.core.SortOrder;
import io.icebergzorder.spark.api.ZOrderRewrite;
import io.icebergzorder.spark.spec.CatalogTable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.spark.actions.SparkActions;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Iceberg's {@code rewrite_data_files} with the strategy zorder; a session setting replaces Iceberg's own z-order by it. */
public final class RewriteDataFilesProcedure {
  public static final String NAME = "rewrite_data_files";

  static final String COUNTS =
      "rewritten_data_files_count INT NOT NULL, added_data_files_count INT NOT NULL, rewritten_bytes_count BIGINT NOT NULL,"
          + " failed_data_files_count INT NOT NULL, removed_delete_files_count INT NOT NULL";

  public static final StructType OUTPUT = StructType.fromDDL(COUNTS);

  /** What a request consists of, as the procedures that Iceberg does not have take it. */
  static final String REQUEST = "`table` STRING NOT NULL, sort_order STRING, options MAP<STRING, STRING>, `where` STRING, branch STRING";

  private static final Logger LOG = LoggerFactory.getLogger(RewriteDataFilesProcedure.class);

  private static final String STRATEGY = "zorder";
  private static final List<String> ICEBERGS_STRATEGIES = List.of("binpack", "sort");

  /** The setting that takes over Iceberg's own; false by default. */
  private static final String REPLACE_BUILTIN = "spark.iceberg-zorder.replace-builtin";

  private static final Pattern QUOTED = Pattern.compile("`[^`]*`");
  private static final Pattern CURVE = Pattern.compile("\\s*(zorder|hilbert)\\s*\\([^()]*\\)\\s*", Pattern.CASE_INSENSITIVE);

  /** Options of Iceberg's sorts that a layout has no use for. */
  private static final Set<String> WITHOUT_USE = Set.of("shuffle-partitions-per-file", "max-output-size", "var-length-contribution");

  private RewriteDataFilesProcedure() {}

  /** Calls it with the parameters of Iceberg's, without their nullability; empty if the CALL is for Iceberg's own procedure. */
  public static Optional<List<Object[]>> call(TableCatalog catalog, Stream<StructField> parameters, InternalRow input) {
    SparkSession session = SparkSession.active();
    CallArguments arguments = new CallArguments(new StructType(parameters.toArray(StructField[]::new)), input);
    String strategy = arguments.text("strategy");
    ZOrderRewrite rewrite;
    if (isReplaced(session, strategy, arguments.text("sort_order"))) {
      rewrite = instead(session, catalog, arguments);
    } else if (STRATEGY.equalsIgnoreCase(strategy)) {
      rewrite = request(session, catalog, arguments);
    } else if (strategy == null || ICEBERGS_STRATEGIES.stream().anyMatch(strategy::equalsIgnoreCase)) {
      return Optional.empty();
    } else {
      // Iceberg would not name ours among the strategies, and without its extension not even look at the strategy first.
      throw new IllegalArgumentException(
          ("Cannot rewrite data files of %s, because there is no strategy '%s': there are '%s' (of iceberg-zorder), '%s'"
                  + " (of Iceberg)")
              .formatted(arguments.text("table"), strategy, STRATEGY, String.join("' and '", ICEBERGS_STRATEGIES)));
    }
    return Optional.of(List.<Object[]>of(counts(rewrite.execute())));
  }

  static ZOrderRewrite request(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    return request(session, catalog, arguments, arguments.texts("options"));
  }

  private static ZOrderRewrite request(SparkSession session, TableCatalog catalog, CallArguments arguments, Map<String, String> options) {
    return ZOrderRewrite.of(session, catalog, arguments.text("table"))
        .sortOrder(arguments.text("sort_order"))
        .options(options)
        .where(arguments.text("where"))
        .branch(arguments.text("branch"));
  }

  /** Sort is Iceberg's default strategy with a sort order, too. */
  private static boolean isReplaced(SparkSession session, String strategy, String sortOrder) {
    return (strategy == null || strategy.equalsIgnoreCase("sort"))
        && sortOrder != null
        && CURVE.matcher(QUOTED.matcher(sortOrder).replaceAll("name")).matches()
        && Boolean.parseBoolean(session.conf().get(REPLACE_BUILTIN, "false"));
  }

  /** The same as one of ours, without the options that only Iceberg's sorts have. */
  private static ZOrderRewrite instead(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    String name = arguments.text("table");
    Table table = CatalogTable.load(session, catalog, name).table();
    // What its own sort would not do is refused in its words.
    SparkActions.get(session)
        .rewriteDataFiles(table)
        .zOrder(
            SortOrder.parse(arguments.text("sort_order")).columns().stream()
                .map(parts -> String.join(".", parts))
                .toArray(String[]::new));
    Map<String, String> options = arguments.texts("options");
    Set<String> ignored = new TreeSet<>(options.keySet());
    ignored.retainAll(WITHOUT_USE);
    if (!ignored.isEmpty()) {
      LOG.warn("Options {} of {} are ignored: {} is true, and strategy zorder has no use for them", ignored, name, REPLACE_BUILTIN);
    }
    options.keySet().removeAll(ignored);
    return request(session, catalog, arguments, options).likeBuiltin();
  }

  /** Iceberg's five counts, in the order of the columns. */
  static Object[] counts(RewriteDataFiles.Result result) {
    return new Object[] {
      result.rewrittenDataFilesCount(),
      result.addedDataFilesCount(),
      result.rewrittenBytesCount(),
      result.failedDataFilesCount(),
      result.removedDeleteFilesCount()
    };
  }
}
