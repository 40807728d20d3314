package io.icebergzorder.spark.spec;

import io.icebergzorder.core.workload.KeyBox;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.Schema;
import org.apache.iceberg.expressions.And;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.BoundPredicate;
import org.apache.iceberg.expressions.BoundReference;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expression.Operation;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Or;

/**
 * A condition as boxes over the keys of columns: a row for which it is true is in one of them. They hold no other row,
 * unless the condition has a list of more than 200 values, NOT IN of more than 20, or comes to more than 64 boxes. The
 * Python module {@code iceberg_zorder.workload.boxes} gives the same boxes.
 */
public final class ConditionBoxes {
  private static final int MOST = 64;

  private static final Comparator<List<KeyBox>> BY_BOXES =
      Comparator.<List<KeyBox>>comparingInt(List::size).thenComparing(KeyBox.ORDER_OF_LISTS);

  private final PredicateRanges predicates;

  private ConditionBoxes(Schema schema) {
    predicates = new PredicateRanges(schema);
  }

  public static List<KeyBox> of(Schema schema, Expression condition, boolean caseSensitive) {
    Expression bound = Binder.bind(schema.asStruct(), Expressions.rewriteNot(condition), caseSensitive);
    return new ConditionBoxes(schema).of(bound);
  }

  private List<KeyBox> of(Expression condition) {
    return switch (condition.op()) {
      case TRUE -> List.of(KeyBox.EVERYTHING);
      case FALSE -> List.of();
      case OR -> any(parts(condition, Operation.OR).toList());
      case AND -> all(parts(condition, Operation.AND).toList());
      default -> boxes(List.of((BoundPredicate<?>) condition));
    };
  }

  /** The parts joined by AND or OR, with nested joins of the same kind flattened. */
  private static Stream<Expression> parts(Expression condition, Operation joint) {
    if (condition.op() != joint) {
      return Stream.of(condition);
    }
    Stream<Expression> both =
        condition instanceof And and ? Stream.of(and.left(), and.right()) : Stream.of(((Or) condition).left(), ((Or) condition).right());
    return both.flatMap(each -> parts(each, joint));
  }

  private List<KeyBox> any(List<Expression> parts) {
    return KeyBox.cover(boxes(parts, Operation.EQ, Operation.IN).stream().flatMap(List::stream).toList(), MOST);
  }

  /** Intersects each box of a part with each box of the others. */
  private List<KeyBox> all(List<Expression> parts) {
    List<KeyBox> found = List.of(KeyBox.EVERYTHING);
    // With too many boxes, the order matters.
    for (List<KeyBox> part : boxes(withoutImplied(parts), Operation.NOT_EQ, Operation.NOT_IN).stream().distinct().sorted(BY_BOXES).toList()) {
      found = met(found, part);
    }
    return found;
  }

  private static List<KeyBox> met(List<KeyBox> found, List<KeyBox> part) {
    List<KeyBox> one = found;
    List<KeyBox> other = part;
    while (one.size() * other.size() > MOST) {
      if (one.size() > other.size()) {
        one = KeyBox.cover(one, (one.size() + 1) / 2);
      } else {
        other = KeyBox.cover(other, (other.size() + 1) / 2);
      }
    }
    List<KeyBox> met = new ArrayList<>();
    for (KeyBox left : one) {
      other.forEach(right -> left.met(right).ifPresent(met::add));
    }
    return KeyBox.cover(met, MOST);
  }

  /** The boxes of each part; parts that name values of a column by one of two operations are one, for its length counts. */
  private List<List<KeyBox>> boxes(List<Expression> parts, Operation one, Operation several) {
    List<List<KeyBox>> found = new ArrayList<>();
    Map<Integer, List<BoundPredicate<?>>> lists = new LinkedHashMap<>();
    for (Expression part : parts) {
      if ((part.op() == one || part.op() == several) && ((BoundPredicate<?>) part).term() instanceof BoundReference<?> column) {
        lists.computeIfAbsent(column.fieldId(), id -> new ArrayList<>()).add((BoundPredicate<?>) part);
      } else {
        found.add(of(part));
      }
    }
    lists.values().forEach(list -> found.add(boxes(list)));
    return found;
  }

  private List<KeyBox> boxes(List<BoundPredicate<?>> ofColumn) {
    return KeyBox.cover(predicates.boxes(ofColumn), MOST);
  }

  /** Drops IS NOT NULL, which Spark often adds, of columns that another part already requires to be non-NULL. */
  private static List<Expression> withoutImplied(List<Expression> parts) {
    Set<Integer> asked =
        parts.stream()
            .filter(part -> part.op() != Operation.NOT_NULL)
            .flatMap(part -> notNull(part).stream())
            .collect(Collectors.toSet());
    return parts.stream().filter(part -> part.op() != Operation.NOT_NULL || !asked.containsAll(notNull(part))).toList();
  }

  /** The columns that are non-NULL whenever a condition is true. */
  private static Set<Integer> notNull(Expression condition) {
    return switch (condition.op()) {
      case TRUE, FALSE, IS_NULL -> Set.of();
      case AND -> parts(condition, Operation.AND).flatMap(part -> notNull(part).stream()).collect(Collectors.toSet());
      case OR ->
          parts(condition, Operation.OR)
              .map(ConditionBoxes::notNull)
              .reduce((one, other) -> one.stream().filter(other::contains).collect(Collectors.toSet()))
              .orElseThrow();
      default -> ((BoundPredicate<?>) condition).term() instanceof BoundReference<?> column ? Set.of(column.fieldId()) : Set.of();
    };
  }
}
