package io.icebergzorder.spark4;

import io.icebergzorder.spark.sql.Procedures;
import io.icebergzorder.spark.sql.RewriteDataFilesProcedure;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.ResolvedProcedure;
import org.apache.spark.sql.catalyst.analysis.UnresolvedProcedure;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.Call;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Puts our {@link Procedures} into a CALL in an Iceberg catalog. Every other procedure is left for Spark. */
final class ProcedureRule extends Rule<LogicalPlan> {
  private final transient SparkSession session;

  ProcedureRule(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!(plan instanceof Call call && call.procedure() instanceof UnresolvedProcedure unresolved)) {
      return plan;
    }
    Procedures.NamedProcedure named = Procedures.find(session, CollectionConverters.asJava(unresolved.nameParts()));
    if (named == null || !(named.catalog() instanceof ProcedureCatalog procedures)) {
      return plan;
    }
    UnboundProcedure procedure =
        named.added() == null
            ? new Extended(named.tables(), procedures.loadProcedure(named.identifier()).bind(new StructType()))
            : new Added(named.tables(), named.added());
    return new Call(new ResolvedProcedure(procedures, named.identifier(), procedure), call.args(), call.execute());
  }

  /** A procedure that takes the same arguments however it is called. */
  private interface OfOneForm extends UnboundProcedure, BoundProcedure {
    @Override
    default BoundProcedure bind(StructType inputType) {
      return this;
    }

    @Override
    default boolean isDeterministic() {
      return false;
    }
  }

  /** A procedure that Iceberg does not have. */
  private record Added(TableCatalog catalog, Procedures.AddedProcedure procedure) implements OfOneForm {
    @Override
    public String name() {
      return procedure.name();
    }

    @Override
    public String description() {
      return procedure.name();
    }

    @Override
    public ProcedureParameter[] parameters() {
      return Arrays.stream(procedure.parameters().fields()).map(Added::parameter).toArray(ProcedureParameter[]::new);
    }

    private static ProcedureParameter parameter(StructField field) {
      ProcedureParameter.Builder builder = ProcedureParameter.in(field.name(), field.dataType());
      return field.nullable() ? builder.defaultValue("NULL").build() : builder.build();
    }

    @Override
    public Iterator<Scan> call(InternalRow input) {
      return rows(procedure.output(), Procedures.call(procedure, catalog, input));
    }
  }

  /** Iceberg's procedure that does more; what it does not do more is Iceberg's. */
  private record Extended(TableCatalog catalog, BoundProcedure iceberg) implements OfOneForm {
    @Override
    public String name() {
      return iceberg.name();
    }

    @Override
    public String description() {
      return iceberg.description();
    }

    @Override
    public ProcedureParameter[] parameters() {
      return iceberg.parameters();
    }

    @Override
    public Iterator<Scan> call(InternalRow input) {
      Stream<StructField> fields =
          Arrays.stream(parameters()).map(each -> new StructField(each.name(), each.dataType(), true, Metadata.empty()));
      return RewriteDataFilesProcedure.call(catalog, fields, input)
          .map(rows -> rows(RewriteDataFilesProcedure.OUTPUT, rows))
          .orElseGet(() -> iceberg.call(input));
    }
  }

  private static Iterator<Scan> rows(StructType schema, List<Object[]> rows) {
    return List.<Scan>of(new Rows(schema, rows.stream().map(GenericInternalRow::new).toArray(InternalRow[]::new))).iterator();
  }

  private record Rows(StructType readSchema, InternalRow[] rows) implements LocalScan {}
}
