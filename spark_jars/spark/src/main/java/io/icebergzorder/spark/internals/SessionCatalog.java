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

/** The catalog by which data frames reach functions and tables of a rewrite. Spark makes it, so they are registered here. */
public final class SessionCatalog implements FunctionCatalog, TableCatalog {
  private static final Map<String, UnboundFunction> FUNCTIONS = new ConcurrentHashMap<>();
  private static final Map<String, Table> TABLES = new ConcurrentHashMap<>();

  private String name;

  static String register(UnboundFunction function) {
    String functionName = uniqueName();
    FUNCTIONS.put(functionName, function);
    return functionName;
  }

  public static String register(Table table) {
    String tableName = uniqueName();
    TABLES.put(tableName, table);
    return tableName;
  }

  public static void forget(String registered) {
    FUNCTIONS.remove(registered);
    TABLES.remove(registered);
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
    UnboundFunction function = FUNCTIONS.get(identifier.name());
    if (function == null) {
      throw new NoSuchFunctionException(identifier);
    }
    return function;
  }

  @Override
  public Table loadTable(Identifier identifier) throws NoSuchTableException {
    Table table = TABLES.get(identifier.name());
    if (table == null) {
      throw new NoSuchTableException(identifier);
    }
    return table;
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
