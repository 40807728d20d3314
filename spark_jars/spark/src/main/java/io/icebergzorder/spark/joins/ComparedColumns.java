package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.internals.SparkInternals;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.ListQuery;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/**
 * How a plan compares its columns: as they are, or in an expression, such as a cast to the type of the other side.
 *
 * <p>Spark would collect a join's keys for a column in an expression, too, and then find that a scan can do nothing with them. Nor does
 * a column take keys that is compared with a partition column of another table: Spark prunes one side of each join, the left one if
 * possible, and the other table would no longer skip partitions. Nor one that is compared in a row or a list, whose keys Spark cannot make.
 */
final class ComparedColumns {
  private final Map<ExprId, Expression> aliases = new HashMap<>();
  // Of each part of a union, by its output.
  private final Map<ExprId, List<Attribute>> ofUnions = new HashMap<>();
  private final Set<ExprId> plain = new HashSet<>();
  private final Set<String> plainNames = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
  private final Map<ExprId, Attribute> inExpressions = new HashMap<>();
  private final Set<ExprId> withheld = new HashSet<>();

  /** {@code partitionColumns} are those of all tables of the plan. */
  ComparedColumns(LogicalPlan plan, Set<ExprId> partitionColumns) {
    List<List<Expression>> compared = new ArrayList<>();
    addSources(plan);
    plan.transformAllExpressions(
        SparkInternals.visitor(
            each -> {
              if (each instanceof EqualTo || each instanceof EqualNullSafe || each instanceof InSubquery) {
                List<Expression> sides = SparkInternals.children(each);
                if (sides.stream().noneMatch(Expression::foldable)) {
                  compared.add(sides);
                }
              }
            }));
    for (List<Expression> sides : compared) {
      sides.forEach(each -> trace(each, true));
      List<Set<ExprId>> origins = sides.stream().map(this::origins).toList();
      for (int i = 0; i < origins.size(); i++) {
        Set<ExprId> side = origins.get(i);
        if (!Collections.disjoint(side, partitionColumns)) {
          origins.stream().filter(each -> each != side).forEach(withheld::addAll);
        }
        if (isNested(sides.get(i))) {
          withheld.addAll(side);
        }
      }
    }
  }

  /** Whether an expression makes a row or a list: Spark fails where it asks for the keys of such a comparison. */
  private static boolean isNested(Expression side) {
    return !(side instanceof ListQuery)
        && (side.dataType() instanceof StructType || side.dataType() instanceof ArrayType || side.dataType() instanceof MapType);
  }

  /** Finds what the columns of a plan and of its subqueries are made of. */
  private void addSources(LogicalPlan plan) {
    plan.transformExpressions(
        SparkInternals.visitor(
            each -> {
              if (each instanceof Alias alias) {
                aliases.put(alias.exprId(), alias.child());
              }
            }));
    List<LogicalPlan> below = SparkInternals.children(plan);
    if (plan instanceof Union) {
      List<Attribute> named = SparkInternals.output(plan);
      for (LogicalPlan part : below) {
        List<Attribute> columns = SparkInternals.output(part);
        IntStream.range(0, columns.size())
            .forEach(i -> ofUnions.computeIfAbsent(named.get(i).exprId(), id -> new ArrayList<>()).add(columns.get(i)));
      }
    }
    below.forEach(this::addSources);
    SparkInternals.subqueries(plan).forEach(this::addSources);
  }

  /** The columns in an expression, and those that they are made of, through casts, aliases and unions. */
  private Set<ExprId> origins(Expression expression) {
    Set<ExprId> found = new HashSet<>();
    Deque<Expression> open = new ArrayDeque<>(List.of(expression));
    while (!open.isEmpty()) {
      Expression each = open.pop();
      if (!(each instanceof Attribute column)) {
        open.addAll(SparkInternals.children(each));
      } else if (found.add(column.exprId())) {
        Stream.ofNullable(aliases.get(column.exprId())).forEach(open::add);
        open.addAll(ofUnions.getOrDefault(column.exprId(), List.of()));
      }
    }
    return found;
  }

  /** The names, in any case, of columns that may be keys of a relation. By name, because a union's columns are those of its first part. */
  Set<String> of(LogicalPlan relation) {
    Set<String> keys = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
    keys.addAll(plainNames);
    inExpressions.values().stream()
        .filter(each -> !plain.contains(each.exprId()) && relation.outputSet().contains(each))
        .forEach(each -> keys.remove(each.name()));
    SparkInternals.output(relation).stream()
        .filter(each -> withheld.contains(each.exprId()))
        .forEach(each -> keys.remove(each.name()));
    return keys;
  }

  private void trace(Expression compared, boolean isPlain) {
    if (!(compared instanceof Attribute column)) {
      SparkInternals.children(compared).forEach(each -> trace(each, false));
      return;
    }
    // An alias may name another one twice, which names a third one twice, and so on: each is followed once.
    boolean isNew = isPlain ? plain.add(column.exprId()) : inExpressions.put(column.exprId(), column) == null;
    if (isPlain) {
      plainNames.add(column.name());
    }
    if (isNew && aliases.containsKey(column.exprId())) {
      trace(aliases.get(column.exprId()), isPlain);
    }
  }
}
