package io.icebergzorder.spark.joins;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.connector.read.SupportsReportPartitioning;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class StandInTest {
  /** What Iceberg's tables, builders and scans are for Spark. */
  static Stream<List<Class<?>>> kinds() {
    return Stream.of(
        List.of(Table.class, SupportsRead.class, SupportsMetadataColumns.class),
        List.of(
            ScanBuilder.class,
            SupportsPushDownV2Filters.class,
            SupportsPushDownRequiredColumns.class,
            SupportsPushDownLimit.class,
            SupportsPushDownAggregates.class),
        List.of(Scan.class, SupportsRuntimeV2Filtering.class, SupportsReportStatistics.class, SupportsReportPartitioning.class));
  }

  private static final class PassesAll extends StandIn {
    PassesAll(Object iceberg) {
      super(iceberg);
    }

    @Override
    Object answer(Method method, Object[] arguments) throws Throwable {
      return passOn(method, arguments);
    }
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void passesOnEveryMethodOfEveryInterface(List<Class<?>> interfaces) throws ReflectiveOperationException {
    List<Method> reached = new ArrayList<>();
    InvocationHandler target =
        (proxy, method, arguments) -> {
          reached.add(method);
          return method.getReturnType() == boolean.class ? (Object) true : null;
        };
    Object iceberg = Proxy.newProxyInstance(getClass().getClassLoader(), interfaces.toArray(Class<?>[]::new), target);
    Object standIn = new PassesAll(iceberg).as(interfaces.get(0));

    List<Method> called = new ArrayList<>();
    for (Class<?> each : interfaces) {
      for (Method method : each.getMethods()) {
        if (!Modifier.isStatic(method.getModifiers()) && !method.isBridge()) {
          Object[] arguments = Arrays.stream(method.getParameterTypes()).map(type -> type == int.class ? (Object) 1 : null).toArray();
          method.invoke(standIn, arguments);
          called.add(method);
        }
      }
    }

    assertFalse(called.isEmpty());
    assertEquals(called.stream().map(StandInTest::signature).toList(), reached.stream().map(StandInTest::signature).toList());
  }

  private static String signature(Method method) {
    return method.getName() + Arrays.toString(method.getParameterTypes());
  }

  @Test
  void isEqualToAnotherBeforeAnEqualObject() {
    Table table = (Table) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Table.class}, new SameAs("a"));
    Table same = (Table) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Table.class}, new SameAs("a"));
    Table other = (Table) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Table.class}, new SameAs("b"));
    Table standIn = new PassesAll(table).as(Table.class);
    assertEquals(standIn, new PassesAll(same).as(Table.class));
    assertEquals(standIn.hashCode(), new PassesAll(same).as(Table.class).hashCode());
    assertNotEquals(standIn, new PassesAll(other).as(Table.class));
    assertNotEquals(standIn, table);
  }

  private record SameAs(String name) implements InvocationHandler {
    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) {
      return switch (method.getName()) {
        case "equals" -> equals(Proxy.getInvocationHandler(arguments[0]));
        case "hashCode" -> name.hashCode();
        default -> name;
      };
    }
  }
}
