package io.icebergzorder.core.report;

import io.icebergzorder.core.MetricsCheck;
import io.icebergzorder.core.report.ClusteringReport.ColumnReport;
import io.icebergzorder.core.report.ClusteringReport.Finding;
import io.icebergzorder.core.report.ClusteringReport.SizeReport;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** What is wrong with a table's layout, what shows it, and the command that mends it. */
final class Findings {
  /** How many times the attainable scan fraction is found fault with. */
  private static final double LOOSE = 1.2;

  private static final String LONGER = "keep longer ones, then rewrite";
  private static final String FUTILE = "longer ones would fill the manifests";

  private static final double MANY = 0.05;
  private static final String ERROR = "error";
  private static final String WARNING = "warning";
  private static final String INFO = "info";
  private static final String BOUNDS_MISSING = "bounds-missing";
  private static final List<String> SEVERITIES = List.of(ERROR, WARNING, INFO);
  private static final Set<String> WITHOUT_BOUNDS = Set.of("none", "counts");
  private static final Map<String, String> ALL = Map.of("rewrite-all", "true");

  private final ClusteringReport report;
  private final Function<Map<String, String>, String> rewrite;
  private final List<Finding> found = new ArrayList<>();

  private Findings(ClusteringReport report, Function<Map<String, String>, String> rewrite) {
    this.report = report;
    this.rewrite = rewrite;
  }

  /**
   * Looks through a report.
   *
   * @param rewrite writes the command of a rewrite with some options
   * @param sqlName the table's name as {@code ALTER TABLE} takes it
   * @return the findings, errors first, then warnings
   */
  static List<Finding> in(ClusteringReport report, Function<Map<String, String>, String> rewrite, String sqlName) {
    Findings findings = new Findings(report, rewrite);
    report.columns().forEach(column -> findings.addOfColumn(column, sqlName));
    findings.addOfLayout();
    findings.addOfHistory();
    findings.addOfFiles();
    return findings.found.stream().sorted(Comparator.comparing(each -> SEVERITIES.indexOf(each.severity()))).toList();
  }

  private void add(String code, String severity, String message, Map<String, Object> evidence, String command) {
    found.add(new Finding(code, severity, message, evidence, command));
  }

  private void addOfColumn(ColumnReport column, String table) {
    String name = column.name();
    boolean areKept = !WITHOUT_BOUNDS.contains(column.metricsMode());
    if (!areKept) {
      add(
          "bounds-not-kept",
          ERROR,
          "The table keeps no lower/upper bounds of %s, so that no file can be skipped by it.".formatted(name),
          evidence("column", name, "metrics_mode", column.metricsMode()),
          MetricsCheck.setMode(table, column.field(), MetricsCheck.leastMode(column.type())));
    } else if (column.filesWithAlikeBounds() > 0) {
      add(
          "bounds-alike",
          ERROR,
          "The bounds of %s are cut before its values differ in %s, which cannot be skipped by it: %s."
              .formatted(name, files(column.filesWithAlikeBounds()), areLongest(column) ? FUTILE : LONGER),
          evidence(
              "column", name, "metrics_mode", column.metricsMode(), "files", column.filesWithAlikeBounds(), "bytes",
              column.bytesWithAlikeBounds()),
          longerBounds(column, table));
    }
    int endless = column.filesWithoutUpperBounds();
    if (endless > 0) {
      add(
          BOUNDS_MISSING,
          WARNING,
          ("%s have no upper bounds of %s, because nothing as short as these are cut lies above their values, which begin with U+10FFFF or"
                  + " 0xFF: %s.")
              .formatted(files(endless), name, areLongest(column) ? FUTILE : LONGER),
          evidence(
              "column", name, "metrics_mode", column.metricsMode(), "files", endless, "bytes", column.bytesWithoutUpperBounds()),
          longerBounds(column, table));
    }
    int missing = column.filesWithoutBounds() - endless;
    if (areKept && missing > 0) {
      add(
          BOUNDS_MISSING,
          WARNING,
          "%s have no lower/upper bounds of %s, though the table keeps them: who wrote these did not, or before it was set."
              .formatted(files(missing), name),
          evidence(
              "column", name, "files", missing, "bytes", column.bytesWithoutBounds() - column.bytesWithoutUpperBounds()),
          rewrite.apply(ALL));
    }
  }

  /** Whether bounds that are cut are as long as any that is asked for. */
  private static boolean areLongest(ColumnReport column) {
    return Integer.parseInt(column.metricsMode().replaceAll("\\D", "")) >= MetricsCheck.MOST;
  }

  private static String longerBounds(ColumnReport column, String table) {
    return areLongest(column) ? null : MetricsCheck.setMode(table, column.field(), MetricsCheck.truncate(MetricsCheck.MOST));
  }

