package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeysTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz",
        "timestamp_ns", "timestamptz_ns", "decimal(1, 0)", "decimal(18, 18)", "decimal(9,2)"
      })
  void typesWithLongKeys(String type) {
    assertEquals(KeyDomain.LONG, Keys.domain(type));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"string", "uuid", "binary", "fixed[3]", "decimal(19, 0)", "decimal(38, 10)"})
  void typesWithBytesKeys(String type) {
    assertEquals(KeyDomain.BYTES, Keys.domain(type));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "list<int>", "map<string, int>", "struct<1: a: optional int>", "variant", "unknown", "geometry",
        "geography", "STRING", "fixed", "decimal", ""
      })
  void otherTypesAreRefused(String type) {
    Exception e = assertThrows(IllegalArgumentException.class, () -> Keys.domain(type));
    assertTrue(e.getMessage().startsWith("Cannot cluster by a column of type '" + type + "', because"));
  }

  @Test
  void doublesKeepTheirOrder() {
    double[] ascending = {
      Double.NEGATIVE_INFINITY, -Double.MAX_VALUE, -1.5, -1, -Double.MIN_NORMAL, -Double.MIN_VALUE, 0.0,
      Double.MIN_VALUE, Float.MIN_VALUE, 1, 1.5, Float.MAX_VALUE, Double.MAX_VALUE, Double.POSITIVE_INFINITY
    };
    for (int i = 1; i < ascending.length; i++) {
      assertTrue(Keys.ofDouble(ascending[i - 1]) < Keys.ofDouble(ascending[i]), "at " + ascending[i]);
    }
    assertEquals(0, Keys.ofDouble(-0.0));
    assertEquals(0, Keys.ofDouble(0.0));
    assertThrows(IllegalArgumentException.class, () -> Keys.ofDouble(Double.NaN));
  }

  @Test
  void wideDecimalsKeepTheirOrder() {
    BigInteger top = BigInteger.TWO.pow(127);
    List<BigInteger> ascending =
        Stream.of(
                top.negate(),
                BigInteger.TEN.pow(38).negate(),
                BigInteger.TWO.pow(64).negate(),
                BigInteger.valueOf(Long.MIN_VALUE),
                BigInteger.valueOf(-1),
                BigInteger.ZERO,
                BigInteger.ONE,
                BigInteger.valueOf(Long.MAX_VALUE),
                BigInteger.TWO.pow(63),
                BigInteger.TWO.pow(64),
                BigInteger.TEN.pow(38),
                top.subtract(BigInteger.ONE))
            .toList();
    for (int i = 1; i < ascending.size(); i++) {
      byte[] lower = Keys.ofWideDecimal(ascending.get(i - 1));
      byte[] upper = Keys.ofWideDecimal(ascending.get(i));
      assertEquals(16, upper.length);
      assertTrue(Arrays.compareUnsigned(lower, upper) < 0, "at " + ascending.get(i));
    }
    assertThrows(IllegalArgumentException.class, () -> Keys.ofWideDecimal(top));
    assertThrows(
        IllegalArgumentException.class,
        () -> Keys.ofWideDecimal(top.negate().subtract(BigInteger.ONE)));
  }

  @Test
  void bytesOfStringsAndUuids() {
    assertArrayEquals("a\u00e9\ud83d\ude00".getBytes(StandardCharsets.UTF_8), Keys.ofString("aé😀"));
    String hex = "f79c3e09677c4bbda4793f349cb785e7";
    UUID uuid = UUID.fromString("f79c3e09-677c-4bbd-a479-3f349cb785e7");
    assertEquals(hex, HexFormat.of().formatHex(Keys.ofUuid(uuid)));
    assertEquals(1, Keys.ofBoolean(true));
    assertEquals(0, Keys.ofBoolean(false));
  }

  @Test
  void columnNamesAreQuotedWhereTheyMustBe() {
    assertEquals("a.B_1", new ClusteringColumn(List.of("a", "B_1"), "int").name());
    assertEquals(
        "`a b`.`1a`.`x``y`.`.`.``.`é`",
        new ClusteringColumn(List.of("a b", "1a", "x`y", ".", "", "é"), "int").name());
  }

  @Test
  void aColumnWithoutKeysIsRefusedByName() {
    Exception e =
        assertThrows(
            IllegalArgumentException.class,
            () -> new ClusteringColumn(List.of("a", "tags"), "list<string>"));
    assertEquals(
        "Cannot cluster by column 'a.tags' of type 'list<string>', because "
            + "Iceberg keeps no comparable lower/upper bounds for this type",
        e.getMessage());
  }

  @Test
  void sampledKeysAreAsLongAsBoundsKeepOrTheSampleHasRoomFor() {
    assertEquals(68, Keys.sampledBytes(OptionalInt.of(16), 1_000_000));
    assertEquals(2684, Keys.sampledBytes(OptionalInt.empty(), 50_000));
    assertEquals(134, Keys.sampledBytes(OptionalInt.empty(), 1_000_000));
    assertEquals(64, Keys.sampledBytes(OptionalInt.empty(), Integer.MAX_VALUE));
    assertEquals(64, Keys.sampledBytes(OptionalInt.of(1), 1));
    assertEquals(134, Keys.sampledBytes(OptionalInt.of(Integer.MAX_VALUE), 1_000_000));
  }
}
