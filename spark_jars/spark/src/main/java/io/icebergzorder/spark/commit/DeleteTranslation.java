package io.icebergzorder.spark.commit;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.spark.commit.DeadRows.GroupFile;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.plan.StartingPoint;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.FileScope;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongPredicate;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.BaseDeleteLoader;
import org.apache.iceberg.deletes.PositionDeleteIndex;
import org.apache.iceberg.encryption.EncryptingFileIO;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.util.ContentFileUtil;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.iceberg.util.Tasks;
import org.apache.iceberg.util.ThreadPools;

/**
 * Deletes from the new files the rows that others have deleted from the rewritten files since the rewrite began.
 *
 * <p>A row died if it was live at the start and its position is deleted at the head, whatever happened in between. Equality deletes need
 * nothing, because the new files have the sequence number of the start.
 */
final class DeleteTranslation {
  private static final int WITH_ROW_IDS = 3;
  private static final long KEPT_IN_MEMORY = 64L << 20;
  /** No row of a table has this id, or one of the next. */
  private static final long NO_ROW_ID = Long.MIN_VALUE;
  private static final long[] NONE = {};

  private final RewriteSession session;
  private final Table table;
  private final Snapshot start;
  private final StartingPoint point;
  private final List<ClusteringColumn> columns;
  private final int formatVersion;
  private final boolean hasRowIds;

  DeleteTranslation(RewriteSession session, Table table, TablePlan plan) {
    this.session = session;
    this.table = table;
    this.point = plan.start();
    this.start = table.snapshot(point.snapshotId());
    this.columns = plan.order().columns();
    this.formatVersion = TableUtil.formatVersion(table);
    this.hasRowIds = formatVersion >= WITH_ROW_IDS;
  }

  /** Why deletes cannot be translated, and by which file groups: by their numbers in the commit, none if it is not known. */
  static final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final Set<Integer> groups;

    Refusal(String why) {
      this(why, Set.of());
    }

    Refusal(String why, Set<Integer> groups) {
      super(why);
      this.groups = Set.copyOf(groups);
    }

