package io.icebergzorder.spark.internals;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;

/** Calls of Java objects from data frames through Spark's function catalogs, which generate direct calls; forgotten in the end. */
public final class FunctionScope implements AutoCloseable {
  private final RewriteSession session;
  private final List<String> names = new ArrayList<>();
  private final List<Shared<?>> shared = new ArrayList<>();

  public FunctionScope(RewriteSession session) {
    this.session = session;
  }

  /** Sends a value to the executors, for functions to use until the scope is closed. */
  public <T extends Serializable> Shared<T> share(T value) {
    return send(List.of(value), null);
  }

  /** Sends several values together, of which the tasks of each partition use the one at a place. */
  public <T extends Serializable> Shared<T> share(List<T> values, int[] placesOfPartitions) {
    return send(values, placesOfPartitions);
  }

  private <T extends Serializable> Shared<T> send(List<T> values, int[] placesOfPartitions) {
    Shared<T> sent = new Shared<>(session.spark().sparkContext(), values, placesOfPartitions);
    shared.add(sent);
    return sent;
  }

  public Column call(ColumnFunction<?> function, Column... arguments) {
    String name = SessionCatalog.register(function);
    names.add(name);
    return functions.call_function(session.nameOf(name), arguments);
  }

  @Override
  public void close() {
    names.forEach(SessionCatalog::forget);
    shared.forEach(Shared::close);
  }
}
