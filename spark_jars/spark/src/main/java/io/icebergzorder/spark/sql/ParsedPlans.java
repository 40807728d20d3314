package io.icebergzorder.spark.sql;

import io.icebergzorder.spark.internals.SparkInternals;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Wraps a session's parser, and applies a rule to each parsed plan: this rule sees a CALL before any rule of the
 * analysis.
 *
 * <p>It is a proxy because the methods of a parser differ between Spark lines and have other signatures in Scala 2.12
 * and 2.13, and because Iceberg asks the session's parser for an interface of its own.
 */
public final class ParsedPlans {
  private ParsedPlans() {}

  /** A parser whose plans have the rule applied; {@code instead} has plans of statements that it is not to see, or null. */
  public static ParserInterface around(ParserInterface parser, UnaryOperator<LogicalPlan> rule, Function<String, LogicalPlan> instead) {
    Set<Class<?>> interfaces = new LinkedHashSet<>();
    interfaces.add(ParserInterface.class);
    for (Class<?> type = parser.getClass(); type != null; type = type.getSuperclass()) {
      for (Class<?> implemented : type.getInterfaces()) {
        if (Modifier.isPublic(implemented.getModifiers())) {
          interfaces.add(implemented);
        }
      }
    }
    // The parser's own loader sees all its interfaces; ours need not, if an extension of others wrapped the parser.
    return (ParserInterface)
        Proxy.newProxyInstance(
            parser.getClass().getClassLoader(),
            interfaces.toArray(Class<?>[]::new),
            (proxy, method, arguments) -> {
              LogicalPlan plan = method.getName().equals("parsePlan") ? instead.apply((String) arguments[0]) : null;
              Object parsed = plan != null ? plan : SparkInternals.invoke(parser, method, arguments);
              return parsed instanceof LogicalPlan parsedPlan ? rule.apply(parsedPlan) : parsed;
            });
  }
}
