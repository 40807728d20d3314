package io.icebergzorder.spark.sample;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.Keys;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.types.Comparators;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Keys compare as Iceberg's own comparator compares the values, for each type, on random values and extremes. */
class KeyOrderTest {
  private static final int VALUES = 300;

  /** A type, how to draw a value as Iceberg holds it, and how to make its key: a long, or bytes. */
  record Case(Type.PrimitiveType type, Function<Random, Object> draw, Function<Object, Object> key) {
    @Override
    public String toString() {
      return type.toString();
    }
  }

  static Stream<Case> cases() {
    Function<Object, Object> ofLong = value -> ((Number) value).longValue();
    Function<Object, Object> ofDouble = value -> Keys.ofDouble(((Number) value).doubleValue());
    Function<Object, Object> unscaled = value -> ((BigDecimal) value).unscaledValue().longValueExact();
    Function<Object, Object> wide = value -> Keys.ofWideDecimal(((BigDecimal) value).unscaledValue());
    Function<Object, Object> ofBuffer = value -> ((ByteBuffer) value).array();
    return Stream.of(
        new Case(Types.BooleanType.get(), Random::nextBoolean, value -> Keys.ofBoolean((Boolean) value)),
        new Case(Types.IntegerType.get(), Random::nextInt, ofLong),
        new Case(Types.LongType.get(), Random::nextLong, ofLong),
        new Case(Types.FloatType.get(), random -> orNot(Float.intBitsToFloat(random.nextInt())), ofDouble),
        new Case(Types.DoubleType.get(), random -> orNot(Double.longBitsToDouble(random.nextLong())), ofDouble),
        new Case(Types.DateType.get(), Random::nextInt, ofLong),
        new Case(Types.TimeType.get(), random -> (long) random.nextInt(Integer.MAX_VALUE) * 40, ofLong),
        new Case(Types.TimestampType.withZone(), Random::nextLong, ofLong),
        new Case(Types.TimestampType.withoutZone(), Random::nextLong, ofLong),
        new Case(Types.TimestampNanoType.withZone(), Random::nextLong, ofLong),
        new Case(Types.TimestampNanoType.withoutZone(), Random::nextLong, ofLong),
        new Case(Types.DecimalType.of(9, 2), random -> BigDecimal.valueOf(random.nextInt(), 2), unscaled),
        new Case(Types.DecimalType.of(18, 0), random -> BigDecimal.valueOf(random.nextLong() / 10), unscaled),
        new Case(Types.DecimalType.of(38, 10), random -> new BigDecimal(new BigInteger(126, random)
            .multiply(BigInteger.valueOf(random.nextBoolean() ? 1 : -1)), 10), wide),
        new Case(Types.StringType.get(), KeyOrderTest::text, value -> Keys.ofString((String) value)),
        new Case(Types.FixedType.ofLength(3), random -> buffer(random, 3), ofBuffer),
        new Case(Types.BinaryType.get(), random -> buffer(random, random.nextInt(4)), ofBuffer));
  }

  @ParameterizedTest
  @MethodSource("cases")
  void keysCompareAsIcebergCompares(Case type) {
    Comparator<Object> iceberg = Comparators.forType(type.type());
    Random random = new Random(7);
    List<Object> values = IntStream.range(0, VALUES).mapToObj(i -> type.draw().apply(random)).toList();
    for (Object a : values) {
      for (Object b : values) {
        assertEquals(
            Integer.signum(iceberg.compare(a, b)), compare(type.key().apply(a), type.key().apply(b)), a + " and " + b);
      }
    }
    boolean isLong = Keys.domain(type.type().toString()) == KeyDomain.LONG;
    assertEquals(isLong, type.key().apply(values.get(0)) instanceof Long);
  }

  @Test
  void zerosAreOne() {
    assertEquals(Keys.ofDouble(0.0), Keys.ofDouble(-0.0));
  }

  /**
   * Iceberg's comparator takes the two halves of a UUID as signed numbers, but Parquet, which computes the bounds, and the
   * text as which Spark reads a UUID order its bytes unsigned. Keys follow the bounds.
   */
  @Test
  void uuidsCompareAsTheirTexts() {
    Random random = new Random(7);
    List<UUID> values = Stream.generate(() -> new UUID(random.nextLong(), random.nextLong())).limit(VALUES).toList();
    for (UUID a : values) {
      for (UUID b : values) {
        assertEquals(
            Integer.signum(a.toString().compareTo(b.toString())), compare(Keys.ofUuid(a), Keys.ofUuid(b)));
      }
    }
    UUID high = new UUID(Long.MIN_VALUE, 0);
    assertTrue(high.compareTo(new UUID(0, 0)) < 0 && compare(Keys.ofUuid(high), Keys.ofUuid(new UUID(0, 0))) > 0);
  }

  private static int compare(Object a, Object b) {
    return a instanceof Long number
        ? Long.compare(number, (Long) b)
        : Integer.signum(Arrays.compareUnsigned((byte[]) a, (byte[]) b));
  }

  /** NaN has no key, and the two zeros share one. */
  private static Object orNot(float value) {
    return Float.isNaN(value) || value == 0 ? (Object) 1.0f : value;
  }

  private static Object orNot(double value) {
    return Double.isNaN(value) || value == 0 ? (Object) 1.0 : value;
  }

  private static Object text(Random random) {
    // Code points on both sides of the surrogates, where UTF-16 order and UTF-8 order part.
    int[] alphabet = {'a', 'b', 0xe9, 0xffee, 0x1f600};
    return random.ints(random.nextInt(5), 0, alphabet.length)
        .map(i -> alphabet[i])
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
        .toString();
  }

  private static Object buffer(Random random, int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return ByteBuffer.wrap(bytes);
  }
}
