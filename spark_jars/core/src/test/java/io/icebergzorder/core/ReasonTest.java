package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ReasonTest {
  @Test
  void scanFractionsAreSharesInPercent() {
    Object[] figures = {
      "before", 0.2174, "attainable", 0.123, "predicted", 0.1472, "max_scan_ratio", 1.2, "over", "queries",
      "not_counted", Map.of("a", "none")
    };
    String scan =
        "scan fraction on average over the queries of the workload 21.7%% is %s max-scan-ratio 1.2 times the attainable 12.3%%";
    String notCounted =
        "; columns not counted, because new files get no bounds for them unless metrics-check is fix: a (metrics mode none)";
    assertEquals(
        scan.formatted("above") + ": expected to be 14.7% afterwards" + notCounted,
        Reason.text(List.of(Reason.of(Reason.SCAN_RATIO, figures))));
    assertEquals(scan.formatted("at most") + notCounted, Reason.text(List.of(Reason.of(Reason.SCAN_RATIO_LOW, figures))));
    assertEquals(
        "filters are not predicted to read less: scan fraction on average over the columns 50.0% today, 49.0% after;"
            + " set rewrite-all to rewrite anyway",
        Reason.text(List.of(Reason.of(Reason.NO_GAIN, "before", 0.5, "predicted", 0.49, "over", "columns"))));
  }

  @Test
  void numbersAreThoseOfJson() {
    Reason reason = Reason.of(Reason.NO_GAIN, "before", 1 / 3.0, "predicted", 2, "over", "columns");
    assertEquals(Map.of("before", 0.333333, "predicted", 2L, "over", "columns"), reason.parameters());
    assertEquals("later {files=3}", Reason.text(List.of(Reason.of("later", "files", 3))));
  }
}
