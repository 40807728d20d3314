package io.icebergzorder.spark.commit;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.spark.bounds.TrustedBounds;
import io.icebergzorder.spark.commit.DeleteTranslation.Refusal;
import io.icebergzorder.spark.internals.ColumnFunction;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.StagedScan;
import java.io.Serializable;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.unsafe.types.UTF8String;

/** Finds the copies of deleted rows in the new files: by row id, else by their values. */
// Public because the code that Spark generates calls its functions.
public final class DeadRows {
  private static final double MOST_DEAD = 0.05;
  private static final double MOST_READ = 0.25;
  /** Compressed bytes of a row from which values of a column, or of several together, hardly ever repeat. */
  private static final int KEY_BYTES = 6;
  /** Less is read whatever its share. */
  private static final long FREE_BYTES = 64L << 20;

  // For the memory of the driver.
  static final int MOST_ROWS = 1_000_000;
  private static final int MOST_VALUES = 1_000_000;

  private static final Set<Type.TypeID> HASHED_TYPES = EnumSet.of(Type.TypeID.STRING, Type.TypeID.BINARY, Type.TypeID.FIXED);
  private static final int SHA_BITS = 256;
  private static final long[] NONE = {};

  private final RewriteSession session;
  private final Table table;
  private final boolean hasRowIds;
  private final List<Types.NestedField> bounded;

  /** Finds rows of a table; new files are skipped by their bounds of the clustering columns. */
  DeadRows(RewriteSession session, Table table, boolean hasRowIds, List<ClusteringColumn> columns) {
    this.session = session;
    this.table = table;
    this.hasRowIds = hasRowIds;
    this.bounded =
        columns.stream()
            .filter(column -> column.parts().size() == 1)
            .flatMap(column -> Stream.ofNullable(table.schema().asStruct().field(column.parts().get(0))))
            .filter(TrustedBounds::serves)
            .toList();
    // Otherwise Spark reads for a limit in growing batches of tasks, one after the other.
    session.spark().conf().set("spark.sql.limit.initialNumPartitions", String.valueOf(Integer.MAX_VALUE));
  }

  /** A data file of a file group, as it is read. */
  record GroupFile(int group, FileScanTask task) {
    DataFile file() {
      return task.file();
    }

    String path() {
      return task.file().location();
    }
  }

  private record ReadRow(GroupFile file, long position, Object[] values) {}

  /** What rows of a file group are compared by. */
  private record Key(int group, List<Object> values) {}

  /** The columns of a row that are read. */
  private interface Columns extends Function<Dataset<Row>, List<Column>> {}

  /**
   * Finds the copies of dead rows in the new files.
   *
   * @param old the old files with dead rows
   * @param positions their positions by path, sorted; rows that were dead at the start may be among them
   * @param written the new files of the same file groups
   * @param before the positions of other dead rows, which were found before, by path of the new file, sorted
   * @return the positions of the copies by path of the new file, sorted
   */
  Map<String, long[]> find(List<GroupFile> old, Map<String, long[]> positions, List<GroupFile> written, Map<String, long[]> before) {
    Columns key = hasRowIds ? DeadRows::rowId : hash(written, KEY_BYTES * rows(written));
    // Rows are spread: if they are more than the files, most files hold one.
    boolean canSkipFiles = positions.values().stream().mapToLong(each -> each.length).sum() < written.size();
    Columns keyAndBounded = rows -> Stream.concat(key.apply(rows).stream(), bounded.stream().map(field -> column(rows, field.name()))).toList();
    // Old files are read with the deletes of the start, so rows that were dead at the start are not read.
    Columns compared = canSkipFiles ? keyAndBounded : key;
    List<ReadRow> dead = read(old, positions, null, compared, MOST_ROWS);
    Map<Key, List<ReadRow>> died = byKey(dead);
    checkShares(died, written, before);
    if (died.isEmpty()) {
      return Map.of();
    }
    long[] keys = died.keySet().stream().mapToLong(DeadRows::rowIdOrHash).sorted().distinct().toArray();
    List<ReadRow> candidates =
        read(canSkipFiles ? mayHold(written, dead) : written, null, keys, compared, MOST_ROWS).stream()
            .filter(row -> Arrays.binarySearch(before.getOrDefault(row.file.path(), NONE), row.position) < 0)
            .toList();
    Matched matched = matched(died, byKey(candidates));
    List<ReadRow> found = new ArrayList<>(matched.certain);
    if (!matched.old.isEmpty()) {
      if (hasRowIds) {
        throw new Refusal("deleted rows do not have row ids of their own in the new files");
      }
      Columns more = hash(written, Long.MAX_VALUE);
      matched = matched(byKey(read(matched.old, more, MOST_ROWS)), byKey(read(matched.copies, more, MOST_ROWS)));
      found.addAll(matched.certain);
    }
    if (!matched.old.isEmpty()) {
      found.addAll(equal(matched.old, matched.copies, written));
    }
    Map<String, long[]> byFile = new LinkedHashMap<>();
    positions(found).forEach((file, of) -> byFile.put(file.path(), of));
    return byFile;
  }

