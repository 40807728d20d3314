package io.icebergzorder.spark41;

import java.util.List;
import java.util.Locale;
import org.apache.iceberg.spark.source.HasIcebergCatalog;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedProcedure;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedProcedure;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Call;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.execution.command.DescribeProcedureCommand;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Puts our procedures into a CALL of {@code system.rewrite_data_files} or {@code system.zorder_plan} of an Iceberg catalog,
 * and into DESCRIBE PROCEDURE of them. Every other procedure is left for Spark to resolve, or to refuse.
 */
final class ProcedureRule extends Rule<LogicalPlan> {
  private static final String NAMESPACE = "system";

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
    if (plan instanceof DescribeProcedureCommand describe
        && describe.child() instanceof UnresolvedIdentifier unresolved) {
      Ours ours = find(unresolved.nameParts());
      return ours == null ? plan : describe.withNewChildInternal(ours.resolvedIdentifier());
    }
    return plan;
  }

  /** One of our procedures by its name, or null if the name is not ours. */
  private Ours find(Seq<String> nameParts) {
    List<String> parts = CollectionConverters.asJava(nameParts);
    String name = parts.get(parts.size() - 1).toLowerCase(Locale.ROOT);
    if (!name.equals(RewriteProcedure.NAME) && !name.equals(PlanProcedure.NAME)) {
      return null;
    }

    CatalogManager manager = session.sessionState().catalogManager();
    boolean named = parts.size() == 3 && manager.isCatalogRegistered(parts.get(0));
    List<String> inCatalog = named ? parts.subList(1, 3) : parts;
    if (inCatalog.size() != 2 || !inCatalog.get(0).equalsIgnoreCase(NAMESPACE)) {
      return null;
    }

    CatalogPlugin catalog = named ? manager.catalog(parts.get(0)) : manager.currentCatalog();
    if (catalog instanceof HasIcebergCatalog
        && catalog instanceof TableCatalog tables
        && catalog instanceof ProcedureCatalog procedures) {
      Identifier identifier = Identifier.of(new String[] {inCatalog.get(0)}, inCatalog.get(1));
      return name.equals(PlanProcedure.NAME)
          ? new Ours(procedures, identifier, new PlanProcedure(tables))
          : new Ours(procedures, identifier, new RewriteProcedure(tables, procedures.loadProcedure(identifier)));
    }
    return null;
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
