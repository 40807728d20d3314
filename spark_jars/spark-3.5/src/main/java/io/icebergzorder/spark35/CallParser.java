package io.icebergzorder.spark35;

import io.icebergzorder.spark.Procedures;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.extensions.IcebergSparkSqlExtensionsParser;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * The session's parser, which applies the rule to what it parsed, and has Iceberg's parser take a CALL of our own procedure:
 * that takes those that it knows by name, and leaves any other to Spark, which has no CALL before 4.0.
 *
 * <p>It is a proxy because the methods of a parser have other signatures in Scala 2.12 and 2.13, and because Iceberg asks
 * the session's parser for an interface of its own.
 */
final class CallParser {
  private static final Pattern CALL =
      Pattern.compile(
          "\\s*CALL\\s+(\\S+\\s*\\.\\s*)?`?system`?\\s*\\.\\s*`?" + Procedures.PLAN + "`?\\s*\\(.*",
          Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  /** Iceberg's parser looks for a name that it knows anywhere in the text, but skips a comment when it parses. */
  private static final String KNOWN = "\n-- system." + Procedures.REWRITE;

  private CallParser() {}

  static ParserInterface around(ParserInterface parser, CallRule rule) {
    Set<Class<?>> interfaces = new LinkedHashSet<>();
    interfaces.add(ParserInterface.class);
    for (Class<?> type = parser.getClass(); type != null; type = type.getSuperclass()) {
      interfaces.addAll(Set.of(type.getInterfaces()));
    }
    return (ParserInterface)
        Proxy.newProxyInstance(
            CallParser.class.getClassLoader(),
            interfaces.toArray(Class<?>[]::new),
            (proxy, method, arguments) -> parse(parser, rule, method, arguments));
  }

  private static Object parse(ParserInterface parser, CallRule rule, Method method, Object[] arguments) throws Throwable {
    if (method.getName().equals("parsePlan") && CALL.matcher((String) arguments[0]).matches()) {
      return rule.apply(new IcebergSparkSqlExtensionsParser(parser).parsePlan(arguments[0] + KNOWN));
    }
    try {
      Object parsed = method.invoke(parser, arguments);
      return parsed instanceof LogicalPlan plan ? rule.apply(plan) : parsed;
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
