package io.icebergzorder.spark.plan.selection;

import static org.apache.iceberg.actions.SizeBasedFileRewritePlanner.REWRITE_ALL;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.upkeep.Choice;
import io.icebergzorder.core.upkeep.Gain;
import io.icebergzorder.core.upkeep.UpkeepRequest;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.plan.RewriteHistory;
import io.icebergzorder.spark.queries.AskedFiles;
import io.icebergzorder.spark.request.ResolvedRequest;
import io.icebergzorder.spark.request.RewriteOptions;
import io.icebergzorder.spark.request.RowOrder;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.iceberg.FileScanTask;

/**
 * Chooses, beside the files that Iceberg does, those whose rewrite brings filters the most for its bytes ({@link Gain}): in partitions of
 * which filters read more than {@code max-scan-ratio} times what a rewrite of everything would leave to read.
 */
public final class GainSelection implements Selection {
  private static final int PERCENT = 100;
  private static final String OTHER_SPEC =
      "of another partition spec than new files: what a rewrite would gain is not known, rewrite-old-specs has it done";

  private static final String CAPPED =
      ", but no rewrite would gain enough for its bytes, of which it may take 17 for each that came since";

  /** What is chosen does not depend on the order in which manifests are read. */
  static final Comparator<FileScanTask> BY_LOCATION =
      Comparator.comparing(file -> file.file().location().getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned);

  private final IcebergRules rules;
  private final IcebergRules ofAnySize;
  private final SizeSelection sizes;
  private final Supplier<FileBounds> bounds;
  private final Supplier<Optional<AskedFiles>> queries;
  private final UpkeepRequest upkeep;
  private final Map<String, String> missing;
  private final RewriteHistory.Ours ours;

  /**
   * Takes what files are judged by.
   *
   * @param rules with a {@code max-scan-ratio}
   * @param sizes what sizes and deletes call for by these rules
   * @param bounds of all files of the scope, for the columns of the request's order; read if there is something to judge
   * @param kept what new files keep of them
   * @param queries by which the files are judged; by equality without
   * @param ours earlier rewrites by the same sort order
   */
  public GainSelection(
      IcebergRules rules,
      SizeSelection sizes,
      Supplier<FileBounds> bounds,
      KeptBounds kept,
      Supplier<Optional<AskedFiles>> queries,
      ResolvedRequest request,
      RewriteHistory.Ours ours) {
    this.rules = rules;
    this.queries = queries;
    this.ofAnySize = rules.ofAnySize();
    this.sizes = sizes;
    this.bounds = bounds;
    this.upkeep = upkeep(rules, kept, request, rules.maxScanRatio());
    this.missing = kept.missing();
    this.ours = ours;
  }

  /** How files are written and judged. */
  static UpkeepRequest upkeep(IcebergRules rules, KeptBounds kept, ResolvedRequest request, double maxScanRatio) {
    RowOrder order = request.order();
    return new UpkeepRequest(
        maxScanRatio,
        rules::expectedOutputFiles,
        rules::finerOutputFiles,
        order.layoutRequest(request.options().layout(), 1),
        order.named().stream().map(kept::kept).toList(),
        weights(order, kept),
        Optional.empty());
  }

  /** Has files judged by queries, if there are any. */
  static UpkeepRequest asking(UpkeepRequest upkeep, List<FileScanTask> files, Optional<AskedFiles> queries) {
    List<String> locations = files.stream().map(file -> file.file().location()).toList();
    return upkeep.asking(queries.map(each -> each.of(locations)));
  }

  /** Files as their manifest entries describe them. */
  static DataFiles described(List<FileScanTask> files, FileBounds bounds) {
    return new DataFiles(
        new int[files.size()],
        files.stream().mapToLong(file -> file.file().recordCount()).toArray(),
        files.stream().mapToLong(file -> file.file().fileSizeInBytes()).toArray(),
        bounds.of(files.stream().map(file -> file.file().location()).toList()));
  }

  /** What the columns count; those of the prefix count 1, and those of which new files have no bounds nothing. */
  private static double[] weights(RowOrder order, KeptBounds kept) {
    List<ClusteringColumn> columns = order.named();
    double[] weights = new double[columns.size()];
    for (int i = 0; i < weights.length; i++) {
      weights[i] = kept.areKept(columns.get(i)) ? order.weight(i) : 0;
    }
    return weights;
  }

