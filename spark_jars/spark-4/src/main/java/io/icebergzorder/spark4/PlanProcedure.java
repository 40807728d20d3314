package io.icebergzorder.spark4;

import io.icebergzorder.spark.procedure.Procedures;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * {@code system.zorder_plan}: what {@code rewrite_data_files(strategy => 'zorder')} would do with the same arguments, and
 * why, if that is nothing. It reads metadata only.
 */
final class PlanProcedure implements UnboundProcedure, BoundProcedure {
  private static final ProcedureParameter[] PARAMETERS = {
    ProcedureParameter.in("table", DataTypes.StringType).build(),
    ProcedureParameter.in("sort_order", DataTypes.StringType).build(),
    optional("options", DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType)),
    optional("where", DataTypes.StringType),
    optional("branch", DataTypes.StringType)
  };

  private final TableCatalog catalog;

  PlanProcedure(TableCatalog catalog) {
    this.catalog = catalog;
  }

  private static ProcedureParameter optional(String name, DataType type) {
    return ProcedureParameter.in(name, type).defaultValue("NULL").build();
  }

  @Override
  public String name() {
    return Procedures.PLAN;
  }

  @Override
  public String description() {
    return "What rewrite_data_files with strategy zorder would do, without doing it";
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
    return PARAMETERS.clone();
  }

  @Override
  public Iterator<Scan> call(InternalRow input) {
    return new OneRow(
            Procedures.PLAN_OUTPUT, Procedures.plan(catalog, RewriteProcedure.arguments(PARAMETERS, input)))
        .iterator();
  }
}
