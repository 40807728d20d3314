package io.icebergzorder.spark.plan.selection;

import static org.apache.iceberg.actions.BinPackRewriteFilePlanner.MAX_FILES_TO_REWRITE;
import static org.apache.iceberg.actions.SizeBasedFileRewritePlanner.MAX_FILE_GROUP_INPUT_FILES;
import static org.apache.iceberg.actions.SizeBasedFileRewritePlanner.REWRITE_ALL;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.upkeep.Gain;
import io.icebergzorder.core.upkeep.GroupCuts;
import io.icebergzorder.core.upkeep.Settled;
import io.icebergzorder.core.upkeep.UpkeepRequest;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.queries.FileCondition;
import io.icebergzorder.spark.queries.Workload;
import io.icebergzorder.spark.request.CatalogTable;
import io.icebergzorder.spark.request.ResolvedRequest;
import io.icebergzorder.spark.request.RewriteOptions;
import io.icebergzorder.spark.request.RowOrder;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.util.PartitionMap;

/** Chooses the data files of a rewrite: by age, what is settled, sizes and deletes, and what filters gain ({@link Gain}). */
public final class Selection {
  private static final String OTHER_SPEC =
      "of another partition spec than new files: what a rewrite would gain is not known, rewrite-old-specs has it done";
  private static final String CAPPED =
      ", but no rewrite would gain enough for its bytes, of which it may take 17 for each that came since";
  private static final int TOLD = 3;
  private static final int PERCENT = 100;

  /** What is chosen does not depend on the order in which manifests are read. */
  private static final Comparator<FileScanTask> BY_LOCATION =
      Comparator.comparing(file -> file.file().location().getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned);

  private final IcebergRules rules;
  private final ResolvedRequest request;
  private final Facts facts;
  private final List<FileCondition> conditions;
  private final boolean isBySize;
  private final boolean isLikeBuiltin;

  /**
   * What is known beside the files, read if it is looked at.
   *
   * @param isYounger whether a data file is too young
   * @param isSettled whether an earlier rewrite has settled the files of a partition
   * @param rewriteOf the earlier rewrite like this one that wrote a file; empty for others
   * @param budget bytes that a rewrite for gain may take
   * @param bounds of all files of the scope, for the columns of the request's order
   * @param kept what new files keep of them
   */
  public record Facts(
      Predicate<FileScanTask> isYounger,
      Predicate<List<FileScanTask>> isSettled,
      Function<FileScanTask, String> rewriteOf,
      long budget,
      Supplier<FileBounds> bounds,
      KeptBounds kept) {}

  /**
   * Data files of one partition that have one fate, at least one; those of another spec than the table's stand in one partition of NULLs
   * together, for their rows may go to any.
   *
   * @param reason why they are rewritten together, or left, in words that name options and their values
   * @param worth of chosen files, the bytes that a filter is expected to read less for each byte of them; 0 if it is not known
   * @param isFiner whether they are written to half as many files again as usual
   */
  public record SelectedGroup(StructLike partition, List<FileScanTask> files, String reason, double worth, boolean isFiner) {
    /** Takes a copy of the list. */
    public SelectedGroup {
      files = List.copyOf(files);
    }

    /** Data files of a whole partition. */
    public SelectedGroup(StructLike partition, List<FileScanTask> files) {
      this(partition, files, "", 0, false);
    }

    private SelectedGroup of(List<FileScanTask> others, String why) {
      return new SelectedGroup(partition, others, why, worth, isFiner);
    }

    /** Adds some of the files to groups, if there are any. */
    private void addTo(List<SelectedGroup> groups, List<FileScanTask> some, String why) {
      if (!some.isEmpty()) {
        groups.add(of(some, why));
      }
    }
  }

  /**
   * A choice: every file is in one group that was chosen, or left.
   *
   * @param chosen the file groups to rewrite
   * @param left the rest
   * @param whyNothing if nothing was chosen, why, and what would force a rewrite; else null
   * @param isWhole whether no file is left that is too young, or beyond {@code max-files-to-rewrite}
   * @param limitMessage what is to be said of that option should nothing be rewritten; may be empty
   */
  public record Selected(
      List<SelectedGroup> chosen, List<SelectedGroup> left, String whyNothing, boolean isWhole, String limitMessage) {
    /** Takes copies of the lists. */
    public Selected {
      chosen = List.copyOf(chosen);
      left = List.copyOf(left);
    }

    /** Nothing, of a table without a file. */
    public static Selected nothing(String why) {
      return new Selected(List.of(), List.of(), why, true, "");
    }
  }