    Set<Integer> groups() {
      return groups;
    }
  }

  /**
   * What a commit on top of a snapshot does besides the replacement of the data files.
   *
   * @param applied the delete files that apply to the rewritten files there
   * @param removed those of them that apply to no other file, or one that was written anew for the others
   * @param added new delete files, which are written
   * @param deleted the positions that are deleted since the start, by path of the rewritten file
   * @param dead the positions of the same rows by path of the new file, where the new delete files delete them
   */
  record Translated(
      Snapshot head,
      Collection<DeleteFile> applied,
      List<DeleteFile> removed,
      List<DeleteFile> added,
      Map<String, long[]> deleted,
      Map<String, long[]> dead) {
    long rows() {
      return dead.values().stream().mapToLong(positions -> positions.length).sum();
    }

    /** Whether all that was deleted then is still deleted. */
    private boolean isPartOf(Map<String, long[]> others) {
      return deleted.entrySet().stream()
          .allMatch(each -> others.containsKey(each.getKey()) && notAmong(others.get(each.getKey()), each.getValue()).length == 0);
    }
  }

  /**
   * Translates the deletes at the branch's head.
   *
   * @param before what was found for the same file groups at an earlier head
   */
  Translated translate(Collection<RewriteFileGroup> groups, Optional<Translated> before) throws IOException {
    table.refresh();
    Snapshot head = checkedHead();
    List<GroupFile> rewritten = new ArrayList<>();
    List<GroupFile> written = new ArrayList<>();
    int number = 0;
    for (RewriteFileGroup group : groups) {
      for (FileScanTask task : group.fileScanTasks()) {
        rewritten.add(new GroupFile(number, task));
      }
      for (DataFile file : group.addedFiles()) {
        written.add(new GroupFile(number, task(file)));
      }
      number++;
    }
    Set<String> shared = new HashSet<>();
    Map<String, FileScanTask> now = atHead(head, rewritten, shared);
    Loader loader = new Loader();
    Map<String, long[]> deleted = new ConcurrentHashMap<>();
    AtomicLong count = new AtomicLong();
    Tasks.foreach(rewritten).executeWith(ThreadPools.getWorkerPool()).stopOnFailure().throwFailureWhenFinished().run(file -> {
      long[] positions = newlyDeleted(file, now.get(file.path()), loader);
      if (count.addAndGet(positions.length) > DeadRows.MOST_ROWS) {
        throw new Refusal(String.format(Locale.ROOT, "more than %,d rows were deleted", DeadRows.MOST_ROWS));
      }
      if (positions.length > 0) {
        deleted.put(file.path(), positions);
      }
    });
    Map<String, DeleteFile> applied = new LinkedHashMap<>();
    now.values().forEach(task -> task.deletes().forEach(each -> applied.put(RemovedDeleteCheck.identity(each), each)));
    List<DeleteFile> removed = new ArrayList<>(applied.values());
    removed.removeIf(each -> !isOfPositions(each) || shared.contains(RemovedDeleteCheck.identity(each)));
    Map<DataFile, long[]> dead = dead(rewritten, deleted, written, before.filter(each -> each.isPartOf(deleted)));
    DeleteFileWriter writer = new DeleteFileWriter(table);
    try {
      if (hasRowIds) {
        writer.vectors(dead);
      } else {
        writer.positions(dead);
      }
      if (removed.isEmpty() && !dead.isEmpty()) {
        removed.add(withoutOurs(head, now, loader, writer));
      }
    } catch (IOException | RuntimeException e) {
      DeleteFileWriter.delete(table, writer.written());
      throw e;
    }
    Map<String, long[]> byPath = new HashMap<>();
    dead.forEach((file, positions) -> byPath.put(file.location(), positions));
    return new Translated(head, applied.values(), removed, writer.written(), deleted, byPath);
  }

  private Snapshot checkedHead() {
    Snapshot head = table.snapshot(point.branch());
    boolean isKnown = head != null && table.snapshot(start.snapshotId()) != null;
    if (!isKnown || !SnapshotUtil.isAncestorOf(head.snapshotId(), start.snapshotId(), table::snapshot)) {
      throw new Refusal("the snapshot that the rewrite began from is no longer in the history of branch " + point.branch());
    }
    if (TableUtil.formatVersion(table) != formatVersion) {
      throw new Refusal("the table's format version has changed");
    }
    if (!hasRowIds && table.schema().schemaId() != point.schemaId()) {
      throw new Refusal("the table's schema has changed, and its rows have no ids");
    }
    return head;
  }

  private FileScanTask task(DataFile file) {
    PartitionSpec spec = table.specs().get(file.specId());
    // Iceberg reads stored row ids only of a file with a first row id. Rows without a stored one count up from this, far below all others.
    DataFile read = hasRowIds ? DataFiles.builder(spec).copy(file).withFirstRowId(NO_ROW_ID).build() : file;
    ResidualEvaluator all = ResidualEvaluator.unpartitioned(Expressions.alwaysTrue());
    return new BaseFileScanTask(read, new DeleteFile[0], SchemaParser.toJson(table.schema()), PartitionSpecParser.toJson(spec), all);
  }

  /** The groups with files that were removed since the start; without any, those with other deletes than then. */
  Set<RewriteFileGroup> changed(Collection<RewriteFileGroup> groups) {
    table.refresh();
    Map<String, FileScanTask> now = new HashMap<>();
    visit(table.snapshot(point.branch()), task -> now.put(task.file().location(), task));
    Set<RewriteFileGroup> removed = withAny(groups, task -> !isThere(task, now));
    return removed.isEmpty() ? withAny(groups, task -> !names(task).equals(names(now.get(task.file().location())))) : removed;
  }

  private static Set<RewriteFileGroup> withAny(Collection<RewriteFileGroup> groups, Predicate<FileScanTask> wanted) {
    return groups.stream().filter(group -> group.fileScanTasks().stream().anyMatch(wanted)).collect(Collectors.toCollection(HashSet::new));
  }

  private static boolean isThere(FileScanTask read, Map<String, FileScanTask> now) {
    FileScanTask found = now.get(read.file().location());
    return found != null && Objects.equals(read.file().fileSequenceNumber(), found.file().fileSequenceNumber());
  }

  /** The rewritten files at the head, by path; adds the names of delete files that apply to others. */
  private Map<String, FileScanTask> atHead(Snapshot head, List<GroupFile> rewritten, Set<String> shared) {
    Set<String> paths = rewritten.stream().map(GroupFile::path).collect(Collectors.toSet());
    Map<String, FileScanTask> now = new HashMap<>();
    visit(head, task -> {
      if (paths.contains(task.file().location())) {
        now.put(task.file().location(), task);
      } else {
        task.deletes().stream().filter(each -> !ContentFileUtil.isFileScoped(each)).map(RemovedDeleteCheck::identity).forEach(shared::add);
      }
    });
    List<GroupFile> removed = rewritten.stream().filter(file -> !isThere(file.task(), now)).toList();
    if (!removed.isEmpty()) {
      String why = "data file %s was removed".formatted(removed.get(0).file().location());
      throw new Refusal(why, removed.stream().map(GroupFile::group).collect(Collectors.toSet()));
    }
    return now;
  }

  private void visit(Snapshot head, Consumer<FileScanTask> visitor) {
    new FileScope(Expressions.alwaysTrue(), true).forEachWithBounds(table, head.snapshotId(), List.of(), visitor);
  }

  private static boolean isOfPositions(DeleteFile delete) {
    return delete.content() == FileContent.POSITION_DELETES;
  }

  private static Set<String> names(FileScanTask task) {
    return task.deletes().stream().map(RemovedDeleteCheck::identity).collect(Collectors.toSet());
  }

  /** The deletes of a file that it does not have at another time. */
  private static List<DeleteFile> without(FileScanTask task, FileScanTask other) {
    Set<String> names = names(other);
    return task.deletes().stream().filter(each -> !names.contains(RemovedDeleteCheck.identity(each))).toList();
  }

  /** The positions in delete files that a file did not have when it was read. Refuses if rows are live again: the new files lack them. */
  private long[] newlyDeleted(GroupFile file, FileScanTask now, Loader loader) {
    FileScanTask read = file.task();
    String path = read.file().location();
    List<DeleteFile> added = without(now, read);
    Schema written = table.schemas().get(point.schemaId());
    for (DeleteFile each : added) {
      if (!isOfPositions(each) && each.equalityFieldIds().stream().anyMatch(id -> written.findField(id) == null)) {
        throw new Refusal("delete file %s deletes by a column that the new files lack".formatted(each.location()), Set.of(file.group()));
      }
    }
    List<DeleteFile> removed = without(read, now);
    PositionDeleteIndex before = loader.load(removed, path);
    PositionDeleteIndex still = removed.isEmpty() ? before : loader.load(now.deletes(), path);
    if (!removed.stream().allMatch(DeleteTranslation::isOfPositions) || positions(before, each -> !still.isDeleted(each)).length > 0) {
      throw new Refusal("deletes of rows of data file %s were taken back".formatted(path), Set.of(file.group()));
    }
    return positions(loader.load(added, path), each -> !before.isDeleted(each));
  }

  private static long[] positions(PositionDeleteIndex index, LongPredicate wanted) {
    LongStream.Builder positions = LongStream.builder();
    index.forEach(positions::add);
    return positions.build().filter(wanted).sorted().toArray();
  }

  /** Reads position deletes and deletion vectors; those of many data files once. */
  private final class Loader extends BaseDeleteLoader {
    private final Map<String, Object> kept = new ConcurrentHashMap<>();

    Loader() {
      super(delete -> EncryptingFileIO.combine(table.io(), table.encryption()).newInputFile(delete));
    }

    PositionDeleteIndex load(List<DeleteFile> deletes, String path) {
      List<DeleteFile> ofPositions = deletes.stream().filter(DeleteTranslation::isOfPositions).toList();
      return ofPositions.isEmpty() ? PositionDeleteIndex.empty() : loadPositionDeletes(ofPositions, path);
    }

    @Override
    protected boolean canCache(long size) {
      return size <= KEPT_IN_MEMORY;
    }

    @Override
    @SuppressWarnings("unchecked")
    protected <V> V getOrLoad(String key, Supplier<V> load, long size) {
      return (V) kept.computeIfAbsent(key, each -> load.get());
    }
  }

  /** The positions of dead rows in the new files; looks only for those that were not found before. */
  private Map<DataFile, long[]> dead(
      List<GroupFile> rewritten, Map<String, long[]> deleted, List<GroupFile> written, Optional<Translated> before) {
    Map<String, long[]> found = before.map(Translated::dead).orElse(Map.of());
    Map<String, long[]> wanted = new HashMap<>();
    deleted.forEach((path, positions) -> {
      long[] others = notAmong(before.map(each -> each.deleted().get(path)).orElse(NONE), positions);
      if (others.length > 0) {
        wanted.put(path, others);
      }
    });
    List<GroupFile> concerned = rewritten.stream().filter(file -> wanted.containsKey(file.path())).toList();
    Set<Integer> groups = concerned.stream().map(GroupFile::group).collect(Collectors.toSet());
    List<GroupFile> candidates = written.stream().filter(file -> groups.contains(file.group())).toList();
    Map<String, long[]> more =
        concerned.isEmpty() ? Map.of() : new DeadRows(session, table, hasRowIds, columns).find(concerned, wanted, candidates, found);
    Map<DataFile, long[]> dead = new LinkedHashMap<>();
    for (GroupFile file : written) {
      String path = file.path();
      long[] positions =
          LongStream.concat(Arrays.stream(found.getOrDefault(path, NONE)), Arrays.stream(more.getOrDefault(path, NONE))).sorted().toArray();
      if (positions.length > 0) {
        dead.put(file.file(), positions);
      }
    }
    return dead;
  }

  /** The positions that are not among others; both are sorted. */
  private static long[] notAmong(long[] others, long[] positions) {
    return others.length == 0 ? positions : Arrays.stream(positions).filter(each -> Arrays.binarySearch(others, each) < 0).toArray();
  }

  /** Writes the smallest shared delete file anew for the other files, and returns the old one: Iceberg adds no delete file unless one is removed. */
  private DeleteFile withoutOurs(Snapshot head, Map<String, FileScanTask> ours, Loader loader, DeleteFileWriter writer) throws IOException {
    DeleteFile smallest =
        ours.values().stream().flatMap(task -> task.deletes().stream()).filter(DeleteTranslation::isOfPositions)
            .min(Comparator.comparingLong(DeleteFile::recordCount)).orElseThrow();
    String name = RemovedDeleteCheck.identity(smallest);
    TreeMap<String, long[]> others = new TreeMap<>(FileScope.BY_BYTES);
    visit(head, task -> {
      String path = task.file().location();
      if (!ours.containsKey(path) && task.deletes().stream().anyMatch(each -> RemovedDeleteCheck.identity(each).equals(name))) {
        others.put(path, positions(loader.load(List.of(smallest), path), each -> true));
      }
    });
    others.values().removeIf(positions -> positions.length == 0);
    if (!others.isEmpty()) {
      writer.positions(smallest, others);
    }
    return smallest;
  }
}
