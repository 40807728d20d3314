package io.icebergzorder.spark.spec;

import io.icebergzorder.core.Keys;
import io.icebergzorder.core.Keys.KeyDomain;
import io.icebergzorder.core.workload.KeyBox;
import io.icebergzorder.core.workload.KeyEdge;
import io.icebergzorder.core.workload.KeyRange;
import io.icebergzorder.spark.bounds.ValueKeys;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.Schema;
import org.apache.iceberg.expressions.BoundPredicate;
import org.apache.iceberg.expressions.BoundReference;
import org.apache.iceberg.expressions.Expression.Operation;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Type.TypeID;
import org.apache.iceberg.types.Types;

/** Predicates on one column as ranges of its keys. None is true of NULL but IS NULL, see {@link ConditionBoxes}. */
final class PredicateRanges {
  /** Iceberg's metrics evaluator ignores the values of longer lists. */
  private static final int IN_LIMIT = 200;

  private static final int NOT_IN_LIMIT = 20;

  private static final int WIDE_DECIMAL_BITS = 127;

  private final Map<Integer, List<String>> names = new HashMap<>();

  PredicateRanges(Schema schema) {
    addNames(schema.asStruct(), List.of());
  }

  private void addNames(Types.StructType struct, List<String> parents) {
    for (Types.NestedField field : struct.fields()) {
      List<String> parts = new ArrayList<>(parents);
      parts.add(field.name());
      names.put(field.fieldId(), List.copyOf(parts));
      if (field.type().isStructType()) {
        addNames(field.type().asStructType(), parts);
      }
    }
  }

  List<KeyBox> boxes(List<BoundPredicate<?>> predicates) {
    // Of what else partition transforms tell, keys do not.
    if (!(predicates.get(0).term() instanceof BoundReference<?> column) || !names.containsKey(column.fieldId())) {
      return List.of(KeyBox.EVERYTHING);
    }
    List<String> name = names.get(column.fieldId());
    return ranges(column.type(), predicates).stream().map(range -> KeyBox.of(name, range)).toList();
  }

  private static List<KeyRange> ranges(Type type, List<BoundPredicate<?>> predicates) {
    BoundPredicate<?> first = predicates.get(0);
    return switch (first.op()) {
      case IS_NULL -> List.of(KeyRange.NULLS);
      case IS_NAN -> List.of(KeyRange.NANS);
      case NOT_NAN -> List.of(new KeyRange(KeyEdge.VALUES, KeyEdge.NAN));
      case EQ, IN -> oneOf(type, values(predicates));
      case NOT_EQ, NOT_IN -> noneOf(type, values(predicates));
      case LT, LT_EQ, GT, GT_EQ -> keepSome(bound(first.op(), equal(type, value(first))));
      case STARTS_WITH -> keepSome(prefixed(type, value(first)));
      case NOT_STARTS_WITH -> {
        KeyRange excluded = prefixed(type, value(first));
        // Where keys do not show what begins so, all of them may be wanted.
        yield excluded.equals(KeyRange.NOT_NULL) ? List.of(excluded) : between(List.of(excluded));
      }
      default -> List.of(KeyRange.NOT_NULL);
    };
  }

  private static Object value(BoundPredicate<?> predicate) {
    return predicate.asLiteralPredicate().literal().value();
  }

  private static Set<Object> values(List<BoundPredicate<?>> predicates) {
    Set<Object> values = new LinkedHashSet<>();
    for (BoundPredicate<?> each : predicates) {
      if (each.isSetPredicate()) {
        values.addAll(each.asSetPredicate().literalSet());
      } else {
        values.add(value(each));
      }
    }
    return values;
  }

  private static List<KeyRange> oneOf(Type type, Set<Object> values) {
    return values.size() > IN_LIMIT
        ? List.of(KeyRange.NOT_NULL)
        : keepSome(values.stream().map(value -> equal(type, value)).toArray(KeyRange[]::new));
  }

  private static List<KeyRange> noneOf(Type type, Set<Object> values) {
    if (values.size() > NOT_IN_LIMIT) {
      return List.of(KeyRange.NOT_NULL);
    }
    if (type.typeId() == TypeID.BOOLEAN) {
      return Stream.of(false, true).filter(each -> !values.contains(each)).map(each -> equal(type, each)).toList();
    }
    return between(values.stream().map(value -> equal(type, value)).toList());
  }

  private static KeyRange bound(Operation operation, KeyRange equal) {
    return switch (operation) {
      case LT -> new KeyRange(KeyEdge.VALUES, equal.start());
      case LT_EQ -> new KeyRange(KeyEdge.VALUES, equal.stop());
      case GT -> new KeyRange(equal.stop(), KeyEdge.NULL);
      default -> new KeyRange(equal.start(), KeyEdge.NULL);
    };
  }

  /** The non-NULL ranges around and between given ranges. */
  private static List<KeyRange> between(List<KeyRange> excluded) {
    List<KeyRange> found = new ArrayList<>();
    KeyEdge start = KeyEdge.VALUES;
    for (KeyRange each : excluded.stream().sorted(Comparator.comparing(KeyRange::start)).toList()) {
      found.add(new KeyRange(start, each.start()));
      start = each.stop();
    }
    found.add(new KeyRange(start, KeyEdge.NULL));
    return keepSome(found.toArray(KeyRange[]::new));
  }

  private static List<KeyRange> keepSome(KeyRange... ranges) {
    return List.of(ranges).stream().filter(range -> !range.isEmpty()).toList();
  }

  /** The key of a value, which is not NaN. */
  private static KeyRange equal(Type type, Object value) {
    if (Keys.domain(type.toString()) == KeyDomain.BYTES) {
      return value instanceof BigDecimal decimal ? equal(decimal.unscaledValue()) : equal(ValueKeys.ofBytes(value));
    }
    long key = ValueKeys.ofLong(value);
    boolean isInt = type.typeId() == TypeID.INTEGER;
    return new KeyRange(
        key == (isInt ? Integer.MIN_VALUE : Long.MIN_VALUE) ? KeyEdge.VALUES : KeyEdge.before(key),
        isInt && key == Integer.MAX_VALUE ? KeyEdge.NULL : KeyEdge.behind(key));
  }

  private static KeyRange equal(byte[] key) {
    return new KeyRange(KeyEdge.before(key), KeyEdge.behind(key));
  }

  private static KeyRange equal(BigInteger unscaled) {
    BigInteger next = unscaled.add(BigInteger.ONE);
    BigInteger top = BigInteger.ONE.shiftLeft(WIDE_DECIMAL_BITS);
    return new KeyRange(
        unscaled.equals(top.negate()) ? KeyEdge.VALUES : KeyEdge.before(Keys.ofWideDecimal(unscaled)),
        next.equals(top) ? KeyEdge.NULL : KeyEdge.before(Keys.ofWideDecimal(next)));
  }

  /** The keys of the values that begin with a prefix. */
  private static KeyRange prefixed(Type type, Object prefix) {
    byte[] start = prefix.toString().getBytes(StandardCharsets.UTF_8);
    if (type.typeId() != TypeID.STRING || start.length == 0) {
      return KeyRange.NOT_NULL;
    }
    byte[] stop = start.clone();
    // UTF-8 has no byte 255.
    stop[stop.length - 1]++;
    return new KeyRange(KeyEdge.before(start), KeyEdge.before(stop));
  }
}
