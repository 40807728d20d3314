package io.icebergzorder.spark.commit;

import io.icebergzorder.spark.commit.RowLookup.Found;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.plan.StartingPoint;
import io.icebergzorder.spark.spec.FileScope;
import java.io.IOException;
import java.nio.ByteBuffer;
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
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
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
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.ContentFileUtil;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.iceberg.util.Tasks;
import org.apache.iceberg.util.ThreadPools;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * Finds the rows of rewritten files that others have deleted since the rewrite began, and deletes them from the new files.
 *
 * <p>A row died if it was live at the start and its position is deleted at the head, whatever happened in between. Its place in the new
 * files is found by its row id, in format version 2 by its values. Equality deletes need nothing: the new files have the sequence number of
 * the start.
 */
final class DeleteTranslation {
  private static final int WITH_ROW_IDS = 3;
  private static final double MOST_DEAD = 0.05;
  private static final double MOST_READ = 0.25;
  /** Less than this is read whatever its share. */
  private static final long FREE_BYTES = 64L << 20;

  private static final int MOST_ROWS = 1_000_000;
  private static final int MOST_WHOLE_ROWS = 100_000;
  private static final long KEPT_IN_MEMORY = 64L << 20;
  /** No row of a table has this id or one of the next. */
  private static final long NO_ROW_ID = Long.MIN_VALUE;

  private final RewriteSession session;
  private final Table table;
  private final String branch;
  private final Snapshot start;
  private final int formatVersion;
  private final int schemaId;

  DeleteTranslation(RewriteSession session, Table table, Snapshot start, StartingPoint point) {
    this.session = session;
    this.table = table;
    this.branch = point.branch();
    this.start = start;
    this.formatVersion = TableUtil.formatVersion(table);
    this.schemaId = point.schemaId();
  }

