package io.icebergzorder.spark4;

import io.icebergzorder.spark.procedure.Procedures;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedProcedure;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedProcedure;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Call;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Puts our procedures into a CALL of {@code system.rewrite_data_files} or {@code system.zorder_plan} of an Iceberg catalog,
 * and into DESCRIBE PROCEDURE of them. Every other procedure is left for Spark to resolve, or to refuse.
 */
final class ProcedureRule extends Rule<LogicalPlan> {
  /** By name, because Spark 4.0 does not have it. */
  private static final String DESCRIBE = "org.apache.spark.sql.execution.command.DescribeProcedureCommand";

  private final transient SparkSession session;

  ProcedureRule(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan instanceof Call call && call.procedure() instanceof UnresolvedProcedure unresolved) {
      Ours ours = find(unresolved.nameParts());
      return ours == null
          ? plan
          : new Call(
              new ResolvedProcedure(ours.catalog, ours.identifier, ours.procedure), call.args(), call.execute());
    }
    if (plan.getClass().getName().equals(DESCRIBE) && plan.children().head() instanceof UnresolvedIdentifier unresolved) {
      Ours ours = find(unresolved.nameParts());
      return ours == null
          ? plan
          : plan.withNewChildren(CollectionConverters.asScala(List.of(ours.resolvedIdentifier())).toList());
    }
    return plan;
  }

  /** One of our procedures by its name, or null if the name is not ours. */
  private Ours find(Seq<String> nameParts) {
    Procedures.Called called = Procedures.find(session, CollectionConverters.asJava(nameParts));
    if (called == null || !(called.catalog() instanceof ProcedureCatalog procedures)) {
      return null;
    }
    UnboundProcedure procedure =
        called.isPlan()
            ? new PlanProcedure(called.tables())
            : new RewriteProcedure(called.tables(), procedures.loadProcedure(called.identifier()));
    return new Ours(procedures, called.identifier(), procedure);
  }

  private record Ours(ProcedureCatalog catalog, Identifier identifier, UnboundProcedure procedure) {
    /** DESCRIBE PROCEDURE asks a catalog for the procedure, so it gets one that has it. */
    @SuppressWarnings("unchecked")
    LogicalPlan resolvedIdentifier() {
      return new ResolvedIdentifier(
          new OneProcedure(catalog, procedure), identifier, (Seq<Attribute>) (Seq<?>) Nil$.MODULE$);
    }
  }

  /** A catalog of one procedure. */
  private record OneProcedure(ProcedureCatalog catalog, UnboundProcedure procedure) implements ProcedureCatalog {
    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {}

    @Override
    public String name() {
      return catalog.name();
    }

    @Override
    public UnboundProcedure loadProcedure(Identifier identifier) {
      return procedure;
    }

    @Override
    public Identifier[] listProcedures(String[] namespace) {
      return new Identifier[0];
    }
  }
}
