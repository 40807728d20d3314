package io.icebergzorder.spark.api;

import io.icebergzorder.core.Printable;
import io.icebergzorder.core.Reason;
import io.icebergzorder.spark.layout.ScanFractions.TableReads;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Writes plans as text for people; Python writes the same text. */
final class PlanText {
  /** The most file groups that are shown. */
  private static final int MOST = 20;

  private PlanText() {}

  static String of(RewritePlan plan) {
    List<String> lines = new ArrayList<>();
    lines.add(
        text(
            "Rewrite of %s (branch %s, %s) by %s%s",
            plan.table(),
            plan.branch(),
            plan.snapshotId().isPresent() ? "snapshot " + plan.snapshotId().getAsLong() : "no snapshot",
            plan.sortOrder(),
            plan.where().map(where -> " where " + where).orElse("")));
    plan.message().ifPresent(lines::add);
    lines.add(text("  target file size %,d bytes, from the %s", plan.targetFileSizeBytes(), plan.targetFileSizeFrom()));
    add(lines, plan.groups(), PlanText::chosen, "file groups are rewritten");
    add(lines, plan.left(), PlanText::left, "are left");
    oneFileEach(plan).ifPresent(each -> lines.add("  " + each));
    plan.sampled.ifPresent(layouts -> TableReads.texts(layouts.before(), layouts.predicted()).forEach(each -> lines.add("  " + each)));
    for (PredicateScan each : plan.predicates()) {
      lines.add(text("  predicted share read by %s: %s", each.predicate(), shares(each.predicted(), each.before())));
    }
    plan.workload().ifPresent(each ->
        lines.add(
            text(
                "  predicted share read by the %,d queries of the workload on average: %s",
                each.queries(), shares(each.predicted(), each.before()))));
    plan.expectedSeconds().ifPresent(seconds -> lines.add(text("  expected to take %,.1f seconds, judging by earlier rewrites", seconds)));
    return lines.stream().map(Printable::of).collect(Collectors.joining("\n"));
  }

  /** The hint at small tables, if each file group is a partition that becomes one file. */
  private static Optional<String> oneFileEach(RewritePlan plan) {
    List<PlannedFileGroup> groups = plan.groups();
    long partitions = groups.stream().map(PlannedFileGroup::partition).distinct().count();
    boolean isOneEach = plan.left().isEmpty() && partitions == groups.size() && groups.stream().allMatch(each -> each.expectedFiles() == 1);
    long bytes = groups.stream().mapToLong(PlannedFileGroup::bytes).sum();
    return isOneEach ? Reason.oneFile(groups.size(), bytes, plan.targetFileSizeBytes()) : Optional.empty();
  }

  private static <T> void add(List<String> lines, List<T> all, Function<T, String> line, String what) {
    all.stream().limit(MOST).map(line).forEach(lines::add);
    if (all.size() > MOST) {
      lines.add(text("  ... and %,d more %s", all.size() - MOST, what));
    }
  }

  private static String chosen(PlannedFileGroup group) {
    String files = files(group.partition(), group.files().size(), group.bytes(), group.rows());
    String predicted =
        group.layout()
            .map(each -> "; predicted scan fraction " + fractions(each.scanFractions(), each.scanFractionsBefore()))
            .orElse("");
    return text("  rewrite %s into %s: %s%s", files, Reason.files(group.expectedFiles()), group.reason(), predicted);
  }

  private static String left(LeftFiles group) {
    return text("  leave %s: %s", files(group.partition(), group.files(), group.bytes(), group.rows()), group.reason());
  }

  private static String files(String partition, int files, long bytes, long rows) {
    return text("%s%s (%,d bytes, %,d rows)", partition.isEmpty() ? "" : partition + ": ", Reason.files(files), bytes, rows);
  }

  private static String shares(OptionalDouble predicted, OptionalDouble before) {
    return text("%s (%s today)", percent(predicted), percent(before));
  }

  private static String percent(OptionalDouble share) {
    return share.isPresent() ? text("%.1f%%", 100 * share.getAsDouble()) : "?";
  }

  private static String fractions(Map<String, Double> fractions, Map<String, Double> before) {
    return fractions.keySet().stream()
        .map(column -> text("%s %.1f%% (%.1f%% today)", column, 100 * fractions.get(column), 100 * before.get(column)))
        .collect(Collectors.joining(", "));
  }

  private static String text(String format, Object... of) {
    return String.format(Locale.ROOT, format, of);
  }
}
