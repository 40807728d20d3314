package io.icebergzorder.icebergtests;

import java.lang.reflect.Method;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.iceberg.Parameters;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Runs each of Iceberg's parameterised tests with some of its class's parameterisations: as many as {@link #SETTING} says, beginning at
 * one that the test's name decides. So a class with more tests than parameterisations meets all of them.
 */
public final class SomeParameterisations implements ExecutionCondition {
  private static final String SETTING = "iceberg.tests.parameterisations";
  private static final Pattern INVOCATION = Pattern.compile("\\[test-template-invocation:#(\\d+)]$");

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    Matcher invocation = INVOCATION.matcher(context.getUniqueId());
    int all = invocation.find() ? parameterisations(context.getRequiredTestClass()) : 0;
    if (all == 0) {
      return ConditionEvaluationResult.enabled("not parameterised by the class");
    }
    int place = Integer.parseInt(invocation.group(1)) - 1 - context.getRequiredTestMethod().getName().hashCode();
    return Math.floorMod(place, all) < Integer.getInteger(SETTING)
        ? ConditionEvaluationResult.enabled("one of those that are run")
        : ConditionEvaluationResult.disabled(SETTING + " leaves it out");
  }

  /** The rows of the nearest method with {@link Parameters}; 0 without one. */
  private static int parameterisations(Class<?> tests) {
    for (Class<?> type = tests; type != null; type = type.getSuperclass()) {
      for (Method method : type.getDeclaredMethods()) {
        if (method.isAnnotationPresent(Parameters.class)) {
          try {
            method.setAccessible(true);
            Object rows = method.invoke(null);
            return rows instanceof java.util.Collection<?> collection ? collection.size() : ((Object[]) rows).length;
          } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
          }
        }
      }
    }
    return 0;
  }
}
