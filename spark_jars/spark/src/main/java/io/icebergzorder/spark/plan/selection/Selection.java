package io.icebergzorder.spark.plan.selection;

import static org.apache.iceberg.actions.SizeBasedFileRewritePlanner.REWRITE_ALL;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Reason;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.upkeep.Gain;
import io.icebergzorder.core.upkeep.GroupCuts;
import io.icebergzorder.core.upkeep.UpkeepRequest;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.queries.FileCondition;
import io.icebergzorder.spark.queries.Workload;
import io.icebergzorder.spark.request.CatalogTable;
import io.icebergzorder.spark.request.ResolvedRequest;
import io.icebergzorder.spark.request.RewriteOptions;
import io.icebergzorder.spark.request.RowOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
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
import java.util.stream.Stream;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.util.PartitionMap;

/** Chooses the data files of a rewrite: by age, what is settled, sizes and deletes, and what filters gain ({@link Gain}). */
public final class Selection {
  private static final int TOLD = 3;

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
   * @param reasons why they are rewritten together, or left
   * @param worth of chosen files, the bytes that a filter is expected to read less for each byte of them; 0 if it is not known
   * @param isFiner whether they are written to half as many files again as usual
   */
  public record SelectedGroup(
      StructLike partition, List<FileScanTask> files, List<Reason> reasons, double worth, boolean isFiner) {
    /** Takes copies of the lists. */
    public SelectedGroup {
      files = List.copyOf(files);
      reasons = List.copyOf(reasons);
    }

    /** Data files of a whole partition. */
    public SelectedGroup(StructLike partition, List<FileScanTask> files) {
      this(partition, files, List.of(), 0, false);
    }

    private SelectedGroup of(List<FileScanTask> others, List<Reason> why) {
      return new SelectedGroup(partition, others, why, worth, isFiner);
    }

    /** Some of the files, for one reason more. */
    private SelectedGroup cut(List<FileScanTask> some, Reason why) {
      return of(some, Stream.concat(reasons.stream(), Stream.of(why)).toList());
    }

    /** Adds some of the files to groups, if there are any. */
    private void addTo(List<SelectedGroup> groups, List<FileScanTask> some, Reason... why) {
      if (!some.isEmpty()) {
        groups.add(of(some, List.of(why)));
      }
    }
  }

  /**
   * A choice: every file is in one group that was chosen, or left.
   *
   * @param chosen the file groups to rewrite
   * @param left the rest
   * @param whyNothing if nothing was chosen, why, and what would force a rewrite; else null
   */
  public record Selected(List<SelectedGroup> chosen, List<SelectedGroup> left, String whyNothing) {
    /** Takes copies of the lists. */
    public Selected {
      chosen = List.copyOf(chosen);
      left = List.copyOf(left);
    }

