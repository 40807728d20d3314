package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.SparkInternals;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Stands before one of Iceberg's objects in a query's plan. It has every interface of Spark's that the other has, and passes on each call
 * that it does not answer itself, so that a method which a release of Spark or Iceberg adds is not lost.
 */
abstract class StandIn implements InvocationHandler {
  /** Puts the classes of stand-ins into this package, where reflection reaches them. */
  interface Marker {}

  private final Object iceberg;

  StandIn(Object iceberg) {
    this.iceberg = iceberg;
  }

  /** The object for Spark's plan. */
  final <T> T as(Class<T> type) {
    Set<Class<?>> interfaces = new LinkedHashSet<>(Set.of(Marker.class));
    for (Class<?> owner = iceberg.getClass(); owner != null; owner = owner.getSuperclass()) {
      for (Class<?> each : owner.getInterfaces()) {
        if (each.getName().startsWith("org.apache.spark.")) {
          interfaces.add(each);
        }
      }
    }
    return type.cast(Proxy.newProxyInstance(StandIn.class.getClassLoader(), interfaces.toArray(Class<?>[]::new), this));
  }

  @Override
  public final Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    if (method.getName().equals("equals") && method.getDeclaringClass() == Object.class) {
      // Spark looks for equal tables and scans, to read them once.
      return arguments[0] instanceof Marker && Proxy.getInvocationHandler(arguments[0]) instanceof StandIn that && iceberg.equals(that.iceberg);
    }
    return answer(method, arguments);
  }

  /** Answers a call, or passes it on. */
  abstract Object answer(Method method, Object[] arguments) throws Throwable;

  final Object passOn(Method method, Object[] arguments) throws Throwable {
    return SparkInternals.invoke(iceberg, method, arguments);
  }
}
