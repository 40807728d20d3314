package io.icebergzorder.spark.procedure;

import io.icebergzorder.spark.api.ZOrderRewrite;
import io.icebergzorder.spark.request.RewriteRequest;
import java.util.List;
import java.util.Optional;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Iceberg's {@code rewrite_data_files}, with one strategy more. */
final class RewriteDataFilesProcedure implements ExtendedProcedure {
  static final StructType OUTPUT =
      new StructType()
          .add("rewritten_data_files_count", DataTypes.IntegerType, false)
          .add("added_data_files_count", DataTypes.IntegerType, false)
          .add("rewritten_bytes_count", DataTypes.LongType, false)
          .add("failed_data_files_count", DataTypes.IntegerType, false)
          .add("removed_delete_files_count", DataTypes.IntegerType, false);

  /** What a request consists of, as the procedures that Iceberg does not have take it. */
  static final List<CallArguments.Parameter> REQUEST =
      List.of(
          new CallArguments.Parameter("table", DataTypes.StringType, true),
          new CallArguments.Parameter("sort_order", DataTypes.StringType, false),
          new CallArguments.Parameter(
              "options", DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType), false),
          new CallArguments.Parameter("where", DataTypes.StringType, false),
          new CallArguments.Parameter("branch", DataTypes.StringType, false));

  private static final List<String> ICEBERGS_STRATEGIES = List.of("binpack", "sort");

  @Override
  public String name() {
    return "rewrite_data_files";
  }

  @Override
  public StructType output() {
    return OUTPUT;
  }

  @Override
  public Optional<List<Object[]>> call(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    RewriteRequest request = request(arguments);
    String strategy = arguments.text("strategy");
    if (ReplacedBuiltin.applies(session, strategy, request.sortOrder())) {
      RewriteRequest ours = ReplacedBuiltin.of(session, catalog, request);
      return Optional.of(List.<Object[]>of(counts(toPlan(session, catalog, ours).likeBuiltin().execute())));
    }
    if (RewriteRequest.STRATEGY.equalsIgnoreCase(strategy)) {
      return Optional.of(List.<Object[]>of(counts(toPlan(session, catalog, request).execute())));
    }
    checkIsIcebergs(strategy, request.table());
    return Optional.empty();
  }

  /** Iceberg would not name ours among the strategies, and without its extension not even look at the strategy first. */
  private static void checkIsIcebergs(String strategy, String table) {
    if (strategy != null && ICEBERGS_STRATEGIES.stream().noneMatch(strategy::equalsIgnoreCase)) {
      throw new IllegalArgumentException(
          String.format(
              "Cannot rewrite data files of %s, because there is no strategy '%s': there are '%s' (of iceberg-zorder), '%s'"
                  + " (of Iceberg)",
              table, strategy, RewriteRequest.STRATEGY, String.join("' and '", ICEBERGS_STRATEGIES)));
    }
  }

  /** The arguments that a rewrite and its plan share. */
  static RewriteRequest request(CallArguments arguments) {
    return new RewriteRequest(
        arguments.text("table"),
        arguments.text("sort_order"),
        arguments.texts("options"),
        arguments.text("where"),
        arguments.text("branch"),
        false);
  }

  /** The same request, to be planned. */
  static ZOrderRewrite toPlan(SparkSession session, TableCatalog catalog, RewriteRequest request) {
    return ZOrderRewrite.of(session, catalog, request.table())
        .sortOrder(request.sortOrder())
        .options(request.options())
        .where(request.where())
        .branch(request.branch());
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
