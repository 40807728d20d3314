package io.icebergzorder.core.metrics;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.metrics.ClusteringReport.Finding;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/** Finds what is wrong with a table's layout, by the same rules as Python's report. */
final class Findings {
  private static final double MANY = 0.05;
  private static final String ERROR = "error";
  private static final String WARNING = "warning";
  private static final String INFO = "info";
  private static final List<String> SEVERITIES = List.of(ERROR, WARNING, INFO);
  private static final Set<String> WITHOUT_BOUNDS = Set.of("none", "counts");

  private final TableFacts facts;
  private final List<Finding> found = new ArrayList<>();

  private Findings(TableFacts facts) {
    this.facts = facts;
  }

  /** Finds what is wrong, errors first, then warnings. */
  static List<Finding> in(TableFacts facts) {
    Findings findings = new Findings(facts);
    IntStream.range(0, facts.metrics().size()).forEach(findings::addOfColumn);
    findings.addOfFiles("rewrite-pays", WARNING, facts.recommendation().files());
    findings.addOfHistory();
    findings.addOfFiles("old-partition-specs", WARNING, count(facts.ofOldSpecs()));
    findings.addOfFiles("files-without-rows", WARNING, facts.filesWithoutRows());
    findings.addOfFiles("delete-files", INFO, count(facts.withDeletes()));
    return findings.found.stream().sorted(Comparator.comparing(each -> SEVERITIES.indexOf(each.severity()))).toList();
  }

  private void add(String code, String severity, String about) {
    found.add(new Finding(code, severity, about));
  }

  private void addOfFiles(String code, String severity, int files) {
    if (files > 0) {
      add(code, severity, files + (files == 1 ? " file" : " files"));
    }
  }

  private void addOfColumn(int place) {
    ColumnBounds bounds = facts.files().columns().get(place);
    String mode = facts.metrics().get(place);
    String name = bounds.column().name();
    boolean areKept = !WITHOUT_BOUNDS.contains(mode);
    if (!areKept) {
      add("bounds-not-kept", ERROR, name);
    } else if (count(AlikeBounds.of(bounds, mode)) > 0) {
      add("bounds-alike", ERROR, name);
    }
    boolean isCut = AlikeBounds.areCut(bounds, mode);
    boolean hasEndless = false;
    boolean hasUnbounded = false;
    for (int file = 0; file < bounds.size(); file++) {
      if (bounds.hasValues(file) && !bounds.isBounded(file)) {
        // Nothing as short as bounds are cut lies above the values.
        boolean isEndless = isCut && bounds.lower().state(file) == KeyColumn.VALUE;
        hasEndless |= isEndless;
        hasUnbounded |= !isEndless;
      }
    }
    if (hasEndless) {
      add("bounds-missing", WARNING, name + ", upper ones");
    }
    if (areKept && hasUnbounded) {
      add("bounds-missing", WARNING, name);
    }
  }

  private void addOfHistory() {
    LayoutHistory history = facts.history();
    long bytes = facts.files().bytes();
    double share = bytes > 0 ? (double) history.newerBytes() / (double) bytes : 0;
    addOfFiles("newer-files", share > MANY ? WARNING : INFO, history.newerFiles());
    if (!history.isLaidOut() && facts.files().count() > 0) {
      add("never-laid-out", INFO, "");
    }
  }

  private static int count(boolean[] flags) {
    return (int) IntStream.range(0, flags.length).filter(place -> flags[place]).count();
  }
}