  /** Why deletes cannot be translated. */
  static final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Refusal(String why) {
      super(why);
    }
  }

  /**
   * What a commit on top of a snapshot has to do besides the replacement of the data files.
   *
   * @param head the snapshot
   * @param applied the delete files that apply to the rewritten files at the head
   * @param removed those of them that apply to no other file
   * @param added new delete files
   * @param rows how many rows of the new files they delete
   * @param files how many of the new files have such rows
   */
  record Translated(Snapshot head, List<DeleteFile> applied, List<DeleteFile> removed, List<DeleteFile> added, long rows, int files) {}

  /** A rewritten file as it was read, and as it is at the head. */
  private record OldFile(int group, FileScanTask atStart, FileScanTask atHead) {
    List<DeleteFile> added() {
      return without(atHead.deletes(), atStart.deletes());
    }

    List<DeleteFile> gone() {
      return without(atStart.deletes(), atHead.deletes());
    }

    private static List<DeleteFile> without(List<DeleteFile> deletes, List<DeleteFile> others) {
      Set<String> names = others.stream().map(RemovedDeleteCheck::identity).collect(Collectors.toSet());
      return deletes.stream().filter(each -> !names.contains(RemovedDeleteCheck.identity(each))).toList();
    }
  }

  /** A new file that is not committed, as a task that reads it. */
  private record NewFile(int group, DataFile file, FileScanTask task) {}

  /** What a row of a group is looked up by. */
  private record Key(int group, Object value) {}

  /** Translates the deletes of the branch's current snapshot; its delete files are written, but not committed. */
  Translated translate(Collection<RewriteFileGroup> groups) throws IOException {
    table.refresh();
    Snapshot head = checkedHead();
    List<RewriteFileGroup> ordered = List.copyOf(groups);
    Set<String> shared = new HashSet<>();
    List<OldFile> old = oldFiles(head, ordered, shared);
    Loader loader = new Loader();
    Map<String, long[]> deleted = new ConcurrentHashMap<>();
    Tasks.foreach(old).executeWith(ThreadPools.getWorkerPool()).stopOnFailure().throwFailureWhenFinished().run(file -> {
      checkStaysDeleted(file, loader);
      long[] positions = positions(loader.load(file.added(), file.atStart.file().location()));
      if (positions.length > 0) {
        deleted.put(file.atStart.file().location(), positions);
      }
    });
    Map<DataFile, long[]> dead = deleted.isEmpty() ? Map.of() : dead(ordered, old, deleted);
    List<DeleteFile> applied = unique(old.stream().flatMap(file -> file.atHead.deletes().stream()));
    List<DeleteFile> removed =
        applied.stream().filter(each -> isOfPositions(each) && !shared.contains(RemovedDeleteCheck.identity(each))).collect(Collectors.toList());
    DeleteFileWriter writer = new DeleteFileWriter(table);
    try {
      if (!dead.isEmpty()) {
        write(dead, writer);
        if (removed.isEmpty()) {
          removed.add(withoutOurs(head, applied, old, loader, writer));
        }
      }
    } catch (IOException | RuntimeException e) {
      DeleteFileWriter.delete(table, writer.written());
      throw e;
    }
    long rows = dead.values().stream().mapToLong(positions -> positions.length).sum();
    return new Translated(head, applied, removed, writer.written(), rows, dead.size());
  }

  private Snapshot checkedHead() {
    Snapshot head = table.snapshot(branch);
    boolean isKnown = head != null && table.snapshot(start.snapshotId()) != null;
    if (!isKnown || !SnapshotUtil.isAncestorOf(head.snapshotId(), start.snapshotId(), table::snapshot)) {
      throw new Refusal("the snapshot that the rewrite began from is no longer in the history of branch " + branch);
    }
    if (TableUtil.formatVersion(table) != formatVersion) {
      throw new Refusal("the table's format version has changed");
    }
    if (formatVersion < WITH_ROW_IDS && table.schema().schemaId() != schemaId) {
      throw new Refusal("the table's schema has changed, and its rows have no ids");
    }
    return head;
  }

  /** The rewritten files, and by name the delete files at the head that apply to others. */
  private List<OldFile> oldFiles(Snapshot head, List<RewriteFileGroup> groups, Set<String> shared) {
    Map<String, OldFile> old = new LinkedHashMap<>();
    for (int group = 0; group < groups.size(); group++) {
      for (FileScanTask task : groups.get(group).fileScanTasks()) {
        old.put(task.file().location(), new OldFile(group, task, null));
      }
    }
    visit(head, task -> {
      if (old.computeIfPresent(task.file().location(), (path, file) -> new OldFile(file.group, file.atStart, task)) == null) {
        task.deletes().stream().filter(delete -> !ContentFileUtil.isFileScoped(delete)).forEach(delete -> shared.add(RemovedDeleteCheck.identity(delete)));
      }
    });
    for (OldFile file : old.values()) {
      DataFile read = file.atStart.file();
      if (file.atHead == null || !Objects.equals(read.fileSequenceNumber(), file.atHead.file().fileSequenceNumber())) {
        throw new Refusal("data file %s was removed".formatted(read.location()));
      }
    }
    return List.copyOf(old.values());
  }

  private void visit(Snapshot head, Consumer<FileScanTask> visitor) {
    new FileScope(Expressions.alwaysTrue(), true).forEachWithBounds(table, head.snapshotId(), List.of(), visitor);
  }

  /** Refuses the removal of deletes that no others stand for: the new files lack their rows. */
  private static void checkStaysDeleted(OldFile file, Loader loader) {
    List<DeleteFile> gone = file.gone();
    if (gone.isEmpty()) {
      return;
    }
    String path = file.atStart.file().location();
    PositionDeleteIndex now = loader.load(file.atHead.deletes(), path);
    boolean revives = gone.stream().anyMatch(delete -> !isOfPositions(delete));
    if (revives || !Arrays.stream(positions(loader.load(gone, path))).allMatch(now::isDeleted)) {
      throw new Refusal("deletes of rows of data file %s were taken back".formatted(path));
    }
  }

  private static boolean isOfPositions(DeleteFile delete) {
    return delete.content() == FileContent.POSITION_DELETES;
  }

  private static List<DeleteFile> unique(Stream<DeleteFile> deletes) {
    return List.copyOf(deletes.collect(Collectors.toMap(RemovedDeleteCheck::identity, each -> each, (one, same) -> one, LinkedHashMap::new)).values());
  }

  private static long[] positions(PositionDeleteIndex index) {
    LongStream.Builder positions = LongStream.builder();
    index.forEach(positions::add);
    return positions.build().sorted().toArray();
  }

  /** Reads position deletes and deletion vectors; a delete file of many data files is read once. */
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

  /** The positions in new files of rows that were live at the start and whose positions in the old files are deleted now. */
  private Map<DataFile, long[]> dead(List<RewriteFileGroup> groups, List<OldFile> all, Map<String, long[]> deleted) {
    if (deleted.values().stream().mapToLong(positions -> positions.length).sum() > MOST_ROWS) {
      throw new Refusal(String.format(Locale.ROOT, "more than %,d rows were deleted", MOST_ROWS));
    }
    List<OldFile> old = all.stream().filter(file -> deleted.containsKey(file.atStart.file().location())).toList();
    Set<Integer> concerned = old.stream().map(OldFile::group).collect(Collectors.toSet());
    List<NewFile> made = newFiles(groups, concerned);
    Function<Dataset<Row>, List<Column>> key = key(made);
    // The scan of the start leaves out the rows that were dead by then.
    List<Found> died = lookup().at(tasks(old, OldFile::atStart), deleted, key, MOST_ROWS);
    Map<Key, List<Found>> byKey = byKey(died, found -> old.get(found.file()).group);
    checkShare(byKey, made);
    long[] keys = died.stream().mapToLong(DeleteTranslation::key).sorted().distinct().toArray();
    Map<Key, List<Found>> candidates =
        byKey(keys.length == 0 ? List.of() : lookup().having(keys, tasks(made, NewFile::task), key, MOST_ROWS), found -> made.get(found.file()).group);
    List<Found> hits = new ArrayList<>();
    List<Found> doubtfulOld = new ArrayList<>();
    List<Found> doubtfulNew = new ArrayList<>();
    byKey.forEach((each, dying) -> {
      List<Found> there = candidates.getOrDefault(each, List.of());
      checkCount(dying.size(), there.size());
      // If as many rows died with a number as the new files have, these are the rows, whatever else the number stands for.
      if (dying.size() == there.size()) {
        hits.addAll(there);
      } else {
        doubtfulOld.addAll(dying);
        doubtfulNew.addAll(there);
      }
    });
    if (!doubtfulOld.isEmpty()) {
      hits.addAll(equal(old, doubtfulOld, made, doubtfulNew));
    }
    checkCount(died.size(), hits.size());
    Map<DataFile, long[]> dead = new LinkedHashMap<>();
    hits.stream()
        .collect(Collectors.groupingBy(Found::file, TreeMap::new, Collectors.toList()))
        .forEach((file, found) -> dead.put(made.get(file).file, found.stream().mapToLong(Found::position).sorted().toArray()));
    return dead;
  }

  private RowLookup lookup() {
    return new RowLookup(session, table);
  }

  private static <T> List<FileScanTask> tasks(List<T> files, Function<T, FileScanTask> task) {
    return files.stream().map(task).toList();
  }

  private static long key(Found found) {
    if (found.values()[0] == null) {
      throw new Refusal("deleted rows have no row ids");
    }
    return (Long) found.values()[0];
  }

  private static Map<Key, List<Found>> byKey(List<Found> rows, Function<Found, Integer> group) {
    return rows.stream().collect(Collectors.groupingBy(found -> new Key(group.apply(found), key(found))));
  }

  private static void checkCount(int died, int found) {
    if (found < died) {
      throw new Refusal("%d deleted rows were found in the old files, but %d of them in the new files".formatted(died, found));
    }
  }

  private static void checkShare(Map<Key, List<Found>> died, List<NewFile> made) {
    Map<Integer, Long> rows = made.stream().collect(Collectors.groupingBy(NewFile::group, Collectors.summingLong(each -> each.file.recordCount())));
    Map<Integer, Integer> dead =
        died.entrySet().stream().collect(Collectors.groupingBy(each -> each.getKey().group, Collectors.summingInt(each -> each.getValue().size())));
    dead.forEach((group, count) -> {
      if (count > MOST_DEAD * rows.getOrDefault(group, 0L)) {
        throw new Refusal(
            String.format(Locale.ROOT, "%,d of %,d rows of a file group were deleted, more than 5%%", count, rows.getOrDefault(group, 0L)));
      }
    });
  }

  private List<NewFile> newFiles(List<RewriteFileGroup> groups, Set<Integer> concerned) {
    List<NewFile> files = new ArrayList<>();
    String schema = SchemaParser.toJson(table.schema());
    for (int group : concerned) {
      groups.get(group).addedFiles().stream()
          .sorted(Comparator.comparing(DataFile::location))
          .forEach(file -> files.add(new NewFile(group, file, task(file, schema))));
    }
    return files;
  }

  private FileScanTask task(DataFile file, String schema) {
    PartitionSpec spec = table.specs().get(file.specId());
    // Without a first row id Iceberg reads none at all; with this one, a row that lost its id has one that no row of a table has.
    DataFile read = formatVersion < WITH_ROW_IDS ? file : DataFiles.builder(spec).copy(file).withFirstRowId(NO_ROW_ID).build();
    ResidualEvaluator all = ResidualEvaluator.unpartitioned(Expressions.alwaysTrue());
    return new BaseFileScanTask(read, new DeleteFile[0], schema, PartitionSpecParser.toJson(spec), all);
  }

  /** What a row is looked up by: its id, or a hash of the largest columns that may be read, since these tell most rows apart. */
  private Function<Dataset<Row>, List<Column>> key(List<NewFile> made) {
    if (formatVersion >= WITH_ROW_IDS) {
      String rowId = MetadataColumns.ROW_ID.name();
      return rows -> {
        if (!List.of(rows.columns()).contains(rowId)) {
          throw new Refusal("this Spark does not read row ids");
        }
        return List.of(rows.col(rowId));
      };
    }
    List<String> names = lookupColumns(made);
    return rows -> List.of(functions.xxhash64(names.stream().map(name -> rows.col(SparkInternals.quoted(name))).toArray(Column[]::new)));
  }

  private List<String> lookupColumns(List<NewFile> made) {
    Map<Integer, Long> left = bytes(made, DataFile::fileSizeInBytes);
    left.replaceAll((group, bytes) -> mayRead(bytes));
    int count = table.schema().columns().size();
    Map<String, Map<Integer, Long>> sizes = new HashMap<>();
    for (Types.NestedField field : table.schema().columns()) {
      if (field.type().isPrimitiveType()) {
        sizes.put(field.name(), bytes(made, file -> size(file, field.fieldId(), count)));
      }
    }
    List<String> names = new ArrayList<>();
    Comparator<String> bySize = Comparator.comparingLong(name -> sizes.get(name).values().stream().mapToLong(Long::longValue).sum());
    sizes.keySet().stream().sorted(bySize.reversed().thenComparing(Comparator.naturalOrder())).forEach(name -> {
      if (left.entrySet().stream().allMatch(each -> sizes.get(name).get(each.getKey()) <= each.getValue())) {
        left.replaceAll((group, bytes) -> bytes - sizes.get(name).get(group));
        names.add(name);
      }
    });
    if (names.isEmpty()) {
      throw new Refusal("each column has more than 25% of the bytes of a file group, which would be read to find the deleted rows");
    }
    return names;
  }

  private static Map<Integer, Long> bytes(Collection<NewFile> files, ToLongFunction<DataFile> size) {
    return files.stream().collect(Collectors.groupingBy(NewFile::group, HashMap::new, Collectors.summingLong(each -> size.applyAsLong(each.file))));
  }

  private static long mayRead(long bytes) {
    return Math.max(FREE_BYTES, (long) (bytes * MOST_READ));
  }

  /** The bytes of a column in a file; if they are not known, an equal share. */
  private static long size(DataFile file, int column, int columns) {
    Map<Integer, Long> sizes = file.columnSizes();
    return sizes == null || !sizes.containsKey(column) ? file.fileSizeInBytes() / columns : sizes.get(column);
  }

  /** New rows that are equal to old ones in every column. Readers cannot tell equal rows apart: any of them will do. */
  private List<Found> equal(List<OldFile> old, List<Found> died, List<NewFile> made, List<Found> candidates) {
    if (formatVersion >= WITH_ROW_IDS) {
      throw new Refusal("several rows have the same row id");
    }
    for (Types.NestedField field : table.schema().columns()) {
      if (!field.type().isPrimitiveType()) {
        throw new Refusal("rows must be compared by column %s, whose type is %s".formatted(field.name(), field.type()));
      }
    }
    Map<Integer, Long> all = bytes(made, DataFile::fileSizeInBytes);
    bytes(candidates.stream().map(found -> made.get(found.file())).collect(Collectors.toSet()), DataFile::fileSizeInBytes)
        .forEach((group, read) -> {
          if (read > mayRead(all.get(group))) {
            throw new Refusal("more than 25% of the bytes of a file group would be read to tell rows apart");
          }
        });
    Map<Key, List<Found>> wanted = whole(tasks(old, OldFile::atStart), died, file -> old.get(file).group);
    Map<Key, List<Found>> there = whole(tasks(made, NewFile::task), candidates, file -> made.get(file).group);
    List<Found> hits = new ArrayList<>();
    wanted.forEach((key, rows) -> {
      List<Found> equal = there.getOrDefault(key, List.of());
      checkCount(rows.size(), equal.size());
      hits.addAll(equal.subList(0, rows.size()));
    });
    return hits;
  }

  /** Reads whole rows; they keep their files' places. */
  private Map<Key, List<Found>> whole(List<FileScanTask> tasks, List<Found> rows, Function<Integer, Integer> group) {
    List<Integer> places = rows.stream().map(Found::file).distinct().sorted().toList();
    Map<String, long[]> positions =
        rows.stream()
            .collect(Collectors.groupingBy(Found::file))
            .entrySet().stream()
            .collect(Collectors.toMap(
                each -> tasks.get(each.getKey()).file().location(),
                each -> each.getValue().stream().mapToLong(Found::position).sorted().toArray()));
    return lookup().at(places.stream().map(tasks::get).toList(), positions, this::columns, MOST_WHOLE_ROWS).stream()
        .map(row -> new Found(places.get(row.file()), row.position(), row.values()))
        .collect(Collectors.groupingBy(row -> new Key(group.apply(row.file()), exact(row.values()))));
  }

  private List<Column> columns(Dataset<Row> rows) {
    return table.schema().columns().stream().map(field -> {
      Column column = rows.col(SparkInternals.quoted(field.name()));
      // Texts that are no UTF-8 differ in their bytes only.
      return field.type().equals(Types.StringType.get()) ? column.cast(DataTypes.BinaryType) : column;
    }).toList();
  }

  /** Values that are equal only if they are the same, bit by bit. */
  private static List<Object> exact(Object[] values) {
    return Arrays.stream(values).map(value -> {
      if (value instanceof Double number) {
        return (Object) Double.doubleToRawLongBits(number);
      }
      if (value instanceof Float number) {
        return Float.floatToRawIntBits(number);
      }
      return value instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : value;
    }).collect(Collectors.toCollection(ArrayList::new));
  }

  private void write(Map<DataFile, long[]> dead, DeleteFileWriter writer) throws IOException {
    if (formatVersion >= WITH_ROW_IDS) {
      writer.vectors(dead);
    } else {
      writer.positions(dead);
    }
  }

  /** Writes a delete file of ours and others anew for the others, because Iceberg adds no delete file unless one is removed. */
  private DeleteFile withoutOurs(Snapshot head, List<DeleteFile> applied, List<OldFile> old, Loader loader, DeleteFileWriter writer)
      throws IOException {
    DeleteFile smallest = applied.stream().filter(DeleteTranslation::isOfPositions).min(Comparator.comparingLong(DeleteFile::recordCount)).orElseThrow();
    String name = RemovedDeleteCheck.identity(smallest);
    Set<String> ours = old.stream().map(file -> file.atStart.file().location()).collect(Collectors.toSet());
    TreeMap<String, long[]> others = new TreeMap<>(FileScope.BY_BYTES);
    visit(head, task -> {
      String path = task.file().location();
      if (!ours.contains(path) && task.deletes().stream().anyMatch(each -> RemovedDeleteCheck.identity(each).equals(name))) {
        long[] positions = positions(loader.load(List.of(smallest), path));
        if (positions.length > 0) {
          others.put(path, positions);
        }
      }
    });
    if (!others.isEmpty()) {
      writer.positions(smallest, others);
    }
    return smallest;
  }
}
