package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.icebergzorder.core.ZOrderOptions.ColumnWeight;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ZOrderOptionsTest {
  @Test
  void defaults() {
    ZOrderOptions options = ZOrderOptions.of(Map.of("target-file-size-bytes", "1"));
    assertEquals(
        new ZOrderOptions("adaptive", List.of(), 0.25, OptionalInt.empty(), 0, 4096, "warn", false, Optional.empty(), 0.95), options);
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
    assertEquals(
        new ZOrderOptions("even", weights, 0.5, OptionalInt.of(7), -9, 65_536, "fix", true, Optional.empty(), 0.95), options);
    assertEquals(7, options.sampleRows(100));
  }

  @Test
  void aWorkloadAllowsFilesOfOtherSizes() {
    assertEquals(0.5, ZOrderOptions.of(Map.of("workload", "w.json")).sizeTolerance());
    ZOrderOptions options = ZOrderOptions.of(Map.of("workload", "w.json", "size-tolerance", "0.1", "workload-share", "1"));
    assertEquals(0.1, options.sizeTolerance());
    assertEquals(Optional.of("w.json"), options.workload());
    assertEquals(1, options.workloadShare());
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '"',
      value = {
        "workload-share,1,x,y,\"Cannot use option workload-share, because option workload is not given\"",
        "workload,w,cuts,even,\"Cannot use option workload with cuts 'even', because only adaptive cuts follow queries\"",
        "workload,w,workload-share,1.1,\"Cannot set workload-share to '1.1', because it must be a number in [0, 1]\"",
        "workload,w,workload-share,-1,\"Cannot set workload-share to '-1', because it must be a number in [0, 1]\""
      })
  void whatDoesNotGoWithAWorkloadIsRefused(String name, String value, String other, String otherValue, String message) {
    Exception e =
        assertThrows(IllegalArgumentException.class, () -> ZOrderOptions.of(Map.of(name, value, other, otherValue)));
    assertEquals(message, e.getMessage());
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
