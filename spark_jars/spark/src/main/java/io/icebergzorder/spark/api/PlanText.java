package io.icebergzorder.spark.api;

import io.icebergzorder.core.Printable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.stream.Collectors;

/** Plans as people read them. */
final class PlanText {
  /** File groups that are shown: of a table with thousands of partitions nobody reads all. */
  private static final int MOST = 20;

  private PlanText() {}

  static String of(RewritePlan plan) {
    List<String> lines = new ArrayList<>();
    lines.add(
        String.format(
            Locale.ROOT,
            "Rewrite of %s (branch %s, %s) by %s%s",
            plan.table(),
            plan.branch(),
            plan.snapshotId().isPresent() ? "snapshot " + plan.snapshotId().getAsLong() : "no snapshot",
            plan.sortOrder(),
            plan.where().map(where -> " where " + where).orElse("")));
    plan.message().ifPresent(lines::add);
    lines.add(
        String.format(
            Locale.ROOT, "  target file size %,d bytes, from the %s", plan.targetFileSizeBytes(), plan.targetFileSizeFrom()));
    List<PlannedFileGroup> groups = plan.groups();
    groups.stream().limit(MOST).map(PlanText::chosen).forEach(lines::add);
    addRest(lines, groups.size(), "file groups are rewritten");
    List<LeftFiles> left = plan.left();
    left.stream().limit(MOST).map(PlanText::left).forEach(lines::add);
    addRest(lines, left.size(), "are left");
    if (!plan.scanFractions().isEmpty()) {
      lines.add("  predicted scan fraction of column = value among all new files: "
              + fractions(plan.scanFractions(), plan.scanFractionsBefore()));
    }
    plan.predicates().forEach(each -> lines.add("  predicted share read by " + predicate(each)));
    plan.workload().ifPresent(each -> lines.add("  predicted share read by " + workload(each)));
    plan.expectedSeconds()
        .ifPresent(
            seconds ->
                lines.add(
                    String.format(Locale.ROOT, "  expected to take %,.1f seconds, as long as rewrites before it", seconds)));
    return lines.stream().map(Printable::of).collect(Collectors.joining("\n"));
  }

  private static void addRest(List<String> lines, int all, String what) {
    if (all > MOST) {
      lines.add(String.format(Locale.ROOT, "  ... and %,d more %s", all - MOST, what));
    }
  }

  private static String chosen(PlannedFileGroup group) {
    String line =
        String.format(
            Locale.ROOT,
            "  rewrite %s into %,d files: %s",
            files(group.partition(), group.files().size(), group.bytes(), group.rows()),
            group.expectedFiles(),
            group.reason());
    return line + group.layout().map(layout -> "; predicted scan fraction " + fractions(layout.scanFractions(), layout.scanFractionsBefore())).orElse("");
  }

  private static String left(LeftFiles group) {
    return String.format(
        Locale.ROOT,
        "  leave %s: %s",
        files(group.partition(), group.files().size(), group.bytes(), group.rows()),
        group.reason());
  }

  private static String files(String partition, int files, long bytes, long rows) {
    return String.format(
        Locale.ROOT, "%s%,d files (%,d bytes, %,d rows)", partition.isEmpty() ? "" : partition + ": ", files, bytes, rows);
  }

  private static String predicate(PredicateScan found) {
    return String.format("%s: %s", found.predicate(), shares(found.predicted(), found.before()));
  }

  private static String workload(WorkloadScan found) {
    return String.format(
        Locale.ROOT,
        "the %,d queries of the workload on average: %s",
        found.queries(),
        shares(found.predicted(), found.before()));
  }

  private static String shares(OptionalDouble predicted, OptionalDouble before) {
    return String.format("%s (%s today)", percent(predicted), percent(before));
  }

  private static String percent(OptionalDouble share) {
    return share.isPresent() ? String.format(Locale.ROOT, "%.1f%%", 100 * share.getAsDouble()) : "?";
  }

  private static String fractions(Map<String, Double> fractions, Map<String, Double> before) {
    return fractions.entrySet().stream()
        .map(
            entry ->
                String.format(
                    Locale.ROOT,
                    "%s %.1f%% (%.1f%% today)",
                    entry.getKey(), 100 * entry.getValue(), 100 * before.get(entry.getKey())))
        .collect(Collectors.joining(", "));
  }
}
