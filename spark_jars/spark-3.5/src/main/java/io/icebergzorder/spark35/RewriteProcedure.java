package io.icebergzorder.spark35;

import io.icebergzorder.spark.procedure.Procedures;
import io.icebergzorder.spark.procedure.RewriteArguments;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.iceberg.catalog.Procedure;
import org.apache.spark.sql.connector.iceberg.catalog.ProcedureParameter;
import org.apache.spark.sql.types.StructType;

/** Iceberg's {@code rewrite_data_files}, with one strategy more; for every other strategy it is Iceberg's. */
record RewriteProcedure(TableCatalog catalog, Procedure iceberg) implements Procedure {
  @Override
  public ProcedureParameter[] parameters() {
    return iceberg.parameters();
  }

  @Override
  public StructType outputType() {
    return iceberg.outputType();
  }

  @Override
  public String description() {
    return iceberg.description();
  }

  @Override
  public InternalRow[] call(InternalRow input) {
    Object[] ours = Procedures.rewrite(catalog, arguments(parameters(), input));
    return ours == null ? iceberg.call(input) : new InternalRow[] {new GenericInternalRow(ours)};
  }

  static RewriteArguments arguments(ProcedureParameter[] parameters, InternalRow input) {
    List<RewriteArguments.Parameter> named =
        Arrays.stream(parameters)
            .map(parameter -> new RewriteArguments.Parameter(parameter.name(), parameter.dataType()))
            .toList();
    return RewriteArguments.of(named, input);
  }
}
