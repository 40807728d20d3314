package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ZOrderOptionsTest {
  @Test
  void defaults() {
    ZOrderOptions options = ZOrderOptions.of(Map.of("target-file-size-bytes", "1"));
    assertEquals(new ZOrderOptions("adaptive", List.of(), 0.25, OptionalInt.empty(), 0, 4096, "warn", false), options);
    assertEquals(50_000, options.sampleRows(1));
    assertEquals(100_000, options.sampleRows(100));
    assertEquals(1_000_000, options.sampleRows(Integer.MAX_VALUE));
  }

  @Test
  void values() {
    ZOrderOptions options =
        ZOrderOptions.of(
            Map.of(
                "cuts", "even",
                "column-weights", "a=2",
                "size-tolerance", "0.5",
                "sample-rows", "7",
                "sample-seed", "-9",
                "boundaries", "65536",
                "metrics-check", "Fix",
                "dry-run", "TRUE"));
    List<ColumnWeight> weights = List.of(new ColumnWeight(List.of("a"), 2));
    assertEquals(new ZOrderOptions("even", weights, 0.5, OptionalInt.of(7), -9, 65_536, "fix", true), options);
    assertEquals(7, options.sampleRows(100));
    assertEquals(
        Set.of("cuts", "column-weights", "size-tolerance", "sample-rows", "sample-seed", "boundaries", "metrics-check", "dry-run"),
        ZOrderOptions.NAMES);
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '"',
      value = {
        "cuts,odd,\"'adaptive' or 'even'\"",
        "size-tolerance,1,\"a number in [0, 1)\"",
        "size-tolerance,-0.1,\"a number in [0, 1)\"",
        "size-tolerance,NaN,\"a number in [0, 1)\"",
        "metrics-check,mend,\"'warn', 'fail' or 'fix'\"",
        "sample-rows,0,\"an integer in [1, 2147483647]\"",
        "sample-rows,2147483648,\"an integer in [1, 2147483647]\"",
        "sample-rows,1.5,\"an integer in [1, 2147483647]\"",
        "sample-rows,٣,\"an integer in [1, 2147483647]\"",
        "sample-seed,x,\"an integer in [-9223372036854775808, 9223372036854775807]\"",
        "boundaries,0,\"an integer in [1, 65536]\"",
        "boundaries,65537,\"an integer in [1, 65536]\"",
        "boundaries,,\"an integer in [1, 65536]\""
      })
  void valuesOutsideTheDomainAreRefused(String name, String value, String domain) {
    String text = value == null ? "" : value;
    Exception e =
        assertThrows(
            IllegalArgumentException.class, () -> ZOrderOptions.of(Map.of(name, text)));
    assertEquals(
        "Cannot set %s to '%s', because it must be %s".formatted(name, text, domain), e.getMessage());
  }
}
