package io.icebergzorder.spark35;

import io.icebergzorder.spark.procedure.AddedProcedure;
import io.icebergzorder.spark.procedure.CallArguments;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.iceberg.catalog.Procedure;
import org.apache.spark.sql.connector.iceberg.catalog.ProcedureParameter;
import org.apache.spark.sql.types.StructType;

/** A procedure that Iceberg does not have, as Iceberg's extension of Spark 3.5 calls it. */
record AddedSparkProcedure(TableCatalog catalog, AddedProcedure definition) implements Procedure {
  @Override
  public ProcedureParameter[] parameters() {
    return definition.parameters().stream().map(AddedSparkProcedure::parameter).toArray(ProcedureParameter[]::new);
  }

  private static ProcedureParameter parameter(CallArguments.Parameter parameter) {
    return parameter.isRequired()
        ? ProcedureParameter.required(parameter.name(), parameter.type())
        : ProcedureParameter.optional(parameter.name(), parameter.type());
  }

  @Override
  public StructType outputType() {
    return definition.output();
  }

  /** Its name, by which errors call it. */
  @Override
  public String description() {
    return definition.name();
  }

  @Override
  public InternalRow[] call(InternalRow input) {
    CallArguments arguments = new CallArguments(definition.parameters(), input);
    return definition.call(SparkSession.active(), catalog, arguments).stream()
        .map(GenericInternalRow::new)
        .toArray(InternalRow[]::new);
  }
}
