package io.icebergzorder.spark41;

import io.icebergzorder.spark.RewriteArguments;
import io.icebergzorder.spark.ZOrderRewrite;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Iceberg's {@code rewrite_data_files}, with one strategy more; for every other strategy it is Iceberg's. */
final class RewriteProcedure implements UnboundProcedure {
  static final String NAME = "rewrite_data_files";

  private static final StructType OUTPUT =
      new StructType()
          .add("rewritten_data_files_count", DataTypes.IntegerType, false)
          .add("added_data_files_count", DataTypes.IntegerType, false)
          .add("rewritten_bytes_count", DataTypes.LongType, false)
          .add("failed_data_files_count", DataTypes.IntegerType, false)
          .add("removed_delete_files_count", DataTypes.IntegerType, false);

  private final TableCatalog catalog;
  private final UnboundProcedure iceberg;

  RewriteProcedure(TableCatalog catalog, UnboundProcedure iceberg) {
    this.catalog = catalog;
    this.iceberg = iceberg;
  }

  @Override
  public String name() {
    return iceberg.name();
  }

  @Override
  public String description() {
    return iceberg.description();
  }

  @Override
  public BoundProcedure bind(StructType inputType) {
    return new Bound(catalog, iceberg.bind(inputType));
  }

  private record Bound(TableCatalog catalog, BoundProcedure iceberg) implements BoundProcedure {
    @Override
    public String name() {
      return iceberg.name();
    }

    @Override
    public String description() {
      return iceberg.description();
    }

    @Override
    public boolean isDeterministic() {
      return iceberg.isDeterministic();
    }

    @Override
    public ProcedureParameter[] parameters() {
      return iceberg.parameters();
    }

    @Override
    public Iterator<Scan> call(InternalRow input) {
      RewriteArguments arguments = arguments(parameters(), input);
      if (!ZOrderRewrite.STRATEGY.equalsIgnoreCase(arguments.strategy())) {
        return iceberg.call(input);
      }
      RewriteDataFiles.Result result =
          ZOrderRewrite.execute(SparkSession.active(), Spark41Line.INSTANCE, catalog, arguments);
      return new OneRow(
              OUTPUT,
              result.rewrittenDataFilesCount(),
              result.addedDataFilesCount(),
              result.rewrittenBytesCount(),
              result.failedDataFilesCount(),
              result.removedDeleteFilesCount())
          .iterator();
    }
  }

  static RewriteArguments arguments(ProcedureParameter[] parameters, InternalRow input) {
    List<RewriteArguments.Parameter> named =
        Arrays.stream(parameters)
            .map(parameter -> new RewriteArguments.Parameter(parameter.name(), parameter.dataType()))
            .toList();
    return RewriteArguments.of(named, input);
  }
}
