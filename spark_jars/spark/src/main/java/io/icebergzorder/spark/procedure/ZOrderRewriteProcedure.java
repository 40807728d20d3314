package io.icebergzorder.spark.procedure;

import io.icebergzorder.spark.api.ZOrderResult;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code zorder_rewrite}: what {@code rewrite_data_files(strategy => 'zorder')} does, with a message and all figures,
 * for which the columns of Iceberg's procedure have no room.
 */
final class ZOrderRewriteProcedure implements AddedProcedure {
  @Override
  public String name() {
    return "zorder_rewrite";
  }

  @Override
  public String description() {
    return "What rewrite_data_files with strategy zorder does, with a message and scan fractions";
  }

  @Override
  public List<CallArguments.Parameter> parameters() {
    return RewriteDataFilesProcedure.REQUEST;
  }

  @Override
  public StructType output() {
    return RewriteDataFilesProcedure.OUTPUT
        .add("message", DataTypes.StringType, true)
        .add("result", DataTypes.StringType, false);
  }

  @Override
  public List<Object[]> call(SparkSession session, TableCatalog catalog, CallArguments arguments) {
    ZOrderResult result =
        RewriteDataFilesProcedure.toPlan(session, catalog, RewriteDataFilesProcedure.request(arguments)).execute();
    List<Object> row = new ArrayList<>(Arrays.asList(RewriteDataFilesProcedure.counts(result)));
    row.add(result.message().map(UTF8String::fromString).orElse(null));
    row.add(UTF8String.fromString(result.toJson()));
    return List.<Object[]>of(row.toArray());
  }
}
