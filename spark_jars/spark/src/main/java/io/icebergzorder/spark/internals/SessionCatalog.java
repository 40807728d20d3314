package io.icebergzorder.spark.internals;

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The catalog that gives data frames the functions and tables of a rewrite. Spark creates it, so both are registered here. */
public final class SessionCatalog implements FunctionCatalog, TableCatalog {
  private static final Map<String, Object> OFFERED = new ConcurrentHashMap<>();

  private String name;

  /** Offers a function or a table; returns its name in every catalog of this class. */
  public static String register(Object offered) {
    String registered = uniqueName();
    OFFERED.put(registered, offered);
    return registered;
  }

  public static void forget(String registered) {
    OFFERED.remove(registered);
  }

  /** A name that no catalog, function or table of the user has. */
  public static String uniqueName() {
    return "iceberg_zorder_" + UUID.randomUUID().toString().replace("-", "");
  }

  @Override
  public void initialize(String catalogName, CaseInsensitiveStringMap options) {
    name = catalogName;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public UnboundFunction loadFunction(Identifier identifier) throws NoSuchFunctionException {
    if (OFFERED.get(identifier.name()) instanceof UnboundFunction function) {
      return function;
    }
    throw new NoSuchFunctionException(identifier);
  }

  @Override
  public Table loadTable(Identifier identifier) throws NoSuchTableException {
    if (OFFERED.get(identifier.name()) instanceof Table table) {
      return table;
    }
    throw new NoSuchTableException(identifier);
  }

  @Override
  public Identifier[] listFunctions(String[] namespace) {
    return new Identifier[0];
  }

  @Override
  public Identifier[] listTables(String[] namespace) {
    return new Identifier[0];
  }

  @Override
  public Table alterTable(Identifier identifier, TableChange... changes) {
    throw new UnsupportedOperationException("Cannot alter a staged file group, because it is written once");
  }

  @Override
  public boolean dropTable(Identifier identifier) {
    return false;
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    throw new UnsupportedOperationException("Cannot rename a staged file group, because it is written once");
  }
}
