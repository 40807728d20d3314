package io.icebergzorder.spark.layout;

import io.icebergzorder.core.Reason;
import io.icebergzorder.core.metrics.ScanCost;
import io.icebergzorder.core.metrics.SnapshotFacts;
import io.icebergzorder.spark.layout.ScanFractions.TableReads;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.Table;

/** Warnings for the user before a rewrite, beside those of {@link MetricsFindings}. Python has the same texts. */
record RewriteMessages(List<String> first, List<String> last) {
  static final RewriteMessages NONE = new RewriteMessages(List.of(), List.of());

  /** A smaller gain or loss counts as none. */
  private static final double ERROR = 0.05;

  static RewriteMessages of(CatalogTable target, TablePlan plan, TableReads before, TableReads predicted, Collection<SampledGroup> groups) {
    List<String> messages = new ArrayList<>();
    addLeftOut(messages, target.name(), plan, groups);
    addOneFile(messages, plan, before, groups);
    addLosers(messages, before, predicted, ScanCost.openCost(target.table().properties()));
    addAboveLimit(messages, target.table(), groups);
    int files = groups.stream().mapToInt(group -> group.group().files().size()).sum();
    return new RewriteMessages(messages, plan.history().lastLayout().stream().flatMap(last -> lastLayout(target.name(), plan, last, files)).toList());
  }

  List<String> with(List<String> ofMetrics) {
    return Stream.of(first, ofMetrics, last).flatMap(List::stream).toList();
  }

  private static void addLeftOut(List<String> messages, String table, TablePlan plan, Collection<SampledGroup> groups) {
    for (String column : plan.order().ignored()) {
      messages.add("Ignored clustering column %s of %s: the table is partitioned by it.".formatted(column, table));
    }
    plan.order().named().stream()
        .filter(column -> !groups.isEmpty() && groups.stream().allMatch(group -> group.layout().leftOut().contains(column.name())))
        .forEach(column ->
            messages.add(
                "Ignored clustering column %s of %s: it has only one value, only NULLs, or long values with the same prefix."
                    .formatted(column.name(), table)));
  }

  /** Says that filters skip nothing, because each file group is a partition that becomes one file. */
  private static void addOneFile(List<String> messages, TablePlan plan, TableReads before, Collection<SampledGroup> groups) {
    List<FileGroup> files = groups.stream().map(SampledGroup::group).toList();
    boolean isWhole = files.stream().mapToInt(group -> group.files().size()).sum() == before.files();
    if (isWhole && files.stream().allMatch(group -> group.expectedFiles() == 1 && group.indexInPartition() == 1)) {
      long bytes = files.stream().mapToLong(FileGroup::bytes).sum();
      Reason.oneFile(files.size(), bytes, plan.targetSize().bytes()).ifPresent(messages::add);
    }
  }

  /** Says on which columns filters will cost more, and for which others. */
  private static void addLosers(List<String> messages, TableReads before, TableReads after, long openCost) {
    // Of a column of which the cost is not known, neither comparison holds.
    ToDoubleFunction<String> change = column -> after.cost(column, openCost) / before.cost(column, openCost);
    List<String> losers = before.byColumn().keySet().stream().filter(each -> change.applyAsDouble(each) > 1 + ERROR).toList();
    List<String> winners = before.byColumn().keySet().stream().filter(each -> change.applyAsDouble(each) < 1 - ERROR).toList();
    if (!losers.isEmpty()) {
      String names = String.join(", ", losers);
      String reads = Stream.of(losers, winners).flatMap(List::stream)
          .map(column -> TableReads.text(column, before, after)).collect(Collectors.joining(", "));
      if (winners.isEmpty()) {
        boolean areMoreFiles = losers.stream().allMatch(each -> after.cost(each, 0) <= before.cost(each, 0));
        String why = areMoreFiles ? ", because opening a file counts as " + Reason.size(openCost) : "";
        messages.add("A%s: filters on %s cost more%s.".formatted(reads.substring(1), names, why));
      } else {
        messages.add("%s pay%s for %s: %s.".formatted(names, losers.size() == 1 ? "s" : "", String.join(", ", winners), reads));
      }
    }
  }

  /** Says that filters will cost more than {@code max-scan-ratio} allows, and more than was planned. */
  private static void addAboveLimit(List<String> messages, Table table, Collection<SampledGroup> groups) {
    Map<String, Reason> reasons = new LinkedHashMap<>();
    Map<String, Double> saved = new HashMap<>();
    for (SampledGroup each : groups) {
      Optional<Reason> reason = each.group().reasons().stream().filter(why -> why.code().equals(Reason.SCAN_RATIO)).findFirst();
      if (reason.isPresent() && !Double.isNaN(each.costBefore())) {
        String partition = FileGroup.partitionPath(table, each.group().files());
        reasons.put(partition, reason.get());
        saved.merge(partition, each.costBefore() - each.costPredicted(), Double::sum);
      }
    }
    double cost = 0;
    double attainable = 0;
    String ratio = null;
    for (Map.Entry<String, Reason> partition : reasons.entrySet()) {
      Reason reason = partition.getValue();
      double after = reason.number("before") - saved.get(partition.getKey());
      double limit = reason.number("max_scan_ratio") * reason.number("attainable");
      if (after > Math.max(limit, (1 + ERROR) * reason.number("predicted"))) {
        cost += after;
        attainable += reason.number("attainable");
        ratio = reason.maxScanRatio();
      }
    }
    if (ratio != null) {
      messages.add(
          String.format(
              Locale.ROOT,
              "A filter is expected to cost %s after this rewrite, %.2f times the attainable %s and more than max-scan-ratio %s allows:"
                  + " by the sample, rows gain less than bounds tell.",
              Reason.size(cost), cost / Math.max(1, attainable), Reason.size(attainable), ratio));
    }
  }

  private static Stream<String> lastLayout(String table, TablePlan plan, SnapshotFacts last, int files) {
    ResolvedSortOrder order = plan.order();
    long all = plan.dataFiles();
    // Who rewrites everything on purpose knows of it.
    boolean isAskedFor = files >= all && plan.options().isRewriteAll();
    return isAskedFor || last.isBy(order.sortOrder())
        ? Stream.empty()
        : Stream.of(
            String.format(
                Locale.ROOT,
                "The last layout of %s was by %s; this rewrite lays out %,d of %,d data files by %s.",
                table, last.sortOrder(), files, all, order.sortOrder()));
  }
}
