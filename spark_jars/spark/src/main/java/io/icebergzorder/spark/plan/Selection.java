package io.icebergzorder.spark.plan;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Reason;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ScanCost;
import io.icebergzorder.core.select.Gain;
import io.icebergzorder.core.select.GroupCuts;
import io.icebergzorder.core.select.UpkeepRequest;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.FileCondition;
import io.icebergzorder.spark.spec.FileScope;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import io.icebergzorder.spark.spec.ResolvedSpec;
import io.icebergzorder.spark.spec.Workload;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.util.PartitionMap;
import org.apache.iceberg.util.StructLikeWrapper;

/** Chooses the data files of a rewrite, each with a reason: by age, size, deletes, partition spec and gain ({@link Gain}). */
public final class Selection {
  private final ResolvedSpec spec;
  private final StartingPoint start;
  private final Table table;
  private final RewriteHistory history;
  private final TargetSize targetSize;
  private final IcebergRules rules;
  private final List<List<FileScanTask>> partitions;
  private final List<FileCondition> conditions;
  private final KeptBounds kept;
  private final boolean isMended;
  private final boolean isBySize;
  private final List<LeftGroup> left = new ArrayList<>();
  private FileBounds bounds;

  private Selection(CatalogTable target, ResolvedSpec spec, StartingPoint start, List<FileScanTask> listed) {
    this.spec = spec;
    this.start = start;
    table = target.table();
    history = RewriteHistory.of(table, start.snapshotId());
    partitions = byPartition(table, listed);
    long[] sizes = partitions.stream().mapToLong(FileGroup::bytes).toArray();
    targetSize = TargetSize.of(table, spec.options(), history, sizes, spec.order().named().size(), spec.written().where() != null);
    rules = new IcebergRules(table, spec.options(), targetSize);
    isBySize = spec.options().choosesBySize();
    boolean isByCase = target.isCaseSensitive();
    conditions = spec.workload().map(Workload::conditions).orElse(List.of()).stream()
        .map(each -> new FileCondition(table, each, isByCase)).toList();
    KeptBounds now = KeptBounds.of(table, spec.order().named());
    // New files are then to have bounds that those of today have not, and are written with that.
    isMended = spec.options().layout().fixesMetrics() && !now.missing().isEmpty();
    kept = isMended ? now.mended() : now;
  }

  /**
   * Lists data files, selects among them, and groups them. Reads manifests only, once more for lower/upper bounds.
   *
   * @throws IllegalArgumentException if Iceberg refuses an option
   */
  public static TablePlan plan(CatalogTable target, ResolvedSpec spec) {
    StartingPoint start = StartingPoint.of(target.table(), spec.branch());
    Selection selection = new Selection(target, spec, start, start.list(target.table(), spec.scope()));
    List<FileGroup> groups = selection.inOrder(selection.chosen());
    return TablePlan.of(
        selection.table,
        spec,
        start,
        selection.history,
        selection.targetSize,
        groups,
        selection.left,
        groups.isEmpty() ? LeftGroup.whyNothing(target.table().name(), spec, start, selection.left) : null,
        Optional.ofNullable(selection.bounds));
  }

  /** Data files by partition of the table's current spec; those of others, whose rows may go to any, are together. */
  private static List<List<FileScanTask>> byPartition(Table table, List<FileScanTask> files) {
    StructLikeWrapper partition = StructLikeWrapper.forType(table.spec().partitionType());
    // Of a spec with fields, no partition has files of others, not that of NULLs either.
    boolean hasFields = !table.spec().fields().isEmpty();
    Function<FileScanTask, List<Object>> key =
        file ->
            List.of(hasFields && file.file().specId() != table.spec().specId(), partition.copyFor(FileGroup.partition(table, file)));
    return files.stream().sorted(FileScope.BY_LOCATION).collect(Collectors.groupingBy(key)).values().stream()
        .sorted(Comparator.comparing(each -> each.get(0), FileScope.BY_LOCATION))
        .toList();
  }

  /**
   * Files of one partition that are chosen together.
   *
   * @param savedBytesPerByte what a filter is expected to cost less for each byte of them; 0 if it is not known
   * @param usesSmallerTarget whether they are written to half as many files again as usual
   * @param extents by column, the share of the partition that they span, in thousandths; empty if they are not a part
   */
  private record Chosen(
      List<FileScanTask> files, List<Reason> reasons, double savedBytesPerByte, boolean usesSmallerTarget, Map<String, Integer> extents) {
    long bytes() {
      return FileGroup.bytes(files);
    }

    /** Some of the files, for one reason more. */
    Chosen part(List<FileScanTask> some, Reason why, Map<String, Integer> extentsOfPart) {
      List<Reason> more = Stream.concat(reasons.stream(), Stream.of(why)).toList();
      return new Chosen(some, more, savedBytesPerByte, usesSmallerTarget, extentsOfPart);
    }
  }

