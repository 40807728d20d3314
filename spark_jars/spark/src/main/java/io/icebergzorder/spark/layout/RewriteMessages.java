package io.icebergzorder.spark.layout;

import static io.icebergzorder.core.Reason.percent;

import io.icebergzorder.core.Reason;
import io.icebergzorder.core.metrics.SnapshotFacts;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/** Warnings for the user before a rewrite, beside those of {@link MetricsFindings}. Python has the same texts. */
record RewriteMessages(List<String> first, List<String> last) {
  static final RewriteMessages NONE = new RewriteMessages(List.of(), List.of());

  /** A column gets worse if filters on it read more than this times as much as today. */
  private static final double LOSS = 1.05;

  /** What filters read on average of the file groups that are rewritten, and what the average is over. */
  record Means(double before, double predicted, String over) {
    /** Why file groups are left of which this is predicted. */
    Reason noGain() {
      return Reason.of(Reason.NO_GAIN, "before", before, "predicted", predicted, "over", over);
    }

    String text(String colon) {
      String of = over.equals("queries") ? "queries of the workload" : over;
      return "on average over the %s%s %s, %s today.".formatted(of, colon, percent(predicted), percent(before));
    }
  }

  static RewriteMessages of(
      TablePlan plan, Map<String, Double> before, Map<String, Double> predicted, Means means, Collection<SampledGroup> groups) {
    List<String> messages = new ArrayList<>();
    addLeftOut(messages, plan, groups);
    addLosers(messages, before, predicted, means);
    if (plan.resolved().isRewriteAll()
        && means.predicted() > means.before()
        && !percent(means.predicted()).equals(percent(means.before()))) {
      messages.add("The rewrite makes the scan fraction worse " + means.text(":"));
    }
    int files = groups.stream().mapToInt(group -> group.group().files().size()).sum();
    return new RewriteMessages(messages, plan.history().lastLayout().stream().flatMap(last -> lastLayout(plan, last, files)).toList());
  }

  List<String> with(List<String> ofMetrics) {
    return Stream.of(first, ofMetrics, last).flatMap(List::stream).toList();
  }

  private static void addLeftOut(List<String> messages, TablePlan plan, Collection<SampledGroup> groups) {
    String table = plan.target().name();
    for (String column : plan.order().ignored()) {
      messages.add("Ignored clustering column %s of %s: the table is partitioned by it.".formatted(column, table));
    }
    plan.order().named().stream()
        .filter(column -> !groups.isEmpty() && groups.stream().allMatch(group -> group.layout().leftOut().contains(column.name())))
        .forEach(column ->
            messages.add(
                "Left clustering column %s of %s out: it has one value only, only NULLs, or long values that begin alike."
                    .formatted(column.name(), table)));
  }

  private static void addLosers(List<String> messages, Map<String, Double> before, Map<String, Double> predicted, Means means) {
    List<String> losers =
        predicted.keySet().stream()
            .filter(column -> before.containsKey(column) && predicted.get(column) > LOSS * before.get(column))
            .toList();
    for (String column : losers) {
      boolean isLast = column.equals(losers.get(losers.size() - 1));
      messages.add(
          "Column %s gets worse: filters on it will read %s of these files, %s today%s"
              .formatted(
                  column, percent(predicted.get(column)), percent(before.get(column)), isLast ? "; " + means.text("") : "."));
    }
  }

  private static Stream<String> lastLayout(TablePlan plan, SnapshotFacts last, int files) {
    ResolvedSortOrder order = plan.order();
    long all = plan.dataFiles();
    // Who rewrites everything on purpose knows of it.
    boolean isAskedFor = files >= all && plan.resolved().isRewriteAll();
    return isAskedFor || last.isBy(order.sortOrder())
        ? Stream.empty()
        : Stream.of(
            String.format(
                Locale.ROOT,
                "The last layout of %s was by %s; this rewrite lays out %,d of %,d data files by %s.",
                plan.target().name(), last.sortOrder(), files, all, order.sortOrder()));
  }
}
