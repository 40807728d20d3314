package io.icebergzorder.spark35;

import io.icebergzorder.spark.procedure.CallArguments;
import io.icebergzorder.spark.procedure.ExtendedProcedure;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.iceberg.catalog.Procedure;
import org.apache.spark.sql.connector.iceberg.catalog.ProcedureParameter;
import org.apache.spark.sql.types.StructType;

/** A procedure of Iceberg's that does more, as Iceberg's extension of Spark 3.5 calls it; what it does not do more is Iceberg's. */
record ExtendedSparkProcedure(TableCatalog catalog, ExtendedProcedure definition, Procedure iceberg) implements Procedure {
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
    List<CallArguments.Parameter> parameters =
        Arrays.stream(parameters())
            .map(each -> new CallArguments.Parameter(each.name(), each.dataType(), each.required()))
            .toList();
    return definition
        .call(SparkSession.active(), catalog, new CallArguments(parameters, input))
        .map(rows -> rows.stream().map(GenericInternalRow::new).toArray(InternalRow[]::new))
        .orElseGet(() -> iceberg.call(input));
  }
}