  /** Rows of new files that are certain to be dead, and in doubt: old rows that died, with rows that may be their copies. */
  private record Matched(List<ReadRow> certain, List<ReadRow> old, List<ReadRow> copies) {}

  private static Matched matched(Map<Key, List<ReadRow>> died, Map<Key, List<ReadRow>> candidates) {
    Matched matched = new Matched(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    died.forEach((key, rows) -> {
      List<ReadRow> alike = candidates.getOrDefault(key, List.of());
      // Each of these rows has one copy among the candidates, which lack the copies of rows that died before. If as many match a key as died
      // with it, all of them are dead.
      boolean areAll = alike.size() == rows.size();
      (areAll ? matched.certain : matched.copies).addAll(alike);
      matched.old.addAll(areAll ? List.of() : rows);
    });
    return matched;
  }

  /** The new files that may hold one of the rows, by their bounds. */
  private List<GroupFile> mayHold(List<GroupFile> written, List<ReadRow> rows) {
    Map<Integer, List<Comparable<Object>[]>> values =
        rows.stream().collect(Collectors.groupingBy(row -> row.file.group, Collectors.mapping(this::boundedValues, Collectors.toList())));
    return written.stream()
        .filter(file -> {
          TrustedBounds[] bounds = bounded.stream().map(field -> TrustedBounds.from(file.file(), field)).toArray(TrustedBounds[]::new);
          return values.getOrDefault(file.group, List.of()).stream()
              .anyMatch(row -> IntStream.range(0, bounds.length).allMatch(i -> bounds[i] == null || row[i] == null || bounds[i].contain(row[i])));
        })
        .toList();
  }

  /** The values of a row in the form of bounds; null for NULL. */
  @SuppressWarnings("unchecked")
  private Comparable<Object>[] boundedValues(ReadRow row) {
    return IntStream.range(0, bounded.size()).mapToObj(i -> boundedValue(bounded.get(i).type(), row.values[1 + i])).toArray(Comparable[]::new);
  }

  private static Object boundedValue(Type type, Object value) {
    if (value instanceof byte[] text) {
      return UTF8String.fromBytes(text);
    }
    return value instanceof BigDecimal decimal ? decimal.setScale(((Types.DecimalType) type).scale()).unscaledValue() : asLong(value);
  }

  private static Object asLong(Object value) {
    return value instanceof Number number ? (Long) number.longValue() : value;
  }

  private static long rowIdOrHash(Key key) {
    if (key.values.get(0) == null) {
      throw new Refusal("deleted rows have no row ids");
    }
    return (Long) key.values.get(0);
  }

  private static void checkShares(Map<Key, List<ReadRow>> died, List<GroupFile> written, Map<String, long[]> before) {
    Map<Integer, Long> rows =
        written.stream().collect(Collectors.groupingBy(GroupFile::group, Collectors.summingLong(each -> each.file().recordCount())));
    Map<Integer, Integer> dead = new HashMap<>();
    died.forEach((key, found) -> dead.merge(key.group, found.size(), Integer::sum));
    written.forEach(each -> dead.merge(each.group, before.getOrDefault(each.path(), NONE).length, Integer::sum));
    Set<Integer> tooMany = new HashSet<>(dead.keySet());
    tooMany.removeIf(group -> dead.get(group) <= MOST_DEAD * rows.getOrDefault(group, 0L));
    if (!tooMany.isEmpty()) {
      int group = tooMany.iterator().next();
      long all = rows.getOrDefault(group, 0L);
      throw new Refusal(String.format(Locale.ROOT, "%,d of %,d rows of a file group were deleted, more than 5%%", dead.get(group), all), tooMany);
    }
  }

  private static List<Column> rowId(Dataset<Row> rows) {
    return List.of(rows.col(MetadataColumns.ROW_ID.name()));
  }

  /** A hash of the narrowest columns that have so many bytes together, or as many as may be read. */
  private Columns hash(List<GroupFile> written, long wideEnough) {
    List<Types.NestedField> columns = table.schema().columns();
    Map<String, Long> sizes = new HashMap<>();
    for (Types.NestedField field : columns) {
      if (field.type().isPrimitiveType()) {
        sizes.put(field.name(), bytes(written, file -> size(file, field.fieldId(), columns.size())));
      }
    }
    long taken = 0;
    List<String> names = new ArrayList<>();
    Comparator<String> bySize = Comparator.comparing(sizes::get);
    for (String name : sizes.keySet().stream().sorted(bySize.thenComparing(Comparator.naturalOrder())).toList()) {
      // Narrow ones are left in even if the next is wide enough: of that, most rows may have the same value.
      if (taken < wideEnough && taken + sizes.get(name) <= bytesToRead(written)) {
        taken += sizes.get(name);
        names.add(name);
      }
    }
    if (names.isEmpty()) {
      throw new Refusal("each column has more than 25% of the bytes of the new files, too many to look rows up by it");
    }
    return rows -> List.of(functions.xxhash64(names.stream().map(name -> column(rows, name)).toArray(Column[]::new)));
  }

  private static Column column(Dataset<Row> rows, String name) {
    return rows.col(SparkInternals.quoted(name));
  }

  /** The bytes of a column in a file; if they are not known, an equal share. */
  private static long size(DataFile file, int column, int columns) {
    Map<Integer, Long> sizes = file.columnSizes();
    return sizes == null || !sizes.containsKey(column) ? file.fileSizeInBytes() / columns : sizes.get(column);
  }

  private static long bytes(Collection<GroupFile> files, ToLongFunction<DataFile> size) {
    return files.stream().mapToLong(each -> size.applyAsLong(each.file())).sum();
  }

  private static long rows(List<GroupFile> written) {
    return written.stream().mapToLong(each -> each.file().recordCount()).sum();
  }

  private static long bytesToRead(List<GroupFile> written) {
    return Math.max(FREE_BYTES, (long) (bytes(written, DataFile::fileSizeInBytes) * MOST_READ));
  }

  /** The new rows that are equal to old ones in every column. Readers cannot tell equal rows apart: any of them will do. */
  private List<ReadRow> equal(List<ReadRow> died, List<ReadRow> candidates, List<GroupFile> written) {
    for (Types.NestedField field : table.schema().columns()) {
      if (!field.type().isPrimitiveType()) {
        throw new Refusal("rows would have to be compared by column %s, whose type is %s".formatted(field.name(), field.type()));
      }
    }
    if (bytes(positions(candidates).keySet(), DataFile::fileSizeInBytes) > bytesToRead(written)) {
      throw new Refusal("more than 25% of the bytes of the new files would be read to tell rows apart");
    }
    int most = MOST_VALUES / table.schema().columns().size();
    Map<Key, List<ReadRow>> alike = byKey(read(candidates, this::exactColumns, most));
    List<ReadRow> found = new ArrayList<>();
    byKey(read(died, this::exactColumns, most)).forEach((key, rows) -> {
      List<ReadRow> equal = alike.getOrDefault(key, List.of());
      if (equal.size() < rows.size()) {
        throw new Refusal("%d equal rows were deleted, but the new files have %d of them".formatted(rows.size(), equal.size()));
      }
      found.addAll(equal.subList(0, rows.size()));
    });
    return found;
  }

  /** Reads other columns of rows. */
  private List<ReadRow> read(List<ReadRow> rows, Columns columns, int most) {
    Map<GroupFile, long[]> positions = positions(rows);
    Map<String, long[]> byPath = new HashMap<>();
    positions.forEach((file, of) -> byPath.put(file.path(), of));
    return read(List.copyOf(positions.keySet()), byPath, null, columns, most);
  }

  private static Map<GroupFile, long[]> positions(List<ReadRow> rows) {
    Map<GroupFile, long[]> positions = new LinkedHashMap<>();
    rows.stream()
        .collect(Collectors.groupingBy(ReadRow::file, LinkedHashMap::new, Collectors.toList()))
        .forEach((file, found) -> positions.put(file, found.stream().mapToLong(ReadRow::position).sorted().toArray()));
    return positions;
  }

  /** Strings and binaries are hashed as bytes, to save the driver's memory, and because texts that are no UTF-8 may look equal. */
  private List<Column> exactColumns(Dataset<Row> rows) {
    return table.schema().columns().stream()
        .map(field -> {
          Column column = column(rows, field.name());
          return HASHED_TYPES.contains(field.type().typeId()) ? functions.sha2(column.cast(DataTypes.BinaryType), SHA_BITS) : column;
        })
        .toList();
  }

  /** Rows that have the same values, bit by bit. */
  private static Map<Key, List<ReadRow>> byKey(List<ReadRow> rows) {
    return rows.stream()
        .collect(Collectors.groupingBy(
            row -> new Key(row.file.group, Arrays.asList(Arrays.stream(row.values).map(DeadRows::exact).toArray())),
            LinkedHashMap::new,
            Collectors.toList()));
  }

  private static Object exact(Object value) {
    if (value instanceof Double number) {
      return Double.doubleToRawLongBits(number);
    }
    if (value instanceof Float number) {
      return Float.floatToRawIntBits(number);
    }
    if (value instanceof byte[] bytes) {
      return ByteBuffer.wrap(bytes);
    }
    return value;
  }

  /** Reads the rows at sorted positions, or those whose first column is among sorted keys. */
  private List<ReadRow> read(List<GroupFile> files, Map<String, long[]> positions, long[] keys, Columns columns, int most) {
    if (files.isEmpty()) {
      return List.of();
    }
    try (StagedScan scan = new StagedScan(session.spark(), table, files.stream().map(GroupFile::task).toList());
        FunctionScope scope = new FunctionScope(session)) {
      Dataset<Row> rows = SparkInternals.withFileAndPosition(scan.rows());
      List<Column> read = exactly(rows, columns.apply(rows), scope);
      Column position = functions.col("_pos");
      Column key = keys == null ? functions.lit(0L) : read.get(0);
      Column place = scope.call(new Place(scope.share(new Wanted(files, positions, keys))), functions.col("_file"), position, key);
      Dataset<Row> found =
          rows.where(place.geq(0)).select(Stream.concat(Stream.of(place, position), read.stream()).toArray(Column[]::new)).limit(most + 1);
      scan.checkReadsOnlyStaged(found);
      String description = "Finding deleted rows in %d files of %s".formatted(files.size(), table.name());
      List<Row> collected = session.describing(description, found::collectAsList);
      if (collected.size() > most) {
        throw new Refusal(String.format(Locale.ROOT, "more than %,d rows may be those that were deleted", most));
      }
      return collected.stream()
          .map(row -> new ReadRow(files.get(row.getInt(0)), row.getLong(1), IntStream.range(2, row.size()).mapToObj(row::get).toArray()))
          .toList();
    }
  }

  /** Values as Spark has them inside. As objects of a row, some days of 1582 are others, and texts that are no UTF-8 may be equal. */
  private static List<Column> exactly(Dataset<Row> rows, List<Column> columns, FunctionScope scope) {
    StructField[] fields = rows.select(columns.toArray(Column[]::new)).schema().fields();
    return IntStream.range(0, fields.length)
        .mapToObj(i -> {
          DataType type = fields[i].dataType();
          boolean isTime =
              type.equals(DataTypes.DateType) || type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType);
          Column column = columns.get(i);
          return isTime ? scope.call(new TimeNumber(type), column) : type instanceof StringType ? column.cast(DataTypes.BinaryType) : column;
        })
        .toList();
  }

