package io.icebergzorder.spark.layout;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.Keys.KeyDomain;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.MetricsCheck.GroupKeys;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.SampledRowGroups;
import io.icebergzorder.core.metrics.LaidOutSample;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.internals.ColumnFunction;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.Failures.FailureStreak;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.internals.SparkInternals;
import io.icebergzorder.spark.internals.StagedScan;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.IntFunction;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Samples the file groups of a plan in one job, by hashes of file and position: the same however the scan is split. The keys stay in the
 * driver's memory until the commit.
 */
public final class PlanSampler {
  private static final Logger LOG = LoggerFactory.getLogger(PlanSampler.class);
  private static final String DRAWN = "drawn";

  private final RewriteSession session;
  private final CatalogTable target;
  private final TablePlan plan;
  private final ResolvedSortOrder order;
  private final LayoutFitter fitter;
  private final boolean failAlone;
  private final int[] keyLengths;
  private final long expectedFiles;
  private final long wantedRows;
  private final Map<FileGroup, Throwable> failures = new LinkedHashMap<>();
  private final FailureStreak streak = new FailureStreak();

  /** Takes a plan, and whether a file group that cannot be read is left out, with the reason. */
  public PlanSampler(RewriteSession session, CatalogTable target, TablePlan plan, LayoutFitter fitter, boolean failAlone) {
    this.session = session;
    this.target = target;
    this.plan = plan;
    this.fitter = fitter;
    this.failAlone = failAlone;
    this.order = plan.order();
    expectedFiles = plan.groups().stream().mapToLong(FileGroup::expectedFiles).sum();
    wantedRows = plan.options().layout().sampleRows((int) Math.min(Integer.MAX_VALUE, expectedFiles));
    long mostRows = Math.max(1, Math.min(wantedRows, plan.groups().stream().mapToLong(FileGroup::rows).sum()));
    keyLengths = keyLengths(KeptBounds.of(target.table(), order.named()), plan.options().layout().fixesMetrics(), mostRows);
  }

  /** The bytes at which the keys of columns are cut; partitions are told apart by all of theirs. */
  private int[] keyLengths(KeptBounds kept, boolean isWhole, long mostRows) {
    List<ClusteringColumn> columns = order.all();
    return IntStream.range(0, columns.size()).map(i ->
        i < order.partition().size()
            ? Integer.MAX_VALUE
            : Keys.sampledBytes(isWhole ? OptionalInt.empty() : kept.length(columns.get(i)), mostRows))
        .toArray();
  }

  /**
   * The sample of a file group, with the layout that it has as it was planned.
   *
   * @param rowGroups by fitted row, the number of its row group; empty if all row groups are read
   * @param tails by column, what tells fitted values apart whose keys were cut; null for a column of longs
   */
  public record Sampled(LaidOutSample laidOut, FileGroup group, Optional<int[]> rowGroups, List<long[]> tails) {
    /** Whether the row groups that were read turn out to be clusters, so that more of them must be read. */
    private boolean isOfClusters() {
      return rowGroups.isPresent() && SampledRowGroups.areClusters(laidOut.layout(), laidOut.fitted(), rowGroups.get());
    }

    /** How its sampled rows lie in a column of strings or binaries. */
    GroupKeys keys(int place) {
      return GroupKeys.of(laidOut.layout(), laidOut.fitted(), place, tails.get(place));
    }
  }

  /** Samples the file groups, in one job unless one fails; those that cannot be read are left out. */
  public Map<FileGroup, Sampled> sample() {
    Map<FileGroup, Sampled> samples = sample(plan.groups(), false);
    List<FileGroup> clusters = samples.values().stream().filter(Sampled::isOfClusters).map(Sampled::group).toList();
    if (!clusters.isEmpty()) {
      Map<FileGroup, Sampled> again = sample(clusters, true);
      // One that cannot be read this time has no layout any more.
      clusters.forEach(group -> samples.computeIfPresent(group, (each, sparse) -> again.get(group)));
    }
    return samples;
  }

