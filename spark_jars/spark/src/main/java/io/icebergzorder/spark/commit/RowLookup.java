package io.icebergzorder.spark.commit;

import io.icebergzorder.spark.internals.ColumnFunction;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.StagedScan;
import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** Finds rows of data files, by their positions or by a number that they have, and brings them to the driver. */
// Its functions are public because the code that Spark generates calls them.
public final class RowLookup {
  private final RewriteSession session;
  private final Table table;

  RowLookup(RewriteSession session, Table table) {
    this.session = session;
    this.table = table;
    session.spark().conf().set("spark.sql.datetime.java8API.enabled", "true");
    // The limit keeps the driver from running out of memory; it must not keep tasks from running at the same time.
    session.spark().conf().set("spark.sql.limit.initialNumPartitions", String.valueOf(Integer.MAX_VALUE));
  }

  /**
   * A row that was found.
   *
   * @param file the place of its data file among those that were read
   * @param values the values of the columns that were asked for
   */
  record Found(int file, long position, Object[] values) {}

  /** Columns of the rows at these positions, which are sorted, by data file; at most so many rows. */
  List<Found> at(List<FileScanTask> files, Map<String, long[]> positions, Function<Dataset<Row>, List<Column>> columns, int most) {
    long[][] wanted = files.stream().map(task -> positions.get(task.file().location())).toArray(long[][]::new);
    return find(files, wanted, columns, (scope, first) -> functions.lit(true), most);
  }

  /** Columns of the rows whose first column, of type long, is among these values, which are sorted; at most so many rows. */
  List<Found> having(long[] values, List<FileScanTask> files, Function<Dataset<Row>, List<Column>> columns, int most) {
    return find(files, null, columns, (scope, first) -> scope.call(new IsAmong(scope.share(values)), first), most);
  }

  private interface Condition {
    Column of(FunctionScope scope, Column first);
  }

  private List<Found> find(
      List<FileScanTask> files, long[][] positions, Function<Dataset<Row>, List<Column>> columns, Condition condition, int most) {
    try (StagedScan scan = new StagedScan(session.spark(), table, files);
        FunctionScope scope = new FunctionScope(session)) {
      Dataset<Row> rows = SparkInternals.withFileAndPosition(scan.rows());
      Wanted wanted = new Wanted(files.stream().map(task -> task.file().location()).toArray(String[]::new), positions);
      Column position = functions.col("_pos");
      Column place = scope.call(new Place(scope.share(wanted)), functions.col("_file"), position);
      List<Column> read = columns.apply(rows);
      Dataset<Row> found =
          rows.where(place.geq(0).and(condition.of(scope, read.get(0))))
              .select(Stream.concat(Stream.of(place, position), read.stream()).toArray(Column[]::new))
              .limit(most + 1);
      scan.checkReadsOnlyStaged(found);
      List<Row> collected = session.describing("Finding deleted rows in %d files of %s".formatted(files.size(), table.name()), found::collectAsList);
      if (collected.size() > most) {
        throw new DeleteTranslation.Refusal(String.format(Locale.ROOT, "more than %,d rows may be those that were deleted", most));
      }
      return collected.stream()
          .map(row -> new Found(row.getInt(0), row.getLong(1), IntStream.range(2, row.size()).mapToObj(row::get).toArray()))
          .toList();
    }
  }

  /** Data files, and the sorted positions that are wanted of each, or all if there are none. */
  private static final class Wanted implements Serializable {
    private static final long serialVersionUID = 1L;
    private final HashMap<UTF8String, Integer> places = new HashMap<>();
    private final long[][] positions;

    Wanted(String[] files, long[][] positions) {
      this.positions = positions;
      IntStream.range(0, files.length).forEach(place -> places.put(UTF8String.fromString(files[place]), place));
    }

    int place(UTF8String file, long position) {
      int place = places.get(file);
      return positions == null || Arrays.binarySearch(positions[place], position) >= 0 ? place : -1;
    }
  }

  /** The place of a row's data file, or -1 if the row is not wanted. */
  public static final class Place extends ColumnFunction<Integer> {
    private final Shared<Wanted> wanted;

    Place(Shared<Wanted> wanted) {
      super(DataTypes.IntegerType, DataTypes.StringType, DataTypes.LongType);
      this.wanted = wanted;
    }

    public int invoke(UTF8String file, long position) {
      return wanted.value().place(file, position);
    }

    @Override
    public boolean isResultNullable() {
      return false;
    }
  }

  /** Whether a number is among others; NULL for NULL. */
  public static final class IsAmong extends ColumnFunction<Boolean> {
    private final Shared<long[]> sorted;

    IsAmong(Shared<long[]> sorted) {
      super(DataTypes.BooleanType, DataTypes.LongType);
      this.sorted = sorted;
    }

    public boolean invoke(long value) {
      return Arrays.binarySearch(sorted.value(), value) >= 0;
    }
  }
}
