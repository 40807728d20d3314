package io.icebergzorder.spark35;

import io.icebergzorder.spark.procedure.Procedures;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.iceberg.catalog.Procedure;
import org.apache.spark.sql.connector.iceberg.catalog.ProcedureParameter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** {@code system.zorder_plan}: see {@link Procedures#PLAN}. */
record PlanProcedure(TableCatalog catalog) implements Procedure {
  private static final ProcedureParameter[] PARAMETERS = {
    ProcedureParameter.required("table", DataTypes.StringType),
    ProcedureParameter.required("sort_order", DataTypes.StringType),
    ProcedureParameter.optional("options", DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType)),
    ProcedureParameter.optional("where", DataTypes.StringType),
    ProcedureParameter.optional("branch", DataTypes.StringType)
  };

  @Override
  public ProcedureParameter[] parameters() {
    return PARAMETERS.clone();
  }

  @Override
  public StructType outputType() {
    return Procedures.PLAN_OUTPUT;
  }

  @Override
  public String description() {
    return Procedures.PLAN;
  }

  @Override
  public InternalRow[] call(InternalRow input) {
    Object[] values = Procedures.plan(catalog, RewriteProcedure.arguments(PARAMETERS, input));
    return new InternalRow[] {new GenericInternalRow(values)};
  }
}
