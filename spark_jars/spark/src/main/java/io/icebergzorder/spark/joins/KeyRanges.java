package io.icebergzorder.spark.joins;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.filter.And;
import org.apache.spark.sql.connector.expressions.filter.Or;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The keys of a join as a predicate that Iceberg evaluates against files' bounds.
 *
 * <p>Iceberg evaluates IN for at most 200 values. More keys become at most 64 ranges that hold all of them, split at the largest gaps
 * between keys. A gap beyond the table's own values skips no file: a dimension of dates has centuries, and the sales only some years.
 */
final class KeyRanges {
  static final int MOST_VALUES = 200;
  static final int MOST_RANGES = 64;

  private KeyRanges() {}

  /** The predicate for the keys; nothing if bounds cannot tell which files hold them. An outdated extent only costs precision. */
  static Optional<Predicate> of(Predicate in, Extent table) {
    Expression[] children = in.children();
    if (!in.name().equals("IN") || children.length < 1) {
      return Optional.empty();
    }
    List<Literal<?>> keys = new ArrayList<>();
    for (Expression each : Arrays.asList(children).subList(1, children.length)) {
      if (!(each instanceof Literal<?> key) || !isOrdered(key.value())) {
        return Optional.empty();
      }
      if (key.value() != null) { // NULL equals nothing
        keys.add(key);
      }
    }
    Comparator<Literal<?>> order = (a, b) -> compare(a.value(), b.value());
    Literal<?>[] sorted = keys.stream().sorted(order).toArray(Literal<?>[]::new);
    Literal<?>[] distinct =
        IntStream.range(0, sorted.length)
            .filter(i -> i == 0 || compare(sorted[i - 1].value(), sorted[i].value()) != 0)
            .mapToObj(i -> sorted[i])
            .toArray(Literal<?>[]::new);
    if (distinct.length <= MOST_VALUES) {
      Expression[] values = new Expression[distinct.length + 1];
      values[0] = children[0];
      System.arraycopy(distinct, 0, values, 1, distinct.length);
      return Optional.of(new Predicate("IN", values));
    }
    return Optional.of(ranges(children[0], distinct, table));
  }

  /** Whether Iceberg's bounds and Spark's joins order a key alike. */
  private static boolean isOrdered(Object key) {
    if (key instanceof UTF8String text) {
      // Iceberg decodes text, which only valid UTF-8 survives.
      return UTF8String.fromString(text.toString()).equals(text);
    }
    return key == null || key instanceof Comparable;
  }

  @SuppressWarnings("unchecked")
  private static int compare(Object a, Object b) {
    return ((Comparable<Object>) a).compareTo(b);
  }

  private static Predicate ranges(Expression column, Literal<?>[] keys, Extent table) {
    double[] places = Arrays.stream(keys).mapToDouble(key -> table.clamp(place(key.value()))).toArray();
    int[] ends =
        IntStream.concat(
                IntStream.range(0, keys.length - 1)
                    .boxed()
                    .sorted(Comparator.comparingDouble(i -> places[i] - places[i + 1]))
                    .limit(MOST_RANGES - 1)
                    .mapToInt(Integer::intValue),
                IntStream.of(keys.length - 1))
            .sorted()
            .toArray();
    Predicate[] ranges = new Predicate[ends.length];
    for (int i = 0; i < ends.length; i++) {
      Literal<?> first = keys[i == 0 ? 0 : ends[i - 1] + 1];
      ranges[i] =
          new And(
              new Predicate(">=", new Expression[] {column, first}),
              new Predicate("<=", new Expression[] {column, keys[ends[i]]}));
    }
    return either(ranges, 0, ranges.length);
  }

  /** As a balanced tree: a chain would be as deep as it is long. */
  private static Predicate either(Predicate[] ranges, int from, int to) {
    int middle = (from + to) >>> 1;
    return to - from == 1 ? ranges[from] : new Or(either(ranges, from, middle), either(ranges, middle, to));
  }

  /** Where a key lies on a line, to measure gaps: text by its first eight bytes. */
  private static double place(Object key) {
    if (key instanceof UTF8String text) {
      byte[] bytes = text.getBytes();
      double place = 0;
      for (int i = 0; i < Long.BYTES; i++) {
        place = place * 256 + (i < bytes.length ? bytes[i] & 0xff : 0);
      }
      return place;
    }
    return key instanceof Decimal decimal ? decimal.toDouble() : ((Number) key).doubleValue();
  }
}
