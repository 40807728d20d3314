package io.icebergzorder.spark.sample;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.spark.internals.ColumnFunction;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.StagedScan;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.request.RowOrder;
import java.io.Serializable;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Draws the joint row samples of all file groups in one job that reads the clustering columns only.
 *
 * <p>A row is drawn when {@code xxhash64(_file, _pos, seed)} falls below its file group's threshold: the same rows for the
 * same files, however the scan is split. Each file group is drawn as densely as its share of the output files asks.
 */
public final class Sampler {
  private static final BigInteger HASHES = BigInteger.ONE.shiftLeft(64);
  private static final BigInteger SMALLEST_HASH = BigInteger.valueOf(Long.MIN_VALUE);
  private static final String GROUP = "group";

  private final RewriteSession session;
  private final Table table;
  private final RowOrder order;

  Sampler(RewriteSession session, Table table, RowOrder order) {
    this.session = session;
    this.table = table;
    this.order = order;
  }

  /**
   * Two samples of the same rows.
   *
   * @param fitted what {@link #sample} draws
   * @param heldOut as many other rows, or all others if there are fewer
   */
  record Halves(Sample fitted, Sample heldOut) {}

  /**
   * Draws a sample of every file group.
   *
   * @param groups the plan's file groups
   * @param options how many rows in all, and the seed
   * @return as many samples, in the same order
   */
  List<Sample> sample(List<PlannedGroup> groups, ZOrderOptions options) {
    return draw(groups, options, Drawing.of(groups, options, 1)).subList(0, groups.size());
  }

  /** Draws the same samples, and as many rows more of every file group. */
  List<Halves> halves(List<PlannedGroup> groups, ZOrderOptions options) {
    List<Sample> samples = draw(groups, options, Drawing.of(groups, options, 2));
    return IntStream.range(0, groups.size())
        .mapToObj(group -> new Halves(samples.get(group), samples.get(groups.size() + group)))
        .toList();
  }

  /** The samples of all groups, then the rows held out of them. */
  private List<Sample> draw(List<PlannedGroup> groups, ZOrderOptions options, Drawing drawing) {
    List<FileScanTask> tasks = groups.stream().flatMap(group -> group.files().stream()).toList();
    try (StagedScan scan = new StagedScan(session.spark(), table, tasks);
        FunctionScope scope = new FunctionScope(session)) {
      Dataset<Row> rows = SparkInternals.withFileAndPosition(scan.rows());
      Column hash =
          functions.xxhash64(functions.col("_file"), functions.col("_pos"), functions.lit(options.sampleSeed()));
      Column group = scope.call(new SampledGroup(scope.share(drawing)), functions.col("_file"), hash);
      Dataset<Row> keys = rows.select(selection(scope, group, mostRows(groups, options)));
      Dataset<Row> sampled = keys.where(functions.col(GROUP).geq(0));
      scan.checkReadsOnlyStaged(sampled);
      return samples(sampled.collectAsList(), 2 * groups.size());
    }
  }

  /** The group, then for every clustering column its key and whether it is NaN. */
  private Column[] selection(FunctionScope scope, Column group, long sampledRows) {
    List<Column> selection = new ArrayList<>(List.of(group.as(GROUP)));
    KeySources sources = new KeySources(table, order, scope);
    List<ClusteringColumn> columns = order.all();
    for (int i = 0; i < columns.size(); i++) {
      ClusteringColumn column = columns.get(i);
      Column value = sources.value(i);
      DataType type = sources.type(i);
      selection.add(scope.call(KeyFunctions.key(column, type, keyLength(i, sampledRows)), value).as("key" + i));
      selection.add((isFloating(type) ? value.isNaN() : functions.lit(false)).as("nan" + i));
    }
    return selection.toArray(Column[]::new);
  }

  /** The bytes at which the keys of a column are cut; partitions are told apart by all of theirs. */
  private int keyLength(int ordinal, long sampledRows) {
    return ordinal < order.partition().size()
        ? Integer.MAX_VALUE
        : Keys.sampledBytes(TruncatedBounds.length(table, order.all().get(ordinal)), sampledRows);
  }

  private List<Sample> samples(List<Row> rows, int parts) {
    List<ClusteringColumn> columns = order.all();
    int[] counts = new int[parts];
    rows.forEach(row -> counts[row.getInt(0)]++);
    List<List<KeyBuffer>> buffers = new ArrayList<>();
    for (int count : counts) {
      buffers.add(columns.stream().map(column -> new KeyBuffer(column.domain(), count)).toList());
    }
    for (Row row : rows) {
      List<KeyBuffer> buffer = buffers.get(row.getInt(0));
      for (int i = 0; i < columns.size(); i++) {
        buffer.get(i).add(row.get(1 + 2 * i), row.isNullAt(2 + 2 * i) ? false : row.getBoolean(2 + 2 * i));
      }
    }
    return buffers.stream().map(buffer -> new Sample(buffer.stream().map(KeyBuffer::keyColumn).toList())).toList();
  }

