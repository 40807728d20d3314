package io.icebergzorder.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Calls of Java objects from data frame columns, by way of Spark's function catalogs: the public path on which Spark
 * generates a direct call of {@code invoke} with unboxed arguments.
 *
 * <p>A scope sets up a catalog under a name of its own in one session and forgets its functions when closed.
 */
final class FunctionScope implements AutoCloseable {
  private static final Map<String, ScalarFunction<?>> FUNCTIONS = new ConcurrentHashMap<>();

  private final String catalog = "iceberg_zorder_" + unique();
  private final List<String> names = new ArrayList<>();

  /** Opens a scope in a session that the caller may change. */
  FunctionScope(SparkSession session) {
    session.conf().set("spark.sql.catalog." + catalog, Catalog.class.getName());
  }

  /** A column that calls a function. */
  synchronized Column call(ScalarFunction<?> function, Column... arguments) {
    String name = "f_" + unique();
    FUNCTIONS.put(name, function);
    names.add(name);
    return functions.call_function(catalog + "." + name, arguments);
  }

  @Override
  public synchronized void close() {
    names.forEach(FUNCTIONS::remove);
  }

  private static String unique() {
    return UUID.randomUUID().toString().replace("-", "");
  }

  /** The catalog that Spark instantiates by its class name; it finds the functions of every open scope. */
  public static final class Catalog implements FunctionCatalog {
    private String name;

    @Override
    public void initialize(String catalogName, CaseInsensitiveStringMap options) {
      name = catalogName;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) {
      return new Identifier[0];
    }

    @Override
    public UnboundFunction loadFunction(Identifier identifier) throws NoSuchFunctionException {
      ScalarFunction<?> function = FUNCTIONS.get(identifier.name());
      if (function == null) {
        throw new NoSuchFunctionException(identifier);
      }
      return new Ready(function);
    }
  }

  /** A function that needs no binding: it was made for the columns it is called with. */
  private record Ready(ScalarFunction<?> function) implements UnboundFunction {
    @Override
    public BoundFunction bind(StructType inputType) {
      return function;
    }

    @Override
    public String description() {
      return function.name();
    }

    @Override
    public String name() {
      return function.name();
    }
  }
}
