package io.icebergzorder.spark.sample;

import io.icebergzorder.core.report.SnapshotFacts;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.RowOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** What the user should know before a rewrite begins, a sentence or two each. Both engines use the same words. */
final class RewriteMessages {
  /** A column that is read more than this times as much as today pays for the others. */
  private static final double LOSS = 1.05;

  private final TablePlan plan;
  private final RowOrder order;

  RewriteMessages(TablePlan plan, RowOrder order) {
    this.plan = plan;
    this.order = order;
  }

  /** Averages over the file groups that are rewritten. */
  record Means(double before, double predicted, String over) {}

  /** Writes the messages. */
  List<String> of(
      Map<String, Double> before, Map<String, Double> predicted, Means means, List<String> ofMetrics, Collection<FittedGroup> groups) {
    List<String> messages = new ArrayList<>();
    addLeftOut(messages, groups);
    addLosers(messages, before, predicted, means);
    if (plan.isRewriteAll()
        && means.predicted() > means.before()
        && !percent(means.predicted()).equals(percent(means.before()))) {
      messages.add("The rewrite makes the scan fraction worse " + text(means, ":"));
    }
    messages.addAll(ofMetrics);
    int files = groups.stream().mapToInt(group -> group.group().files().size()).sum();
    plan.lastLayout().flatMap(last -> lastLayout(last, files)).ifPresent(messages::add);
    return messages;
  }

  private void addLeftOut(List<String> messages, Collection<FittedGroup> groups) {
    String table = plan.target().table().name();
    order.ignored().forEach(
        column -> messages.add("Ignored clustering column %s of %s: the table is partitioned by it.".formatted(column, table)));
    order.named().stream()
        .filter(column -> !groups.isEmpty() && groups.stream().allMatch(group -> group.layout().leftOut().contains(column.name())))
        .forEach(
            column ->
                messages.add(
                    "Left clustering column %s of %s out: it has one value only, only NULLs, or long values that begin alike."
                        .formatted(column.name(), table)));
  }

  private static String text(Means means, String colon) {
    String over = means.over() + colon;
    return String.format("on average over %s %s, %s today.", over, percent(means.predicted()), percent(means.before()));
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f%%", 100 * share);
  }

  private static void addLosers(List<String> messages, Map<String, Double> before, Map<String, Double> predicted, Means means) {
    List<String> losers =
        predicted.keySet().stream()
            .filter(column -> before.containsKey(column) && predicted.get(column) > LOSS * before.get(column))
            .toList();
    for (int i = 0; i < losers.size(); i++) {
      String column = losers.get(i);
      messages.add(
          String.format(
              Locale.ROOT,
              "Column %s pays for the others: filters on it will read %.1f%% of these files, %.1f%% today%s",
              column,
              100 * predicted.get(column),
              100 * before.get(column),
              i == losers.size() - 1 ? "; " + text(means, "") : "."));
    }
  }

  private Optional<String> lastLayout(SnapshotFacts last, int files) {
    long all = plan.dataFiles();
    // Who rewrites everything on purpose knows of it.
    boolean isAskedFor = files >= all && plan.isRewriteAll();
    return isAskedFor || last.isBy(order.sortOrder())
        ? Optional.empty()
        : Optional.of(
            String.format(
                Locale.ROOT,
                "The last layout of %s was by %s, this one of %,d of %,d data files is by %s.",
                plan.target().table().name(), last.sortOrder(), files, all, order.sortOrder()));
  }
}
