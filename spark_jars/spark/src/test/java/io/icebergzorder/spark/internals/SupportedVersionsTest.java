package io.icebergzorder.spark.internals;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SupportedVersionsTest {
  @ParameterizedTest
  @CsvSource({"3.5.8, 1.12.0", "3.5.0, 1.11.0", "3.5.0, 1.10.1", "4.0.5, 1.11.0", "4.0.1, 1.10.1", "4.1.4, 1.12.0", "4.1.0, 1.11.0"})
  void knowsTheNewestIcebergAndTheOneBefore(String spark, String iceberg) {
    assertDoesNotThrow(() -> SupportedVersions.check(spark, iceberg));
  }

  @Test
  void areThoseOfThePageOnVersions() throws IOException {
    Matcher rows =
        Pattern.compile("^\\| (\\d\\.\\d)[^|]*\\| ([\\d., ]+)", Pattern.MULTILINE)
            .matcher(Files.readString(Path.of("..", "..", "docs", "reference", "versions.md")));
    Map<String, Set<String>> listed = new TreeMap<>();
    while (rows.find()) {
      listed.computeIfAbsent(rows.group(1), any -> new TreeSet<>()).addAll(List.of(rows.group(2).trim().split(", ")));
    }
    assertEquals(Set.of("3.5", "4.0", "4.1"), listed.keySet());
    listed.forEach((spark, iceberg) -> assertEquals(iceberg, new TreeSet<>(SupportedVersions.knownOn(spark + ".0"))));
    assertEquals(List.of(), SupportedVersions.knownOn("4.2.0"));
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
