package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.SparkInternals;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.runtime.AbstractPartialFunction;

/**
 * How a plan compares its columns: as they are, or in an expression, such as a cast to the type of the other side.
 *
 * <p>Spark would collect a join's keys for a column in an expression, too, and then find that a scan can do nothing with them.
 */
final class ComparedColumns {
  private final Map<ExprId, Expression> aliases = new HashMap<>();
  private final Set<ExprId> plain = new HashSet<>();
  private final Set<String> plainNames = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
  private final Map<ExprId, Attribute> inExpressions = new HashMap<>();

  ComparedColumns(LogicalPlan plan) {
    List<Expression> compared = new ArrayList<>();
    plan.transformAllExpressions(
        new AbstractPartialFunction<Expression, Expression>() {
          @Override
          public boolean isDefinedAt(Expression each) {
            if (each instanceof Alias alias) {
              aliases.put(alias.exprId(), alias.child());
            } else if (each instanceof EqualTo || each instanceof EqualNullSafe || each instanceof InSubquery) {
              List<Expression> sides = SparkInternals.children(each);
              if (sides.stream().noneMatch(Expression::foldable)) {
                compared.addAll(sides);
              }
            }
            return false;
          }

          @Override
          public Expression apply(Expression each) {
            throw new IllegalStateException("Nothing is changed");
          }
        });
    compared.forEach(each -> trace(each, true));
  }

  /** The names, in any case, of columns that may be keys of a relation. By name, because a union's columns are those of its first part. */
  Set<String> of(LogicalPlan relation) {
    Set<String> keys = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
    keys.addAll(plainNames);
    inExpressions.values().stream()
        .filter(each -> !plain.contains(each.exprId()) && relation.outputSet().contains(each))
        .forEach(each -> keys.remove(each.name()));
    return keys;
  }

  private void trace(Expression compared, boolean isPlain) {
    if (!(compared instanceof Attribute column)) {
      SparkInternals.children(compared).forEach(each -> trace(each, false));
      return;
    }
    if (isPlain) {
      plain.add(column.exprId());
      plainNames.add(column.name());
    } else {
      inExpressions.put(column.exprId(), column);
    }
    if (aliases.containsKey(column.exprId())) {
      trace(aliases.get(column.exprId()), isPlain);
    }
  }
}
