package io.icebergzorder.spark.procedure;

import java.util.List;
import java.util.Locale;
import org.apache.iceberg.spark.source.HasIcebergCatalog;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;

/** The procedures that a CALL reaches here. Spark lines differ in how a CALL arrives; this is what they share. */
public final class Procedures {
  /** Every procedure: another one is added here, and nowhere else. */
  private static final List<ProcedureDefinition> ALL =
      List.of(
          new RewriteDataFilesProcedure(),
          new ZOrderMetadataProcedure(),
          new ZOrderPlanProcedure(),
          new ZOrderReportProcedure(),
          new ZOrderRewriteProcedure());

  private static final String NAMESPACE = "system";

  private Procedures() {}

  /** A procedure, as a CALL names it in an Iceberg catalog. */
  public record NamedProcedure(CatalogPlugin catalog, Identifier identifier, ProcedureDefinition definition) {
    /** The catalog, as one of tables. */
    public TableCatalog tables() {
      return (TableCatalog) catalog;
    }
  }

  /** The procedures that Iceberg does not have. */
  public static List<AddedProcedure> added() {
    return ALL.stream().filter(AddedProcedure.class::isInstance).map(AddedProcedure.class::cast).toList();
  }

  /** The procedures that Iceberg has, too. */
  public static List<ExtendedProcedure> extended() {
    return ALL.stream().filter(ExtendedProcedure.class::isInstance).map(ExtendedProcedure.class::cast).toList();
  }

  /** Finds out what a CALL calls. A catalog is looked up only for a name that is one of these procedures'. */
  public static NamedProcedure find(SparkSession session, List<String> nameParts) {
    ProcedureDefinition definition = named(nameParts.get(nameParts.size() - 1).toLowerCase(Locale.ROOT));
    if (definition == null) {
      return null;
    }
    CatalogManager manager = session.sessionState().catalogManager();
    boolean named = nameParts.size() == 3 && manager.isCatalogRegistered(nameParts.get(0));
    List<String> inCatalog = named ? nameParts.subList(1, 3) : nameParts;
    if (inCatalog.size() != 2 || !inCatalog.get(0).equalsIgnoreCase(NAMESPACE)) {
      return null;
    }
    CatalogPlugin catalog = named ? manager.catalog(nameParts.get(0)) : manager.currentCatalog();
    if (!(catalog instanceof HasIcebergCatalog && catalog instanceof TableCatalog)) {
      return null;
    }
    Identifier identifier = Identifier.of(new String[] {inCatalog.get(0)}, inCatalog.get(1));
    return new NamedProcedure(catalog, identifier, definition);
  }

  private static ProcedureDefinition named(String name) {
    return ALL.stream().filter(procedure -> procedure.name().equals(name)).findFirst().orElse(null);
  }
}