    /** Nothing, of a table without a file. */
    public static Selected nothing(String why) {
      return new Selected(List.of(), List.of(), why);
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
    Reason whyYoung = Reason.of(Reason.YOUNG, "min_age_seconds", rules.minAgeSeconds());
    for (SelectedGroup group : scope) {
      group.addTo(left, only(group.files, facts.isYounger), whyYoung);
      List<FileScanTask> old = only(group.files, facts.isYounger.negate());
      boolean isSettled = !old.isEmpty() && facts.isSettled.test(old) && old.stream().noneMatch(rules::isDue);
      if (isSettled) {
        group.addTo(left, old, Reason.of(Reason.SETTLED));
      } else {
        group.addTo(others, old);
      }
    }
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
    List<SelectedGroup> taken = limited(chosen, left);
    return new Selected(taken, left, taken.isEmpty() ? whyNothing(left) : null);
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
    group.addTo(left, only(others, isSmall.negate()), isBySize ? rules.whyInOrder() : Reason.of(Reason.OTHER_SPEC_UNKNOWN));
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
    boolean isByQueries = upkeep.goesByQueries(described);
    if (chosen.isEmpty()) {
      boolean isCapped = choice.today() > rules.maxScanRatio * choice.attainable();
      group.addTo(left, files, scan(isCapped ? Reason.OVER_BUDGET : Reason.SCAN_RATIO_LOW, choice, isByQueries));
      return List.of();
    }
    group.addTo(left, only(files, file -> !taken.contains(file)), Reason.of(Reason.OTHERS_ONLY));
    List<Reason> why =
        called.containsAll(chosen) ? rules.whyChosen(chosen) : List.of(scan(Reason.SCAN_RATIO, choice, isByQueries));
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
    Map<String, Object> above = new LinkedHashMap<>();
    if (size(group.files) > rules.maxGroupBytes) {
      above.put("max_file_group_size_bytes", rules.maxGroupBytes);
    }
    if (group.files.size() > rules.maxGroupFiles) {
      above.put("max_file_group_input_files", rules.maxGroupFiles);
    }
    if (group.files.size() < 2 || above.isEmpty()) {
      return List.of(group);
    }
    List<FileScanTask> files = group.files.stream().sorted(BY_LOCATION).toList();
    UpkeepRequest upkeep = upkeep(files);
    List<SelectedGroup> parts = new ArrayList<>();
    List<int[]> groups = GroupCuts.cut(described(files), rules.maxGroupBytes, rules.maxGroupFiles, upkeep.kept(), upkeep.weights());
    for (int[] places : groups) {
      above.put("number", parts.size() + 1);
      above.put("of", groups.size());
      parts.add(group.cut(Arrays.stream(places).mapToObj(files::get).toList(), new Reason(Reason.PART, above)));
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
      if (count == files.size()) {
        taken.add(group);
      } else if (count > 0) {
        Reason part = Reason.of(Reason.LIMITED, "files", count, "of", files.size(), "max_files_to_rewrite", limit);
        taken.add(group.cut(files.subList(0, count), part));
      }
      group.addTo(
          waiting, files.subList(count, files.size()), Reason.of(Reason.MAX_FILES_TO_REWRITE, "max_files_to_rewrite", limit));
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
    left.forEach(group -> counts.merge(Reason.text(group.reasons), group.files.size(), Integer::sum));
    List<Map.Entry<String, Integer>> most =
        counts.entrySet().stream().sorted(Comparator.comparing(reason -> -reason.getValue())).toList();
    String told =
        most.stream()
            .limit(TOLD)
            .map(reason -> String.format(Locale.ROOT, "%,d data files are left (%s)", reason.getValue(), reason.getKey()))
            .collect(Collectors.joining(", "));
    int others = most.stream().skip(TOLD).mapToInt(Map.Entry::getValue).sum();
    boolean areYoung = left.stream().anyMatch(group -> group.reasons.get(0).code().equals(Reason.YOUNG));
    return String.format(
        Locale.ROOT,
        "Nothing to rewrite in %s: %s%s. To rewrite them anyway, set option %s to true%s.",
        request.target().table().name(),
        told,
        others == 0 ? "" : String.format(Locale.ROOT, ", %,d for other reasons", others),
        REWRITE_ALL,
        areYoung ? ", and lower " + RewriteOptions.MIN_AGE_SECONDS : "");
  }

  /** A reason by scan fractions, of which columns do not count that new files get no bounds of. */
  private Reason scan(String code, Gain.Choice choice, boolean isByQueries) {
    Map<String, Object> figures = new LinkedHashMap<>();
    figures.put("today", choice.today());
    figures.put("attainable", choice.attainable());
    if (code.equals(Reason.SCAN_RATIO)) {
      figures.put("expected", choice.expected());
    }
    figures.put("max_scan_ratio", rules.maxScanRatio);
    figures.put("over", isByQueries ? "queries" : "columns");
    figures.put("not_counted", facts.kept.missing());
    return new Reason(code, figures);
  }
}
