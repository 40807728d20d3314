package io.icebergzorder.spark.procedure;

import io.icebergzorder.spark.plan.PlanSummary;
import io.icebergzorder.spark.run.ZOrderRewrite;
import java.util.List;
import java.util.Locale;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.spark.source.HasIcebergCatalog;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The procedures that a CALL reaches here: Iceberg's {@code rewrite_data_files} with one strategy more, and {@code zorder_plan}.
 * Spark lines differ in how a CALL arrives; this is what they share.
 */
public final class Procedures {
  /** Iceberg's own, with one strategy more. */
  public static final String REWRITE = "rewrite_data_files";

  /** What that strategy would do with the same arguments, and why, if that is nothing. It reads metadata only. */
  public static final String PLAN = "zorder_plan";

  /** What {@link #rewrite} returns; as Iceberg has it. */
  public static final StructType REWRITE_OUTPUT =
      new StructType()
          .add("rewritten_data_files_count", DataTypes.IntegerType, false)
          .add("added_data_files_count", DataTypes.IntegerType, false)
          .add("rewritten_bytes_count", DataTypes.LongType, false)
          .add("failed_data_files_count", DataTypes.IntegerType, false)
          .add("removed_delete_files_count", DataTypes.IntegerType, false);

  /** What {@link #plan} returns. */
  public static final StructType PLAN_OUTPUT =
      new StructType()
          .add("data_files_count", DataTypes.IntegerType, false)
          .add("selected_data_files_count", DataTypes.IntegerType, false)
          .add("file_groups_count", DataTypes.IntegerType, false)
          .add("expected_data_files_count", DataTypes.IntegerType, false)
          .add("reason", DataTypes.StringType, true);

  private static final String NAMESPACE = "system";

  private static final List<String> ICEBERGS_STRATEGIES = List.of("binpack", "sort");

  private Procedures() {}

  /**
   * A procedure of ours in an Iceberg catalog.
   *
   * @param catalog the catalog, which is a {@link TableCatalog}
   * @param identifier the procedure's namespace and name, as written
   * @param isPlan whether it is {@link #PLAN}
   */
  public record Called(CatalogPlugin catalog, Identifier identifier, boolean isPlan) {
    /** The catalog, as one of tables. */
    public TableCatalog tables() {
      return (TableCatalog) catalog;
    }
  }

  /**
   * Finds out what a CALL calls. A catalog is looked up only for a name that can be ours.
   *
   * @param nameParts catalog (or none, for the current one), namespace, name
   * @return null if the name is not ours, or the catalog not Iceberg's
   */
  public static Called find(SparkSession session, List<String> nameParts) {
    String name = nameParts.get(nameParts.size() - 1).toLowerCase(Locale.ROOT);
    if (!name.equals(REWRITE) && !name.equals(PLAN)) {
      return null;
    }
    CatalogManager manager = session.sessionState().catalogManager();
    boolean named = nameParts.size() == 3 && manager.isCatalogRegistered(nameParts.get(0));
    List<String> inCatalog = named ? nameParts.subList(1, 3) : nameParts;
    if (inCatalog.size() != 2 || !inCatalog.get(0).equalsIgnoreCase(NAMESPACE)) {
      return null;
    }
    CatalogPlugin catalog = named ? manager.catalog(nameParts.get(0)) : manager.currentCatalog();
    if (!(catalog instanceof HasIcebergCatalog && catalog instanceof TableCatalog)) {
      return null;
    }
    Identifier identifier = Identifier.of(new String[] {inCatalog.get(0)}, inCatalog.get(1));
    return new Called(catalog, identifier, name.equals(PLAN));
  }

  /**
   * Runs {@link ZOrderRewrite#execute}, if the rewrite is ours.
   *
   * @return the values of a row of {@link #REWRITE_OUTPUT}; null if the CALL is for Iceberg's own procedure
   * @throws IllegalArgumentException if the strategy is neither ours nor Iceberg's
   */
  public static Object[] rewrite(TableCatalog catalog, RewriteArguments arguments) {
    SparkSession session = SparkSession.active();
    if (ReplacedBuiltin.applies(session, arguments)) {
      return values(ZOrderRewrite.execute(session, catalog, ReplacedBuiltin.of(session, catalog, arguments)));
    }
    if (ZOrderRewrite.STRATEGY.equalsIgnoreCase(arguments.strategy())) {
      return values(ZOrderRewrite.execute(session, catalog, arguments));
    }
    checkIsIcebergs(arguments);
    return null;
  }

  /** Iceberg would not name ours among the strategies, and without its extension not even look at the strategy first. */
  private static void checkIsIcebergs(RewriteArguments arguments) {
    String strategy = arguments.strategy();
    if (strategy != null && ICEBERGS_STRATEGIES.stream().noneMatch(strategy::equalsIgnoreCase)) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot rewrite data files of %s, because there is no strategy '%s': there are '%s' (of iceberg-zorder), '%s'"
                  + " (of Iceberg)",
              arguments.table(), strategy, ZOrderRewrite.STRATEGY, String.join("' and '", ICEBERGS_STRATEGIES)));
    }
  }

  private static Object[] values(RewriteDataFiles.Result result) {
    return new Object[] {
      result.rewrittenDataFilesCount(),
      result.addedDataFilesCount(),
      result.rewrittenBytesCount(),
      result.failedDataFilesCount(),
      result.removedDeleteFilesCount()
    };
  }

  /** Runs {@link ZOrderRewrite#plan}; returns the values of a row of {@link #PLAN_OUTPUT}. */
  public static Object[] plan(TableCatalog catalog, RewriteArguments arguments) {
    PlanSummary plan = ZOrderRewrite.plan(SparkSession.active(), catalog, arguments);
    return new Object[] {
      plan.dataFiles(),
      plan.selectedDataFiles(),
      plan.fileGroups(),
      plan.expectedDataFiles(),
      UTF8String.fromString(plan.reason())
    };
  }
}
