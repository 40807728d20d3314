package io.icebergzorder.spark4;

import io.icebergzorder.spark.procedure.AddedProcedure;
import io.icebergzorder.spark.procedure.ExtendedProcedure;
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
 * Puts our procedures into a CALL of {@link Procedures one of them} in an Iceberg catalog, and into DESCRIBE PROCEDURE
 * of them. Every other procedure is left for Spark to resolve, or to refuse.
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
      FoundProcedure found = find(unresolved.nameParts());
      return found == null
          ? plan
          : new Call(
              new ResolvedProcedure(found.catalog, found.identifier, found.procedure), call.args(), call.execute());
    }
    if (plan.getClass().getName().equals(DESCRIBE) && plan.children().head() instanceof UnresolvedIdentifier unresolved) {
      FoundProcedure found = find(unresolved.nameParts());
      return found == null
          ? plan
          : plan.withNewChildren(CollectionConverters.asScala(List.of(found.resolvedIdentifier())).toList());
    }
    return plan;
  }

  /** One of our procedures by its name, or null if the name is not ours. */
  private FoundProcedure find(Seq<String> nameParts) {
    Procedures.NamedProcedure named = Procedures.find(session, CollectionConverters.asJava(nameParts));
    if (named == null || !(named.catalog() instanceof ProcedureCatalog procedures)) {
      return null;
    }
    UnboundProcedure procedure =
        named.definition() instanceof ExtendedProcedure extended
            ? new ExtendedSparkProcedure(named.tables(), extended, procedures.loadProcedure(named.identifier()))
            : new AddedSparkProcedure(named.tables(), (AddedProcedure) named.definition());
    return new FoundProcedure(procedures, named.identifier(), procedure);
  }

  private record FoundProcedure(ProcedureCatalog catalog, Identifier identifier, UnboundProcedure procedure) {
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