  /** The number of days or microseconds that a date or a timestamp is. */
  public static final class TimeNumber extends ColumnFunction<Long> {
    TimeNumber(DataType type) {
      super(DataTypes.LongType, type);
    }

    public long invoke(int days) {
      return days;
    }

    public long invoke(long micros) {
      return micros;
    }
  }

  /** Which rows are wanted of which files. */
  private static final class Wanted implements Serializable {
    private static final long serialVersionUID = 1L;
    private final HashMap<UTF8String, Integer> places = new HashMap<>();
    private final long[][] positions;
    private final long[] keys;

    Wanted(List<GroupFile> files, Map<String, long[]> positions, long[] keys) {
      files.forEach(file -> places.put(UTF8String.fromString(file.path()), places.size()));
      this.positions = keys != null ? null : files.stream().map(file -> positions.get(file.path())).toArray(long[][]::new);
      this.keys = keys;
    }

    int place(UTF8String file, long position, long key) {
      if (keys != null) {
        return Arrays.binarySearch(keys, key) >= 0 ? places.get(file) : -1;
      }
      int place = places.get(file);
      return Arrays.binarySearch(positions[place], position) >= 0 ? place : -1;
    }
  }

  /** The place of a row's data file, or -1 if the row is not wanted; NULL for a key that is NULL. */
  public static final class Place extends ColumnFunction<Integer> {
    private final Shared<Wanted> wanted;

    Place(Shared<Wanted> wanted) {
      super(DataTypes.IntegerType, DataTypes.StringType, DataTypes.LongType, DataTypes.LongType);
      this.wanted = wanted;
    }

    public int invoke(UTF8String file, long position, long key) {
      return wanted.value().place(file, position, key);
    }
  }
}