  private void addOfLayout() {
    Map<String, Object> loose = new LinkedHashMap<>();
    List<String> names = new ArrayList<>();
    double now = 0;
    double attainable = 0;
    for (ColumnReport column : report.columns()) {
      Double read = column.scanFraction();
      Double best = column.attainable();
      boolean isKnown = read != null && best != null;
      now += isKnown ? read : 0;
      attainable += isKnown ? best : 0;
      if (isKnown && read > LOOSE * best) {
        loose.put(column.name(), evidence("scan_fraction", read, "attainable", best));
        names.add("%s %s%% instead of %s%%".formatted(column.name(), percent(read), percent(best)));
      }
    }
    // What is attainable is an estimate by bounds alone, which the very rewrite may have missed.
    boolean isSettled = report.history().settledFiles() == report.totalFileCount();
    // With few files another layout that is as good may favour another column.
    if (now > LOOSE * attainable && !isSettled) {
      add(
          "loose-layout",
          WARNING,
          "Filters read more than they would after a rewrite: %s.".formatted(String.join(", ", names)),
          evidence("columns", loose),
          rewrite.apply(ALL));
    }
    int partitions = report.partitions().size();
    if (report.fileSizes().afterRewrite() == partitions && report.totalFileCount() > 1) {
      add(
          "one-file-each",
          INFO,
          "At target-file-size-bytes %s every partition is one file, so that nothing can be skipped inside a partition: a smaller size makes more files."
              .formatted(number(report.fileSizes().target())),
          evidence("partitions", partitions, "bytes", report.totalBytes()),
          null);
    }
  }

  private void addOfHistory() {
    LayoutHistory history = report.history();
    if (history.undoneBySnapshotId() != null) {
      add(
          "layout-undone",
          WARNING,
          "Snapshot %s rewrote files that were laid out by a rewrite of ours: whatever compacts the table undoes its layout."
              .formatted(history.undoneBySnapshotId()),
          evidence("snapshot_id", history.undoneBySnapshotId(), "timestamp_ms", history.undoneByTimestampMillis()),
          rewrite.apply(ALL));
    } else if (history.newerFiles() > 0) {
      double share = report.totalBytes() > 0 ? (double) history.newerBytes() / (double) report.totalBytes() : 0;
      add(
          "newer-files",
          share > MANY ? WARNING : INFO,
          "%s, %s%% of the bytes, have come since the last layout.".formatted(files(history.newerFiles()), percent(share)),
          evidence("files", history.newerFiles(), "bytes", history.newerBytes()),
          rewrite.apply(ALL));
    } else if (history.lastLayoutSnapshotId() == null && report.totalFileCount() > 0) {
      add("never-laid-out", INFO, "No rewrite of ours is among the snapshots that are kept.", Map.of(), null);
    }
  }

  private void addOfFiles() {
    SizeReport sizes = report.fileSizes();
    if (sizes.badlySized() > 0) {
      add(
          "badly-sized-files",
          WARNING,
          "A rewrite would choose %s for their size: %s of all are below %s bytes, %s above %s."
              .formatted(
                  files(sizes.badlySized()),
                  number(sizes.belowMin()),
                  number(sizes.least()),
                  number(sizes.aboveMax()),
                  number(sizes.most())),
          evidence("files", sizes.badlySized(), "below_min", sizes.belowMin(), "above_max", sizes.aboveMax()),
          rewrite.apply(ALL));
    }
    if (report.filesOfOldSpecs() > 0) {
      add(
          "old-partition-specs",
          WARNING,
          "%s are of another partition spec than the table's current one.".formatted(files(report.filesOfOldSpecs())),
          evidence("files", report.filesOfOldSpecs()),
          rewrite.apply(ALL));
    }
    if (report.filesWithDeletes() > 0) {
      add(
          "delete-files",
          INFO,
          "%s have deletes, which every query reads, too.".formatted(files(report.filesWithDeletes())),
          evidence(
              "files", report.filesWithDeletes(), "position_delete_files", report.positionDeleteFiles(), "equality_delete_files",
              report.equalityDeleteFiles()),
          rewrite.apply(Map.of("delete-file-threshold", "1")));
    }
  }

  /** Figures by their names, in this order. */
  private static Map<String, Object> evidence(Object... namesAndValues) {
    Map<String, Object> evidence = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      evidence.put((String) namesAndValues[i], namesAndValues[i + 1]);
    }
    return evidence;
  }

  private static String files(long count) {
    return number(count) + (count == 1 ? " file" : " files");
  }

  private static String number(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }

  /** A share in percent as Python writes it: the exact value of the double, halves to the even digit. */
  private static String percent(double share) {
    return new BigDecimal(100 * share).setScale(1, RoundingMode.HALF_EVEN).toPlainString();
  }
}
