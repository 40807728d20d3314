package io.icebergzorder.spark.layout;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.Sample;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.internals.ColumnFunction;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.StagedScan;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.IntFunction;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** Draws the samples of all file groups in one job, by hashes of file and position: the same however the scan is split. */
public final class Sampler {
  private static final String DRAWN = "drawn";

  private final RewriteSession session;
  private final Table table;
  private final ResolvedSortOrder order;
  private final int[] keyLengths;

  Sampler(RewriteSession session, Table table, ResolvedSortOrder order, int[] keyLengths) {
    this.session = session;
    this.table = table;
    this.order = order;
    this.keyLengths = keyLengths;
  }

  /** Of a file group: its samples, by row of the first one the number of its row group, unless all are read, and the tails of its keys. */
  record Drawn(FileGroup group, Sample fitted, Sample heldOut, Optional<int[]> rowGroups, List<long[]> tails) {}

  List<Drawn> draw(List<FileGroup> groups, Drawing drawing, long seed) {
    try (StagedScan scan = new StagedScan(session.spark(), table, drawing.tasks());
        FunctionScope scope = new FunctionScope(session)) {
      Dataset<Row> rows = SparkInternals.withFileAndPosition(scan.rows());
      Column file = functions.col("_file");
      Column position = functions.col("_pos");
      Column hash = functions.xxhash64(file, position, functions.lit(seed));
      Column drawn = scope.call(new DrawnRow(scope.share(drawing)), file, position, hash);
      Dataset<Row> keys = rows.select(selection(scope, drawn));
      Dataset<Row> sampled = keys.where(functions.col(DRAWN).geq(0));
      scan.checkReadsOnlyStaged(sampled);
      return drawn(sampled.collectAsList(), groups, drawing);
    }
  }

  /** Where a row belongs, then its key in every clustering column. */
  private Column[] selection(FunctionScope scope, Column drawn) {
    List<Column> selection = new ArrayList<>(List.of(drawn.as(DRAWN)));
    List<ClusteringColumn> columns = order.all();
    for (int i = 0; i < columns.size(); i++) {
      ColumnFunction<?> key = KeyFunctions.key(columns.get(i), order.type(i), keyLengths[i]);
      selection.add(scope.call(key, order.value(i, scope)).as("key" + i));
    }
    return selection.toArray(Column[]::new);
  }

  /** The bytes at which the keys of columns are cut; partitions are told apart by all of theirs. */
  static int[] keyLengths(KeptBounds kept, boolean isWhole, ResolvedSortOrder order, long mostRows) {
    List<ClusteringColumn> columns = order.all();
    return IntStream.range(0, columns.size()).map(i ->
        i < order.partition().size()
            ? Integer.MAX_VALUE
            : Keys.sampledBytes(isWhole ? OptionalInt.empty() : kept.length(columns.get(i)), mostRows))
        .toArray();
  }

  private List<Drawn> drawn(List<Row> rows, List<FileGroup> groups, Drawing drawing) {
    int count = groups.size();
    List<List<Row>> samples = Stream.generate(() -> (List<Row>) new ArrayList<Row>()).limit(Drawing.SAMPLES * count).toList();
    rows.forEach(row -> samples.get((int) row.getLong(0)).add(row));
    return IntStream.range(0, count).mapToObj(group -> {
      List<Row> fitted = samples.get(group);
      Optional<int[]> rowGroups =
          drawing.isWhole(group)
              ? Optional.empty()
              : Optional.of(fitted.stream().mapToInt(row -> (int) (row.getLong(0) >> 32)).toArray());
      List<long[]> tails = columns(place -> tails(fitted, place));
      return new Drawn(groups.get(group), sample(fitted), sample(samples.get(count + group)), rowGroups, tails);
    }).toList();
  }

  private <T> List<T> columns(IntFunction<T> of) {
    return IntStream.range(0, order.all().size()).parallel().mapToObj(of).toList();
  }

  private Sample sample(List<Row> rows) {
    return new Sample(columns(place -> keys(rows, place)));
  }

  private KeyColumn keys(List<Row> rows, int place) {
    boolean isLong = isLong(place);
    boolean isFloating = isFloating(order.type(place));
    byte[] states = new byte[rows.size()];
    long[] longs = new long[isLong ? states.length : 0];
    byte[][] bytes = new byte[isLong ? 0 : states.length][];
    for (int i = 0; i < states.length; i++) {
      Row row = rows.get(i);
      boolean isNull = row.isNullAt(1 + place);
      boolean isNan = isFloating && !isNull && row.getLong(1 + place) == KeyFunctions.NAN;
      states[i] = isNull ? KeyColumn.NULL : isNan ? KeyColumn.NAN : KeyColumn.VALUE;
      if (states[i] == KeyColumn.VALUE && isLong) {
        longs[i] = row.getLong(1 + place);
      } else if (states[i] == KeyColumn.VALUE) {
        byte[] key = (byte[]) row.get(1 + place);
        bytes[i] = Keys.tail(key, keyLengths[place]) == 0 ? key : Arrays.copyOf(key, keyLengths[place]);
      }
    }
    return isLong ? KeyColumn.ofLongs(longs, states) : KeyColumn.ofBytes(bytes, states);
  }

  /** What tells values apart whose keys were cut; null for a column of longs. */
  private long[] tails(List<Row> rows, int place) {
    ToLongFunction<Row> tail = row -> row.isNullAt(1 + place) ? 0 : Keys.tail((byte[]) row.get(1 + place), keyLengths[place]);
    return isLong(place) ? null : rows.stream().mapToLong(tail).toArray();
  }

  private boolean isLong(int place) {
    return order.all().get(place).domain() == KeyDomain.LONG;
  }

  private static boolean isFloating(DataType type) {
    return type.equals(DataTypes.FloatType) || type.equals(DataTypes.DoubleType);
  }

  /** Where a row belongs, see {@link Drawing#draw}. Public for the code that Spark generates. */
  public static final class DrawnRow extends ColumnFunction<Long> {
    private final Shared<Drawing> drawing;

    DrawnRow(Shared<Drawing> drawing) {
      super(DataTypes.LongType, DataTypes.StringType, DataTypes.LongType, DataTypes.LongType);
      this.drawing = drawing;
    }

    public long invoke(UTF8String file, long position, long hash) {
      return drawing.value().draw(file, position, hash);
    }

    @Override
    public boolean isResultNullable() {
      return false;
    }
  }
}