  /** The file groups that could not be sampled, and why. */
  public Map<FileGroup, Throwable> failures() {
    return failures;
  }

  /** By column, the bytes at which keys of samples are cut. */
  int[] keyLengths() {
    return keyLengths;
  }

  private Map<FileGroup, Sampled> sample(List<FileGroup> groups, boolean areClusters) {
    Map<FileGroup, Sampled> samples = new LinkedHashMap<>();
    List<Sampled> drawn = failAlone ? drawnApart(groups, areClusters) : drawn(groups, areClusters);
    drawn.forEach(each -> samples.put(each.group(), each));
    return samples;
  }

  private List<Sampled> drawn(List<FileGroup> groups, boolean areClusters) {
    String description =
        String.format(
            Locale.ROOT,
            "Sampling %s for %d file groups of %s",
            order.names(", "), groups.size(), target.name());
    long seed = plan.options().layout().sampleSeed();
    Drawing drawing = new Drawing(groups, this::rowsOf, seed, areClusters);
    return session.describing(description, () -> draw(groups, drawing, seed));
  }

  /** Each group is sampled as densely as its share of the output files asks. */
  private long rowsOf(FileGroup group) {
    return (wantedRows * group.expectedFiles() + expectedFiles - 1) / expectedFiles;
  }

  /** Draws samples of those that can be read: which of several is to blame for the failure of their job, nobody knows. */
  private List<Sampled> drawnApart(List<FileGroup> groups, boolean areClusters) {
    if (streak.isOver()) {
      groups.forEach(group -> failures.put(group, streak.why()));
      return List.of();
    }
    try {
      List<Sampled> drawn = drawn(groups, areClusters);
      streak.done();
      return drawn;
    } catch (Throwable e) {
      if (Failures.isCancellation(e) || e instanceof InterruptedException || Thread.currentThread().isInterrupted()) {
        throw e;
      }
      if (groups.size() == 1) {
        failures.put(groups.get(0), e);
        streak.failed(e);
        return List.of();
      }
      LOG.warn("Sampling {} file groups of {} apart, because one failed", groups.size(), target.name(), e);
    }
    int middle = groups.size() / 2;
    List<Sampled> drawn = new ArrayList<>(drawnApart(groups.subList(0, middle), areClusters));
    drawn.addAll(drawnApart(groups.subList(middle, groups.size()), areClusters));
    return drawn;
  }

  private List<Sampled> draw(List<FileGroup> groups, Drawing drawing, long seed) {
    try (StagedScan scan = new StagedScan(session.spark(), target.table(), drawing.tasks());
        FunctionScope scope = new FunctionScope(session)) {
      Dataset<Row> rows = SparkInternals.withFileAndPosition(scan.rows());
      Column file = functions.col("_file");
      Column position = functions.col("_pos");
      Column hash = functions.xxhash64(file, position, functions.lit(seed));
      Column drawn = scope.call(new DrawnRow(scope.share(drawing)), file, position, hash);
      Dataset<Row> keys = rows.select(selection(scope, drawn));
      Dataset<Row> sampled = keys.where(functions.col(DRAWN).geq(0));
      scan.checkReadsOnlyStaged(sampled);
      return sampled(sampled.collectAsList(), groups, drawing);
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

  private List<Sampled> sampled(List<Row> rows, List<FileGroup> groups, Drawing drawing) {
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
      return new Sampled(laidOut(groups.get(group), sample(fitted), sample(samples.get(count + group))), groups.get(group), rowGroups, tails);
    }).toList();
  }

  private LaidOutSample laidOut(FileGroup group, Sample fitted, Sample heldOut) {
    Layout layout = fitter.fit(group, fitted);
    return new LaidOutSample(layout, fitted, heldOut, group.rows(), group.bytes(), layout.files());
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
