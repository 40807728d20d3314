package io.icebergzorder.spark.internals;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SupportedVersionsTest {
  @ParameterizedTest
  @CsvSource({"3.5.8, 1.12.0", "3.5.0, 1.11.0", "3.5.0, 1.10.1", "4.0.5, 1.11.0", "4.0.1, 1.10.1", "4.1.4, 1.12.0", "4.1.0, 1.11.0"})
  void knowsTheNewestIcebergAndTheOneBefore(String spark, String iceberg) {
    assertDoesNotThrow(() -> SupportedVersions.check(spark, iceberg));
  }

  @ParameterizedTest
  @CsvSource({
    "3.5.8, 1.9.2, 1.10 and 1.11 and 1.12",
    "4.0.5, 1.12.0, 1.10 and 1.11",
    "4.1.4, 1.13.0, 1.11 and 1.12",
    "4.1.4, 1.12-SNAPSHOT, 1.11 and 1.12",
    "4.1.4, unknown, 1.11 and 1.12"
  })
  void refusesAnyOther(String spark, String iceberg, String known) {
    String message =
        assertThrows(UnsupportedOperationException.class, () -> SupportedVersions.check(spark, iceberg)).getMessage();
    assertEquals(
        "Cannot rewrite data files by zorder, because this session has Iceberg %s: on Spark %s, iceberg-zorder knows the staged"
                .formatted(iceberg, spark.substring(0, 3))
            + " scans of Iceberg %s only, and an unknown one may double every row".formatted(known),
        message);
  }
}
