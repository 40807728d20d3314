package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HexFormat;
import java.util.List;
import java.util.OptionalInt;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeysTest {
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
  void sampledKeysAreAsLongAsBoundsKeepOrTheSampleHasRoomFor() {
    assertEquals(68, Keys.sampledBytes(OptionalInt.of(16), 1_000_000));
    assertEquals(2684, Keys.sampledBytes(OptionalInt.empty(), 50_000));
    assertEquals(134, Keys.sampledBytes(OptionalInt.empty(), 1_000_000));
    assertEquals(64, Keys.sampledBytes(OptionalInt.empty(), Integer.MAX_VALUE));
    assertEquals(64, Keys.sampledBytes(OptionalInt.of(1), 1));
    assertEquals(134, Keys.sampledBytes(OptionalInt.of(Integer.MAX_VALUE), 1_000_000));
  }

  /** Iceberg's comparator takes the two halves as signed numbers, but bounds and Spark's texts order the bytes unsigned. */
  @Test
  void uuidsAreTheBytesOfTheirTexts() {
    for (UUID uuid : List.of(new UUID(0, 0), new UUID(1, Long.MIN_VALUE), new UUID(Long.MIN_VALUE, 7), new UUID(-1, -2))) {
      assertEquals(uuid.toString().replace("-", ""), HexFormat.of().formatHex(Keys.ofUuid(uuid)));
    }
  }
}