  /** Numbers file groups as they were chosen, and puts them in the order in which they are rewritten. */
  private List<FileGroup> inOrder(List<Chosen> chosen) {
    return FileGroup.numbered(table, chosen.stream().map(this::group).toList()).stream()
        .sorted(Comparator.comparing(FileGroup::toRewrite, RewriteFileGroup.comparator(rules.jobOrder())))
        .toList();
  }

  private FileGroup group(Chosen chosen) {
    long size = chosen.usesSmallerTarget ? UpkeepRequest.sizeForSmallerTarget(chosen.bytes()) : chosen.bytes();
    return new FileGroup(
        table,
        chosen.files,
        rules.newSpecId(),
        rules.maxOutputFileSize(),
        rules.sizes.expectedFiles(size),
        chosen.reasons,
        chosen.extents,
        mustRewrite(chosen));
  }

  private boolean mustRewrite(Chosen chosen) {
    return chosen.files.stream().anyMatch(rules::mustRewrite);
  }

  /** Chooses among the data files of each partition. */
  private List<Chosen> chosen() {
    boolean mayLeave = spec.options().mayLeaveGroups();
    String request = isMended ? null : spec.key(table, targetSize.bytes());
    RewriteHistory.Earlier earlier =
        mayLeave
            ? history.earlier(table, request, spec.order(), spec.workload().map(Workload::key).orElse(""), targetSize.bytes())
            : RewriteHistory.Earlier.NONE;
    Predicate<FileScanTask> isYounger = FileScope.younger(table, rules.minAgeSeconds, start.plannedAtMs());
    Reason whyYoung = Reason.of(Reason.YOUNG, "min_age_seconds", rules.minAgeSeconds);
    List<List<FileScanTask>> others = new ArrayList<>();
    List<List<FileScanTask>> settled = new ArrayList<>();
    for (List<FileScanTask> files : partitions) {
      leave(only(files, FileScope::hasNoRows), Reason.of(Reason.NO_ROWS));
      List<FileScanTask> counted = only(files, Predicate.not(FileScope::hasNoRows));
      leave(only(counted, isYounger), whyYoung);
      List<FileScanTask> old = only(counted, isYounger.negate());
      if (!old.isEmpty() && earlier.covers(old) && old.stream().noneMatch(rules::mustRewrite)) {
        settled.add(old);
      } else if (!old.isEmpty()) {
        others.add(old);
      }
    }
    int[] rowsOfSettled = rowsToSpread(settled);
    for (int place = 0; place < rowsOfSettled.length; place++) {
      leaveSettled(settled.get(place), rowsOfSettled[place]);
    }
    int[] rows = rowsToSpread(others);
    List<Chosen> chosen = new ArrayList<>();
    long budget = isMended ? Long.MAX_VALUE : earlier.budget();
    for (int place = 0; place < rows.length; place++) {
      List<FileScanTask> files = others.get(place);
      // A partition that is one file group is rewritten by one commit, so nothing of it is left to do.
      List<FileScanTask> written =
          exceeded(files).isEmpty() ? List.of() : only(files, file -> earlier.hasWritten(file) && !rules.mustRewrite(file));
      for (Chosen group : judged(files, written, earlier, rows[place], budget)) {
        budget -= Math.min(budget, group.bytes());
        chosen.addAll(parts(group, files));
      }
    }
    return limited(chosen);
  }

  private int[] rowsToSpread(List<List<FileScanTask>> groups) {
    return Gain.rowsToSpread(groups.stream().mapToInt(files -> rules.sizes.expectedFiles(FileGroup.bytes(files))).toArray());
  }

  private void leave(List<FileScanTask> files, Reason why) {
    if (!files.isEmpty()) {
      left.add(LeftGroup.of(table, files, why));
    }
  }

  /** Leaves files that the same request has rewritten, with what filters cost if that is known. */
  private void leaveSettled(List<FileScanTask> files, int rows) {
    Reason why = Reason.of(Reason.SETTLED);
    if (!isBySize && areOfNewSpec(files)) {
      BoundedFiles described = described(files);
      UpkeepRequest upkeep = upkeep(files);
      boolean[] none = new boolean[files.size()];
      why = costs(Reason.SETTLED, Gain.choose(described, none, none, 0, rows, upkeep), upkeep.goesByQueries(described));
    }
    leave(files, why);
  }