  /** Takes the rules, what is asked for, and what is known. */
  public Selection(IcebergRules rules, ResolvedRequest request, Facts facts) {
    this.rules = rules;
    this.request = request;
    this.facts = facts;
    isLikeBuiltin = request.written().likeBuiltin() && !request.options().all().containsKey(RewriteOptions.MAX_SCAN_RATIO);
    isBySize = rules.rewriteAll || isLikeBuiltin || Double.isInfinite(rules.maxScanRatio);
    CatalogTable target = request.target();
    conditions =
        request.workload().map(Workload::conditions).orElse(List.of()).stream()
            .map(each -> new FileCondition(target.table(), each, target.isCaseSensitive()))
            .toList();
  }

  /** Chooses among the data files of each partition. */
  public Selected select(List<SelectedGroup> scope) {
    List<SelectedGroup> chosen = new ArrayList<>();
    List<SelectedGroup> left = new ArrayList<>();
    List<SelectedGroup> others = new ArrayList<>();
    String whyYoung = String.format(Locale.ROOT, "younger than %s %,d", RewriteOptions.MIN_AGE_SECONDS, rules.minAgeSeconds());
    for (SelectedGroup group : scope) {
      group.addTo(left, only(group.files, facts.isYounger), whyYoung);
      List<FileScanTask> old = only(group.files, facts.isYounger.negate());
      boolean isSettled = !old.isEmpty() && facts.isSettled.test(old) && old.stream().noneMatch(rules::isDue);
      group.addTo(isSettled ? left : others, old, isSettled ? Settled.WHY : "");
    }
    boolean isWhole = left.stream().flatMap(group -> group.files.stream()).noneMatch(facts.isYounger);
    int[] rows = Gain.rowsToSpread(others.stream().mapToInt(group -> rules.expectedOutputFiles(size(group.files))).toArray());
    List<List<SelectedGroup>> judged = new ArrayList<>(Collections.nCopies(rows.length, null));
    List<List<SelectedGroup>> rest = new ArrayList<>(Collections.nCopies(rows.length, null));
    long budget = facts.budget;
    // The budget is spent in an order that every engine finds.
    Comparator<Integer> byLocation = Comparator.comparing(place -> Collections.min(others.get(place).files, BY_LOCATION), BY_LOCATION);
    for (int place : IntStream.range(0, rows.length).boxed().sorted(byLocation).toList()) {
      rest.set(place, new ArrayList<>());
      judged.set(place, judged(others.get(place), rows[place], budget, rest.get(place)));
      budget -= Math.min(budget, judged.get(place).stream().mapToLong(group -> size(group.files)).sum());
    }
    judged.forEach(groups -> groups.forEach(group -> chosen.addAll(parts(group))));
    rest.forEach(left::addAll);
    List<SelectedGroup> waiting = new ArrayList<>();
    List<SelectedGroup> taken = limited(chosen, waiting);
    left.addAll(waiting);
    int later = waiting.stream().mapToInt(group -> group.files.size()).sum();
    String message =
        String.format(
            Locale.ROOT, " %,d more data files wait behind %s %,d: raise it to reach them.", later, MAX_FILES_TO_REWRITE,
            rules.maxFilesToRewrite);
    return new Selected(taken, left, taken.isEmpty() ? whyNothing(left) : null, isWhole && later == 0, later == 0 ? "" : message);
  }

  private static List<FileScanTask> only(List<FileScanTask> files, Predicate<FileScanTask> kind) {
    return files.stream().filter(kind).toList();
  }

  private static long size(List<FileScanTask> files) {
    return files.stream().mapToLong(file -> file.file().fileSizeInBytes()).sum();
  }

  /** Chooses among the data files of a partition, by sizes and deletes, or by what is gained, too. */
  private List<SelectedGroup> judged(SelectedGroup group, int rows, long budget, List<SelectedGroup> left) {
    Set<FileScanTask> called = rules.calledFor(group.files, facts.rewriteOf, isLikeBuiltin);
    if (!isBySize && group.files.stream().allMatch(file -> file.file().specId() == rules.newSpecId())) {
      return byGain(group, called, rows, budget, left);
    }
    List<FileScanTask> chosen = only(group.files, called::contains);
    Predicate<FileScanTask> isSmall = file -> isBySize && rules.wants(file);
    List<FileScanTask> others = only(group.files, file -> !called.contains(file));
    group.addTo(left, only(others, isSmall), rules.whySmall());
    // Rows of other specs are cut by partitions first, of which bounds do not tell what they gain.
    group.addTo(left, only(others, isSmall.negate()), isBySize ? rules.whyInOrder() : OTHER_SPEC);
    return chosen.isEmpty() ? List.of() : List.of(group.of(chosen, rules.whyChosen(chosen)));
  }

