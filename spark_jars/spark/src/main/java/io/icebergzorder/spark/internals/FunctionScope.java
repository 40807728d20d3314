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
    return shareAll(List.of(value));
  }

  /** Sends several values together, for functions to use some of them until the scope is closed. */
  public <T extends Serializable> Shared<T> shareAll(List<T> values) {
    Shared<T> sent = new Shared<>(session.spark().sparkContext(), values);
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