  private boolean areOfNewSpec(List<FileScanTask> files) {
    return files.stream().allMatch(file -> file.file().specId() == rules.newSpecId());
  }

  private static List<FileScanTask> only(List<FileScanTask> files, Predicate<FileScanTask> kind) {
    return files.stream().filter(kind).toList();
  }

  /**
   * Chooses among the data files of a partition that no unfinished rewrite by the same request has written. If none of these is chosen, the
   * rewrite has nothing left to do in this partition: chooses among all.
   */
  private List<Chosen> judged(
      List<FileScanTask> files, List<FileScanTask> written, RewriteHistory.Earlier earlier, int rows, long budget) {
    if (!written.isEmpty() && written.size() < files.size()) {
      int before = left.size();
      List<Chosen> chosen = judged(only(files, Predicate.not(new HashSet<>(written)::contains)), earlier, rows, budget);
      if (!chosen.isEmpty()) {
        leave(written, Reason.of(Reason.ALREADY_WRITTEN));
        return chosen;
      }
      left.subList(before, left.size()).clear();
    }
    return judged(files, earlier, rows, budget);
  }

  /** Chooses among data files of a partition, by sizes and deletes, or by what is gained, too. */
  private List<Chosen> judged(List<FileScanTask> files, RewriteHistory.Earlier earlier, int rows, long budget) {
    Set<FileScanTask> called = rules.calledFor(files, earlier);
    boolean isByGain = !isBySize && areOfNewSpec(files);
    // Of one file that is not called for there is no set to gain from.
    boolean isAlone = isByGain && called.isEmpty() && files.size() == 1;
    if (isByGain && !isAlone) {
      return byGain(files, called, rows, budget);
    }
    List<FileScanTask> chosen = only(files, called::contains);
    Predicate<FileScanTask> isSmall = file -> (isBySize || isAlone) && rules.wants(file);
    List<FileScanTask> others = only(files, file -> !called.contains(file));
    leave(only(others, isSmall), rules.whySmall());
    // Rows of other specs are cut by partitions first, of which bounds do not tell what they gain.
    leave(only(others, isSmall.negate()), isBySize || isAlone ? rules.whyInOrder() : Reason.of(Reason.OTHER_SPEC_UNKNOWN));
    return chosen.isEmpty() ? List.of() : List.of(new Chosen(chosen, rules.whyChosen(chosen), 0, false, Map.of()));
  }

  private List<Chosen> byGain(List<FileScanTask> files, Set<FileScanTask> called, int rows, long budget) {
    BoundedFiles described = described(files);
    UpkeepRequest upkeep = upkeep(files);
    Gain.Choice choice =
        Gain.choose(described, FileScope.flags(files, called::contains), FileScope.flags(files, rules::mustRewrite), budget, rows, upkeep);
    List<FileScanTask> chosen = Arrays.stream(choice.files()).mapToObj(files::get).toList();
    Set<FileScanTask> taken = new HashSet<>(chosen);
    boolean isByQueries = upkeep.goesByQueries(described);
    if (chosen.isEmpty()) {
      leave(files, costs(choice.isWithin() ? Reason.SCAN_RATIO_LOW : Reason.GAIN_TOO_SMALL, choice, isByQueries));
      return List.of();
    }
    String whyNot = choice.willBeWithin() ? Reason.NOT_WORTH_ADDING : Reason.GAIN_TOO_SMALL;
    leave(only(files, file -> !taken.contains(file)), costs(whyNot, choice, isByQueries));
    List<Reason> why = called.containsAll(chosen) ? rules.whyChosen(chosen) : List.of(costs(Reason.SCAN_RATIO, choice, isByQueries));
    double saved = (choice.today() - choice.expected()) / Math.max(1, FileGroup.bytes(chosen));
    return List.of(new Chosen(chosen, why, saved, choice.usesSmallerTarget(), byName(choice.extents())));
  }

  /** Files as their manifest entries describe them. Bounds are read if they are looked at. */
  private BoundedFiles described(List<FileScanTask> files) {
    if (bounds == null) {
      bounds = spec.bounds(table, start.snapshotId());
    }
    return bounds.of(files.stream().map(file -> file.file().location()).toList());
  }