  private List<SelectedGroup> byGain(
      SelectedGroup group, Set<FileScanTask> called, int rows, long budget, List<SelectedGroup> left) {
    // Rows are spread over the files in an order that every engine finds.
    List<FileScanTask> files = group.files.stream().sorted(BY_LOCATION).toList();
    DataFiles described = described(files);
    UpkeepRequest upkeep = upkeep(files);
    Gain.Choice choice =
        Gain.choose(described, flags(files, called::contains), flags(files, rules::isDue), budget, rows, upkeep);
    List<FileScanTask> chosen = Arrays.stream(choice.files()).mapToObj(files::get).toList();
    Set<FileScanTask> taken = new HashSet<>(chosen);
    String scan = fraction(choice, upkeep.goesByQueries(described));
    if (chosen.isEmpty()) {
      boolean isCapped = choice.today() > rules.maxScanRatio * choice.attainable();
      group.addTo(left, files, scan + (isCapped ? CAPPED : "") + notCounted());
      return List.of();
    }
    group.addTo(left, only(files, file -> !taken.contains(file)), "a rewrite of them with the others would gain too little for its bytes");
    String why =
        called.containsAll(chosen)
            ? rules.whyChosen(chosen)
            : scan + ": expected to be " + percent(choice.expected()) + " afterwards" + notCounted();
    double saved = (choice.today() - choice.expected()) * described.bytes() / Math.max(1, size(chosen));
    return List.of(new SelectedGroup(group.partition, chosen, why, saved, choice.isFiner()));
  }

  private static boolean[] flags(List<FileScanTask> files, Predicate<FileScanTask> of) {
    boolean[] flags = new boolean[files.size()];
    IntStream.range(0, flags.length).forEach(place -> flags[place] = of.test(files.get(place)));
    return flags;
  }

  /** Files as their manifest entries describe them. */
  private DataFiles described(List<FileScanTask> files) {
    return new DataFiles(
        new int[files.size()],
        files.stream().mapToLong(file -> file.file().recordCount()).toArray(),
        files.stream().mapToLong(file -> file.file().fileSizeInBytes()).toArray(),
        facts.bounds.get().of(locations(files)));
  }

  private static List<String> locations(List<FileScanTask> files) {
    return files.stream().map(file -> file.file().location()).toList();
  }

  /** How files are judged and written: columns of which new files get no bounds do not count. */
  private UpkeepRequest upkeep(List<FileScanTask> files) {
    RowOrder order = request.order();
    List<ClusteringColumn> columns = order.named();
    PartitionMap<Boolean> partitions = PartitionMap.create(request.target().table().specs());
    files.forEach(file -> partitions.put(file.file().specId(), file.file().partition(), true));
    boolean[] asked = new boolean[conditions.size()];
    for (int i = 0; i < asked.length; i++) {
      asked[i] = partitions.size() > 1 || conditions.get(i).partitionMayMatch(files.get(0).file());
    }
    return new UpkeepRequest(
        rules.maxScanRatio,
        rules::expectedOutputFiles,
        order.layoutRequest(request.options().layout(), 1),
        columns.stream().map(facts.kept::kept).toList(),
        IntStream.range(0, columns.size()).mapToDouble(i -> facts.kept.areKept(columns.get(i)) ? order.weight(i) : 0).toArray(),
        request.workload().map(workload -> workload.asked(asked)));
  }

  /** Cuts what is more than a file group may have, see the options {@code max-file-group-*}; by default nothing is. */
  private List<SelectedGroup> parts(SelectedGroup group) {
    List<String> above = new ArrayList<>();
    if (size(group.files) > rules.maxGroupBytes) {
      above.add(String.format(Locale.ROOT, "%s %,d", RewriteDataFiles.MAX_FILE_GROUP_SIZE_BYTES, rules.maxGroupBytes));
    }
    if (group.files.size() > rules.maxGroupFiles) {
      above.add(String.format(Locale.ROOT, "%s %,d", MAX_FILE_GROUP_INPUT_FILES, rules.maxGroupFiles));
    }
    if (group.files.size() < 2 || above.isEmpty()) {
      return List.of(group);
    }
    List<FileScanTask> files = group.files.stream().sorted(BY_LOCATION).toList();
    UpkeepRequest upkeep = upkeep(files);
    List<SelectedGroup> parts = new ArrayList<>();
    List<int[]> groups = GroupCuts.cut(described(files), rules.maxGroupBytes, rules.maxGroupFiles, upkeep.kept(), upkeep.weights());
    for (int[] places : groups) {
      String part =
          String.format(Locale.ROOT, "; part %,d of %,d, cut for %s", parts.size() + 1, groups.size(), String.join(" and ", above));
      parts.add(group.of(Arrays.stream(places).mapToObj(files::get).toList(), group.reason + part));
    }
    return parts;
  }