  private static boolean isFloating(DataType type) {
    return type.equals(DataTypes.FloatType) || type.equals(DataTypes.DoubleType);
  }

  private static long outputFiles(List<PlannedGroup> groups) {
    return groups.stream().mapToLong(PlannedGroup::expectedFiles).sum();
  }

  private static long sampledRows(List<PlannedGroup> groups, ZOrderOptions options) {
    return options.sampleRows((int) Math.min(Integer.MAX_VALUE, outputFiles(groups)));
  }

  /** How many rows are sampled at most: no more than there are, and one if there are none. */
  private static long mostRows(List<PlannedGroup> groups, ZOrderOptions options) {
    return Math.max(1, Math.min(sampledRows(groups, options), groups.stream().mapToLong(PlannedGroup::rows).sum()));
  }

  /** The signed hash below which {@code share} of {@code rows} rows fall, on average. */
  public static long threshold(long share, long rows) {
    return BigInteger.valueOf(share).multiply(HASHES).divide(BigInteger.valueOf(rows)).add(SMALLEST_HASH).longValueExact();
  }

  /**
   * Which rows are drawn, by their hashes: those of a file group's sample lie below its threshold, those held out of it between that
   * and another.
   *
   * @param groupOf the file group of every data file; empty if there is one group only
   * @param thresholds by group, the hash that those of its sampled rows lie below
   * @param complete by group, whether all of its rows are sampled
   * @param heldOut by group, the hash that those of the rows held out lie below
   */
  private record Drawing(HashMap<UTF8String, Integer> groupOf, long[] thresholds, boolean[] complete, long[] heldOut)
      implements Serializable {
    /** Draws so many samples of the same size from each group, of which all but the first are held out. */
    static Drawing of(List<PlannedGroup> groups, ZOrderOptions options, int samples) {
      long outputFiles = outputFiles(groups);
      long wanted = sampledRows(groups, options);
      long[] thresholds = new long[groups.size()];
      boolean[] complete = new boolean[groups.size()];
      long[] heldOut = new long[groups.size()];
      HashMap<UTF8String, Integer> groupOf = new HashMap<>();
      for (int i = 0; i < groups.size(); i++) {
        PlannedGroup group = groups.get(i);
        long share = (wanted * group.expectedFiles() + outputFiles - 1) / outputFiles;
        complete[i] = share >= group.rows();
        thresholds[i] = thresholdOrAll(share, group.rows());
        heldOut[i] = thresholdOrAll(samples * share, group.rows());
        for (FileScanTask task : group.files()) {
          groupOf.put(UTF8String.fromString(task.file().location()), i);
        }
      }
      return new Drawing(groups.size() == 1 ? new HashMap<>() : groupOf, thresholds, complete, heldOut);
    }

    private static long thresholdOrAll(long share, long rows) {
      return share >= rows ? Long.MAX_VALUE : threshold(share, rows);
    }

    /** The file group of a row, or that number plus the number of groups if it is held out, or -1 if it is not drawn. */
    int group(UTF8String file, long hash) {
      int group = groupOf.isEmpty() ? 0 : groupOf.get(file);
      if (complete[group] || hash < thresholds[group]) {
        return group;
      }
      return hash < heldOut[group] ? thresholds.length + group : -1;
    }
  }

  /** File and hash of a row to its sample, or to -1 if the row is not drawn. Public for the code that Spark generates. */
  public static final class SampledGroup extends ColumnFunction<Integer> {
    private final Shared<Drawing> drawing;

    SampledGroup(Shared<Drawing> drawing) {
      super(DataTypes.IntegerType, DataTypes.StringType, DataTypes.LongType);
      this.drawing = drawing;
    }

    public int invoke(UTF8String file, long hash) {
      return drawing.value().group(file, hash);
    }

    @Override
    public boolean isResultNullable() {
      return false;
    }
  }

  /** The sampled keys of one column of one file group, filled row by row. */
  private static final class KeyBuffer {
    private final KeyDomain domain;
    private final long[] longs;
    private final byte[][] bytes;
    private final byte[] states;
    private int size;

    KeyBuffer(KeyDomain domain, int rows) {
      this.domain = domain;
      this.longs = domain == KeyDomain.LONG ? new long[rows] : null;
      this.bytes = domain == KeyDomain.LONG ? null : new byte[rows][];
      this.states = new byte[rows];
    }

    void add(Object key, boolean nan) {
      if (key == null) {
        states[size] = KeyColumn.NULL;
      } else if (nan) {
        states[size] = KeyColumn.NAN;
      } else if (domain == KeyDomain.LONG) {
        longs[size] = (Long) key;
      } else {
        bytes[size] = (byte[]) key;
      }
      size++;
    }

    KeyColumn keyColumn() {
      return domain == KeyDomain.LONG ? KeyColumn.ofLongs(longs, states) : KeyColumn.ofBytes(bytes, states);
    }
  }
}
