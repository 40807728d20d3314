package io.icebergzorder.spark4;

import io.icebergzorder.spark.procedure.AddedProcedure;
import io.icebergzorder.spark.procedure.CallArguments;
import java.util.Iterator;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** A procedure that Iceberg does not have, as Spark 4 calls it. */
record AddedSparkProcedure(TableCatalog catalog, AddedProcedure definition) implements UnboundProcedure, BoundProcedure {
  @Override
  public String name() {
    return definition.name();
  }

  @Override
  public String description() {
    return definition.description();
  }

  @Override
  public BoundProcedure bind(StructType inputType) {
    return this;
  }

  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public ProcedureParameter[] parameters() {
    return definition.parameters().stream().map(AddedSparkProcedure::parameter).toArray(ProcedureParameter[]::new);
  }

  private static ProcedureParameter parameter(CallArguments.Parameter parameter) {
    ProcedureParameter.Builder builder = ProcedureParameter.in(parameter.name(), parameter.type());
    return parameter.isRequired() ? builder.build() : builder.defaultValue("NULL").build();
  }

  @Override
  public Iterator<Scan> call(InternalRow input) {
    CallArguments arguments = new CallArguments(definition.parameters(), input);
    return Rows.of(definition.output(), definition.call(SparkSession.active(), catalog, arguments));
  }
}