  /** Takes {@code max-files-to-rewrite} files at most: those that are due, then those that save most for theirs. */
  private List<SelectedGroup> limited(List<SelectedGroup> chosen, List<SelectedGroup> waiting) {
    int limit = rules.maxFilesToRewrite;
    int room = limit;
    if (chosen.stream().mapToLong(group -> group.files.size()).sum() <= room) {
      return chosen;
    }
    Comparator<SelectedGroup> dueFirst = Comparator.comparing(group -> group.files.stream().noneMatch(rules::isDue));
    List<SelectedGroup> taken = new ArrayList<>();
    for (SelectedGroup group : chosen.stream().sorted(dueFirst.thenComparing(group -> -group.worth)).toList()) {
      List<FileScanTask> files = group.files.stream().sorted(Comparator.comparing(file -> !rules.isDue(file))).toList();
      int count = Math.min(room, files.size());
      String part = String.format(Locale.ROOT, "; %,d of its %,d files, for %s is %,d", count, files.size(), MAX_FILES_TO_REWRITE, limit);
      group.addTo(taken, files.subList(0, count), group.reason + (count < files.size() ? part : ""));
      group.addTo(waiting, files.subList(count, files.size()), String.format(Locale.ROOT, "%s is %,d", MAX_FILES_TO_REWRITE, limit));
      room -= count;
    }
    return taken;
  }

  /** Why nothing is rewritten, by the data files that are left for each reason: the three that most are left for. */
  private String whyNothing(List<SelectedGroup> left) {
    if (left.isEmpty()) {
      return String.format("Nothing to rewrite in %s: no data file can hold rows that match the filter.", request.target().table().name());
    }
    Map<String, Integer> counts = new TreeMap<>();
    left.forEach(group -> counts.merge(group.reason, group.files.size(), Integer::sum));
    List<Map.Entry<String, Integer>> most =
        counts.entrySet().stream().sorted(Comparator.comparing(reason -> -reason.getValue())).toList();
    String told =
        most.stream()
            .limit(TOLD)
            .map(reason -> String.format(Locale.ROOT, "%,d data files are left (%s)", reason.getValue(), reason.getKey()))
            .collect(Collectors.joining(", "));
    int others = most.stream().skip(TOLD).mapToInt(Map.Entry::getValue).sum();
    boolean areYoung = counts.keySet().stream().anyMatch(reason -> reason.startsWith("younger"));
    return String.format(
        Locale.ROOT,
        "Nothing to rewrite in %s: %s%s. To rewrite them anyway, set option %s to true%s.",
        request.target().table().name(),
        told,
        others == 0 ? "" : String.format(Locale.ROOT, ", %,d for other reasons", others),
        REWRITE_ALL,
        areYoung ? ", and lower " + RewriteOptions.MIN_AGE_SECONDS : "");
  }

  /** Added to a scan fraction: which columns it is not of, and what would help. */
  private String notCounted() {
    Map<String, String> missing = facts.kept.missing();
    String modes =
        missing.entrySet().stream()
            .map(column -> column.getKey() + " (metrics mode " + column.getValue() + ")")
            .collect(Collectors.joining(", "));
    return missing.isEmpty() ? "" : "; not counted, because new files get no bounds of them unless metrics-check is fix: " + modes;
  }

  private String fraction(Gain.Choice choice, boolean byQueries) {
    return String.format(
        "scan fraction%s %s is %s %s %s times the attainable %s",
        byQueries ? " on average over the queries of the workload" : "",
        percent(choice.today()),
        choice.today() > rules.maxScanRatio * choice.attainable() ? "above" : "at most",
        RewriteOptions.MAX_SCAN_RATIO,
        BigDecimal.valueOf(rules.maxScanRatio).stripTrailingZeros().toPlainString(),
        percent(choice.attainable()));
  }

  /** Rounds as Python does, which takes a number for what it is, and not for the shortest decimal that stands for it. */
  private static String percent(double fraction) {
    return new BigDecimal(PERCENT * fraction).setScale(1, RoundingMode.HALF_EVEN).toPlainString() + "%";
  }
}
