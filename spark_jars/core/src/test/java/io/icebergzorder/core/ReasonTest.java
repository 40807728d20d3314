package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ReasonTest {
  @Test
  void costsAreBytes() {
    Object[] figures = {
      "before", 217_000_000, "attainable", 123_000_000, "predicted", 147_000_000, "max_scan_ratio", 1.2, "over", "queries",
      "not_counted", Map.of("a", "none")
    };
    String cost = "a query of the workload costs 217.0 MB, too much by max-scan-ratio 1.2 (attainable: 123.0 MB)";
    String notCounted =
        "; columns not counted, because new files get no bounds for them unless metrics-check is fix: a (metrics mode none)";
    assertEquals(
        cost + ": expected to cost 147.0 MB after" + notCounted,
        Reason.text(List.of(Reason.of(Reason.SCAN_RATIO, figures))));
    String tooLittle = "a query of the workload costs 217.0 MB today and would cost 123.0 MB after a full rewrite: too small a gain by ";
    assertEquals(
        tooLittle + "max-scan-ratio 1.2 and min-input-files" + notCounted, Reason.text(List.of(Reason.of(Reason.SCAN_RATIO_LOW, figures))));
    assertEquals(
        "a filter is not predicted to cost less: 20.0 MB today, 20.6 MB after",
        Reason.text(List.of(Reason.of(Reason.NO_GAIN, "before", 20_000_000, "predicted", 20_600_000, "over", "columns"))));
  }

  @Test
  void aRewriteThatWouldCostMoreSaysSo() {
    Object[] figures = {"before", 9_300_000, "attainable", 31_100_000, "max_scan_ratio", 1.2, "over", "columns"};
    assertEquals(
        "a filter costs 9.3 MB today and would cost 31.1 MB after a full rewrite, where opening a file counts as 4 MiB by default: set"
            + " rewrite-all to rewrite nevertheless",
        Reason.text(List.of(Reason.of(Reason.SCAN_RATIO_LOW, figures))));
    assertEquals("1 file of partition spec 1; new files are of 0",
        Reason.text(List.of(Reason.of(Reason.OTHER_SPEC, "files", 1, "spec_id", 1, "new_spec_id", 0))));
  }

  @Test
  void tablesThatBecomeOneFileGetAHint() {
    String trial = ": for a trial, set options target-file-size-bytes=131072 and rewrite-all=true.";
    assertEquals(
        Optional.of("The files become one file at the target size of 8.4 MB, so filters skip nothing" + trial),
        Reason.oneFile(1, 6_500_000, 8 << 20));
    assertEquals(
        Optional.of("Each partition becomes one file at the target size of 8.4 MB, so filters skip nothing within it" + trial),
        Reason.oneFile(3, 6_500_000, 8 << 20));
    assertEquals(Optional.empty(), Reason.oneFile(3, 60_000, 8 << 20));
  }

  @Test
  void sizesHaveDecimalUnits() {
    assertEquals("0 bytes", Reason.size(0));
    assertEquals("1 byte", Reason.size(1.2));
    assertEquals("999 bytes", Reason.size(999));
    assertEquals("1.0 kB", Reason.size(1000));
    assertEquals("1.2 MB", Reason.size(1_250_000));
    assertEquals("4.2 TB", Reason.size(4_200_000_000_000.0));
  }

  @Test
  void numbersAreThoseOfJson() {
    Reason reason = Reason.of(Reason.NO_GAIN, "before", 1 / 3.0, "predicted", 2, "over", "columns");
    assertEquals(Map.of("before", 0.333333, "predicted", 2L, "over", "columns"), reason.parameters());
    assertEquals("later {files=3}", Reason.text(List.of(Reason.of("later", "files", 3))));
  }
}
