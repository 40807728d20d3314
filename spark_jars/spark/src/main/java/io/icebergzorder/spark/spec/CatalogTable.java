package io.icebergzorder.spark.spec;

import io.icebergzorder.core.metrics.SnapshotFacts;
import io.icebergzorder.spark.internals.SparkInternals;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.Spark3Util;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An Iceberg table that Spark has found by its name. */
public record CatalogTable(
    SparkSession session, TableCatalog catalog, Identifier identifier, Table table, String branch, boolean isCaseSensitive) {
  private static final Logger LOG = LoggerFactory.getLogger(CatalogTable.class);

  private static final String REWRITE = "rewrite data files of";

  /** Loads a table by its full name, or by one that the session's current catalog and namespace complete. */
  public static CatalogTable load(SparkSession session, String name) {
    List<String> parts = parts(session, name, REWRITE);
    CatalogManager manager = session.sessionState().catalogManager();
    boolean isNamed = parts.size() > 1 && manager.isCatalogRegistered(parts.get(0));
    CatalogPlugin catalog = isNamed ? manager.catalog(parts.get(0)) : manager.currentCatalog();
    if (catalog instanceof TableCatalog tables) {
      return load(session, tables, name);
    }
    throw new IllegalArgumentException("Cannot rewrite data files of %s, because catalog %s has no tables".formatted(name, catalog.name()));
  }

  /** Loads a table by its name, as a CALL in a catalog writes it. */
  public static CatalogTable load(SparkSession session, TableCatalog catalog, String name) {
    return load(session, catalog, name, REWRITE);
  }

  /** Loads a table for another purpose than a rewrite. */
  public static CatalogTable load(SparkSession session, TableCatalog catalog, String name, String act) {
    Identifier identifier = identifier(session, catalog, name, act);
    org.apache.spark.sql.connector.catalog.Table loaded;
    try {
      loaded = catalog.loadTable(identifier);
    } catch (NoSuchTableException e) {
      throw new IllegalArgumentException(
          "Cannot %s %s, because catalog %s has no such table".formatted(act, identifier, catalog.name()), e);
    }
    if (loaded instanceof SparkTable found) {
      boolean byCase = Boolean.parseBoolean(session.conf().get("spark.sql.caseSensitive", "false"));
      return new CatalogTable(session, catalog, identifier, found.table(), found.branch(), byCase);
    }
    throw new IllegalArgumentException("Cannot %s %s, because it is not an Iceberg table".formatted(act, identifier));
  }

  /** The table's identifier in the procedure's own catalog. */
  private static Identifier identifier(SparkSession session, TableCatalog catalog, String name, String act) {
    List<String> parts = parts(session, name, act);
    String first = parts.get(0);
    if (parts.size() > 1 && first.equals(catalog.name())) {
      parts = parts.subList(1, parts.size());
    } else if (parts.size() > 2 && session.sessionState().catalogManager().isCatalogRegistered(first)) {
      throw new IllegalArgumentException(
          "Cannot %s %s, because the procedure was called in catalog %s and the table is in catalog %s"
              .formatted(act, name, catalog.name(), first));
    }
    String[] namespace = parts.subList(0, parts.size() - 1).toArray(String[]::new);
    if (namespace.length == 0) {
      namespace = defaultNamespace(session, catalog);
    }
    return Identifier.of(namespace, parts.get(parts.size() - 1));
  }

  private static List<String> parts(SparkSession session, String name, String act) {
    List<String> parts;
    try {
      parts = name == null ? List.of() : SparkInternals.parseName(session, name);
    } catch (AnalysisException e) {
      throw new IllegalArgumentException("Cannot %s '%s', because it is not a table name".formatted(act, name), e);
    }
    if (parts.isEmpty()) {
      throw new IllegalArgumentException("Cannot %s a table, because argument table is empty".formatted(act));
    }
    return parts;
  }

  private static String[] defaultNamespace(SparkSession session, TableCatalog catalog) {
    CatalogManager manager = session.sessionState().catalogManager();
    return manager.currentCatalog().equals(catalog) ? manager.currentNamespace() : catalog.defaultNamespace();
  }

  public String name() {
    return table.name();
  }

  /** The same table, with case-sensitive or case-insensitive column names. */
  public CatalogTable byCase(boolean caseSensitive) {
    return new CatalogTable(session, catalog, identifier, table, branch, caseSensitive);
  }

  /** The full name's parts: catalog, namespace, table. */
  public List<String> parts() {
    List<String> parts = new ArrayList<>(List.of(catalog.name()));
    parts.addAll(List.of(identifier.namespace()));
    parts.add(identifier.name());
    return parts;
  }

  /** The full name, quoted for SQL. */
  String quotedName() {
    return Spark3Util.quotedFullIdentifier(catalog.name(), identifier);
  }

  /** Refreshes the table in Spark and the catalog; failures do not affect commits. */
  public void refreshCaches() {
    try {
      catalog.invalidateTable(identifier);
      // Spark would load and analyze the table to find out that nothing is cached.
      if (!session.sharedState().cacheManager().isEmpty()) {
        session.catalog().refreshTable(quotedName());
      }
    } catch (Throwable e) {
      LOG.warn("Cannot refresh the cache of {}: run REFRESH TABLE", name(), e);
    }
  }

  /** A snapshot and its unexpired ancestors, oldest first. */
  public static List<SnapshotFacts> snapshotsTo(Table table, long snapshotId) {
    List<SnapshotFacts> found = new ArrayList<>();
    SnapshotUtil.ancestorsOf(snapshotId, table::snapshot).forEach(each -> found.add(facts(each)));
    Collections.reverse(found);
    return found;
  }

  private static SnapshotFacts facts(Snapshot snapshot) {
    Map<String, String> summary = snapshot.summary() == null ? Map.of() : snapshot.summary();
    String operation = snapshot.operation() == null ? "append" : snapshot.operation();
    return new SnapshotFacts(snapshot.snapshotId(), snapshot.timestampMillis(), operation, summary);
  }
}