  /**
   * The files of a partition, judged.
   *
   * @param files all of them
   * @param called those that sizes or deletes call for
   * @param chosen those that are chosen, in the same order
   * @param choice null where sizes and deletes alone have chosen
   * @param byQueries whether by queries, and not by equality
   */
  private record Judged(
      List<FileScanTask> files, List<FileScanTask> called, List<FileScanTask> chosen, Choice choice, boolean byQueries) {}

  @Override
  public Selected select(List<PartitionFiles> scope) {
    int[] rows = Gain.rowsToSpread(scope.stream().mapToInt(partition -> expectedFiles(partition.files())).toArray());
    List<SelectedGroup> chosen = new ArrayList<>();
    List<SelectedGroup> left = new ArrayList<>();
    List<PartitionFiles> ordered =
        scope.stream()
            .map(each -> new PartitionFiles(each.partition(), each.files().stream().sorted(BY_LOCATION).toList()))
            .toList();
    // The budget is spent in an order that every engine finds.
    int[] places =
        IntStream.range(0, rows.length)
            .boxed()
            .sorted(Comparator.comparing(place -> ordered.get(place).files().get(0), BY_LOCATION))
            .mapToInt(Integer::intValue)
            .toArray();
    long budget = ours.budget();
    Judged[] all = new Judged[rows.length];
    for (int i : places) {
      all[i] = judged(ordered.get(i).files(), rows[i], budget);
      budget -= Math.min(budget, size(all[i].chosen()));
    }
    for (int i = 0; i < all.length; i++) {
      PartitionFiles partition = ordered.get(i);
      Judged judged = all[i];
      if (!judged.chosen().isEmpty()) {
        SelectedGroup group = new SelectedGroup(partition.partition(), judged.chosen(), whyChosen(judged));
        chosen.add(judged.choice() == null ? group : group.worth(worth(judged), judged.choice().isFiner()));
      }
      SizeSelection.addTo(left, partition, SizeSelection.without(judged.files(), judged.chosen()), whyLeft(judged));
    }
    int seen = scope.stream().mapToInt(partition -> partition.files().size()).sum();
    return new Selected(chosen, left, !chosen.isEmpty() ? null : seen == 0 ? sizes.whyNothing(0, 0, 0) : whyNothing(seen));
  }

  /** How many bytes of a partition filters read less for each byte that is rewritten. */
  private static double worth(Judged judged) {
    double saved = (judged.choice().today() - judged.choice().expected()) * size(judged.files());
    return saved / Math.max(1, size(judged.chosen()));
  }

  private static long size(List<FileScanTask> files) {
    return files.stream().mapToLong(file -> file.file().fileSizeInBytes()).sum();
  }

  private Judged judged(List<FileScanTask> files, int rows, long budget) {
    List<FileScanTask> called = calledFor(files);
    // Rows that go to another partition spec are cut by its partitions first, of which bounds do not tell what they gain.
    if (files.stream().anyMatch(file -> file.file().specId() != rules.newSpecId())) {
      return new Judged(files, called, files.stream().filter(new HashSet<>(called)::contains).toList(), null, false);
    }
    DataFiles described = described(files, bounds.get());
    boolean[] isDue = among(files, ofAnySize.worthRewriting(called));
    UpkeepRequest asked = asking(upkeep, files, queries.get());
    boolean[] isOurs = among(files, files.stream().filter(ours.wrote()).toList());
    Choice choice = Gain.choose(described, among(files, called), isDue, isOurs, budget, rows, asked);
    List<FileScanTask> chosen = Arrays.stream(choice.files()).mapToObj(files::get).toList();
    return new Judged(files, called, chosen, choice, asked.goesByQueries(described));
  }

  private static boolean[] among(List<FileScanTask> files, List<FileScanTask> some) {
    Set<FileScanTask> wanted = new HashSet<>(some);
    boolean[] are = new boolean[files.size()];
    IntStream.range(0, are.length).forEach(place -> are[place] = wanted.contains(files.get(place)));
    return are;
  }

