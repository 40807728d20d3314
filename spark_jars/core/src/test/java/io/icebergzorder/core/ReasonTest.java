package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ReasonTest {
  @Test
  void reasonsOfAGroupAreOneText() {
    assertEquals("rewrite-all is true", Reason.text(List.of(Reason.of(Reason.REWRITE_ALL))));
    List<Reason> reasons =
        List.of(
            Reason.of(Reason.SMALL, "files", 1200, "min_file_size_bytes", 4096),
            Reason.of(Reason.DELETES, "files", 1),
            Reason.of(Reason.OTHER_SPEC, "files", 2, "spec_id", 0, "new_spec_id", 2),
            Reason.of(Reason.OTHER_SPEC, "files", 3, "spec_id", 1, "new_spec_id", 2),
            Reason.of(Reason.SPLIT_GROUP, "number", 1, "of", 4, "max_file_group_size_bytes", 10_000));
    assertEquals(
        "1,200 files below min-file-size-bytes 4,096, 1 files with deletes above delete-file-threshold or delete-ratio-threshold,"
            + " 2 files of partition spec 0, 3 files of partition spec 1; new files are of 2; part 1 of 4, split by"
            + " max-file-group-size-bytes 10,000",
        Reason.text(reasons));
  }

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