  /** How files are judged and written: columns of which new files get no bounds do not count. */
  private UpkeepRequest upkeep(List<FileScanTask> files) {
    ResolvedSortOrder order = spec.order();
    List<ClusteringColumn> columns = order.named();
    PartitionMap<Boolean> found = PartitionMap.create(table.specs());
    files.forEach(file -> found.put(file.file().specId(), file.file().partition(), true));
    boolean[] asked = new boolean[conditions.size()];
    for (int i = 0; i < asked.length; i++) {
      asked[i] = found.size() > 1 || conditions.get(i).partitionMayMatch(files.get(0).file());
    }
    return new UpkeepRequest(
        rules.maxScanRatio,
        Math.max(0, rules.minInputFiles),
        rules.sizes,
        order.layoutRequest(spec.options().layout(), 1, Map.of()),
        columns.stream().map(kept::kept).toList(),
        IntStream.range(0, columns.size()).mapToDouble(i -> kept.areKept(columns.get(i)) ? order.weight(i) : 0).toArray(),
        ScanCost.openCost(table.properties()),
        spec.workload().map(workload -> workload.asked(asked)));
  }

  /** The options {@code max-file-group-*} that data files exceed. */
  private Map<String, Object> exceeded(List<FileScanTask> files) {
    Map<String, Object> above = new LinkedHashMap<>();
    if (FileGroup.bytes(files) > rules.maxGroupBytes) {
      above.put("max_file_group_size_bytes", rules.maxGroupBytes);
    }
    if (files.size() > rules.maxGroupFiles) {
      above.put("max_file_group_input_files", rules.maxGroupFiles);
    }
    return above;
  }

  /** Cuts what is more than a file group may have, see the options {@code max-file-group-*}. */
  private List<Chosen> parts(Chosen group, List<FileScanTask> partition) {
    Map<String, Object> above = exceeded(group.files);
    if (group.files.size() < 2 || above.isEmpty()) {
      return List.of(group);
    }
    Set<FileScanTask> among = new HashSet<>(group.files);
    int[] chosen = IntStream.range(0, partition.size()).filter(place -> among.contains(partition.get(place))).toArray();
    UpkeepRequest upkeep = upkeep(partition);
    List<Chosen> parts = new ArrayList<>();
    List<GroupCuts.Group> groups =
        GroupCuts.cut(described(partition), chosen, rules.maxGroupBytes, rules.maxGroupFiles, upkeep.kept(), upkeep.weights());
    for (GroupCuts.Group each : groups) {
      above.put("number", parts.size() + 1);
      above.put("of", groups.size());
      List<FileScanTask> files = Arrays.stream(each.files()).mapToObj(partition::get).toList();
      parts.add(group.part(files, new Reason(Reason.SPLIT_GROUP, above), byName(each.extents())));
    }
    return parts;
  }

  private Map<String, Integer> byName(int[] extents) {
    Map<String, Integer> found = new LinkedHashMap<>();
    IntStream.range(0, extents.length).forEach(i -> found.put(spec.order().named().get(i).name(), extents[i]));
    return found;
  }

  /** Takes {@code max-files-to-rewrite} files at most: those that are due, then those that save most for theirs. */
  private List<Chosen> limited(List<Chosen> chosen) {
    int limit = rules.maxFilesToRewrite;
    int room = limit;
    if (chosen.stream().mapToLong(group -> group.files.size()).sum() <= room) {
      return chosen;
    }
    Comparator<Chosen> dueFirst = Comparator.comparing(group -> !mustRewrite(group));
    List<Chosen> taken = new ArrayList<>();
    for (Chosen group : chosen.stream().sorted(dueFirst.thenComparing(group -> -group.savedBytesPerByte)).toList()) {
      List<FileScanTask> files = group.files.stream().sorted(Comparator.comparing(file -> !rules.mustRewrite(file))).toList();
      int count = Math.min(room, files.size());
      if (count == files.size()) {
        taken.add(group);
      } else if (count > 0) {
        Reason part = Reason.of(Reason.FILE_LIMIT, "files", count, "of", files.size(), "max_files_to_rewrite", limit);
        taken.add(group.part(files.subList(0, count), part, group.extents));
      }
      leave(files.subList(count, files.size()), Reason.of(Reason.MAX_FILES_TO_REWRITE, "max_files_to_rewrite", limit));
      room -= count;
    }
    return taken;
  }

  /** A reason by costs, for which columns do not count that new files get no bounds of. */
  private Reason costs(String code, Gain.Choice choice, boolean isByQueries) {
    long before = (long) Math.rint(choice.today());
    long attainable = (long) Math.rint(choice.attainable());
    String over = isByQueries ? "queries" : "columns";
    Map<String, Object> figures = new LinkedHashMap<>();
    figures.put("before", before);
    figures.put("attainable", attainable);
    figures.put("max_scan_ratio", rules.maxScanRatio);
    figures.put("over", over);
    figures.put("not_counted", kept.missing());
    if (code.equals(Reason.SCAN_RATIO)) {
      figures.put("predicted", (long) Math.rint(choice.expected()));
    }
    return new Reason(code, figures);
  }
}