  /** The files that Iceberg chooses, but for small ones that a rewrite would make no fewer, or that are finer ones. */
  private List<FileScanTask> calledFor(List<FileScanTask> files) {
    List<FileScanTask> worth = rules.worthRewriting(SizeSelection.without(files, sizes.resting(files)));
    if (worth.isEmpty() || !rules.areEnough(worth)) {
      return List.of();
    }
    boolean areOnlySmall = worth.stream().noneMatch(rules::isTooLarge) && ofAnySize.worthRewriting(worth).isEmpty();
    int newFiles = Gain.isSmallPart(size(worth), size(files)) ? rules.finerOutputFiles(size(worth)) : expectedFiles(worth);
    return areOnlySmall && newFiles >= worth.size() ? List.of() : worth;
  }

  private int expectedFiles(List<FileScanTask> files) {
    return rules.expectedOutputFiles(size(files));
  }

  private String whyChosen(Judged judged) {
    int files = judged.chosen().size();
    if (new HashSet<>(judged.called()).containsAll(judged.chosen())) {
      String some =
          files == judged.called().size()
              ? ""
              : String.format(Locale.ROOT, "; %,d of them, for with the others filters would read more", files);
      return files == 0 ? null : sizes.whyChosen(judged.called()) + some;
    }
    return fraction(judged, "above") + ": expected to be " + percent(judged.choice().expected()) + " afterwards" + notCounted();
  }

  private String whyLeft(Judged judged) {
    if (judged.choice() == null) {
      return OTHER_SPEC;
    }
    if (!judged.chosen().isEmpty()) {
      return "a rewrite of them with the others would gain too little for its bytes";
    }
    if (missing.size() == upkeep.weights().length) {
      return "no rewrite would gain anything, because new files get no bounds of any clustering column: " + modes();
    }
    boolean isBelow = judged.choice().today() <= upkeep.maxScanRatio() * judged.choice().attainable();
    return (isBelow ? fraction(judged, "at most") : fraction(judged, "above") + CAPPED) + notCounted();
  }

  /** Added to a scan fraction: which columns it is not of. */
  private String notCounted() {
    return missing.isEmpty() ? "" : "; not counted are columns of which new files get no bounds: " + modes();
  }

  /** Added to why nothing is rewritten: by which columns no file can be skipped, and what would help. */
  private String noBounds() {
    String what = " New files get no bounds of %s, and no file can be skipped by what has none: to have them kept, set option %s to %s.";
    return missing.isEmpty() ? "" : String.format(what, modes(), ZOrderOptions.METRICS_CHECK, ZOrderOptions.METRICS_CHECK_FIX);
  }

  private String modes() {
    return missing.entrySet().stream()
        .map(column -> column.getKey() + " (metrics mode " + column.getValue() + ")")
        .collect(Collectors.joining(", "));
  }

  private String fraction(Judged judged, String where) {
    Choice choice = judged.choice();
    return String.format(
        "scan fraction%s %s is %s %s %s times the attainable %s",
        judged.byQueries() ? " on average over the queries of the workload" : "",
        percent(choice.today()), where, RewriteOptions.MAX_SCAN_RATIO, ratio(), percent(choice.attainable()));
  }

  private String whyNothing(int seen) {
    return String.format(
        Locale.ROOT,
        "Nothing to rewrite in %s: no size and no deletes of %,d data files call for it, and no rewrite would gain enough%s for its"
            + " bytes (%s %s). To rewrite them anyway, set option %s to true.",
        rules.tableName(),
        seen,
        queries.get().isPresent() ? " for the queries of the workload" : "",
        RewriteOptions.MAX_SCAN_RATIO,
        ratio(),
        REWRITE_ALL)
        + noBounds();
  }

  private String ratio() {
    return BigDecimal.valueOf(upkeep.maxScanRatio()).stripTrailingZeros().toPlainString();
  }

  /** Rounds as Python does, which takes a number for what it is, and not for the shortest decimal that stands for it. */
  private static String percent(double fraction) {
    return new BigDecimal(PERCENT * fraction).setScale(1, RoundingMode.HALF_EVEN).toPlainString() + "%";
  }
}
