package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ScanPrediction.SampledGroup;
import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.report.SpreadRows;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * The rows of a partition, made of nothing but its files' bounds: how much filters read, today and after a rewrite.
 *
 * <p>What a file costs is its bytes by the share of the rows that it is read for by {@code column = value} with the value of each of
 * them, averaged over the columns: summed up over all files, that is the bytes which such filters read.
 *
 * <p>The order of sums is part of the figures: Python adds up in the same one.
 */
class PartitionRows {
  /** With fewer rows, a new file would look tighter than it is to be: fewer and larger ones are predicted, and scaled. */
  static final int LEAST_OF_A_FILE = 40;

  private static final int ROOT_STEPS = 64;
  private static final long MOST_LOOKED_AT = 100_000_000;

  private final DataFiles files;
  private final List<ClusteringColumn> names;
  private final Sample sample;
  private final int[] places;
  private final List<RankedColumn> columns = new ArrayList<>();
  private final double weight;

  /** By file, the share of the rows that it is read for, in [0, 1]. */
  private final double[] reach;

  /**
   * A rewrite of some files.
   *
   * @param cost what the new files cost
   * @param reach for each row of these files, in their order, the share of the rows that its new file is read for
   */
  record Rewritten(double cost, double[] reach) {}

  /**
   * The files that a rewrite makes of some rows.
   *
   * @param rows the rows, ascending
   * @param file for each of them the number of its file
   * @param counts by number, how many rows the file has
   * @param share so many times the number of files that there are to be, in (0, 1]
   */
  record NewFiles(int[] rows, int[] file, int[] counts, double share) {}

  /** Spreads rows between bounds, for what files are judged by; parameters are those of the constructors. */
  static PartitionRows of(DataFiles files, int rows, UpkeepRequest request, boolean[] like) {
    return request.goesByQueries(files)
        ? new WorkloadRows(files, rows, request, like)
        : new PartitionRows(files, rows, request.kept(), request.weights(), like);
  }

  /**
   * Spreads rows between bounds.
   *
   * @param described the data files, at least one; of a column without any bounds nothing is known, but that every file with values is
   *     read for it, and that a layout cuts it: its rows get values in an order that no other column follows
   * @param rows how many rows are spread, about
   * @param kept for each column, what new lower/upper bounds keep of a key of bytes
   * @param weights for each column, what it counts in averages, 0 or more: 0 where new files get no bounds
   * @param like files whose rows show how columns go together: the rows of each other file are taken to lie as those of these that are
   *     within its bounds, where there are as many, and it takes no more than 100,000,000 looks at a row; null for none
   */
  PartitionRows(DataFiles described, int rows, List<UnaryOperator<byte[]>> kept, double[] weights, boolean[] like) {
    List<Boolean> areOpen = described.columns().stream().map(ColumnBounds::isOpen).toList();
    files = spanned(described);
    names = files.columns().stream().map(ColumnBounds::column).toList();
    SpreadRows spread = SpreadRows.of(files, rows);
    places = spread.places();
    sample = like == null ? spread.sample() : spread.sample().take(alike(spread, files, like));
    reach = new double[files.count()];
    double sum = 0;
    for (int place = 0; place < names.size(); place++) {
      RankedColumn column =
          RankedColumn.of(
              files.columns().get(place),
              sample.columns().get(place),
              areOpen.get(place) ? UnaryOperator.identity() : kept.get(place),
              weights[place]);
      columns.add(column);
      sum += column.weight();
      for (int file = 0; file < reach.length; file++) {
        reach[file] += column.weight() * column.reach()[file];
      }
    }
    weight = sum == 0 ? 1 : sum;
    for (int file = 0; file < reach.length; file++) {
      reach[file] /= weight;
    }
  }

  private static DataFiles spanned(DataFiles files) {
    List<ColumnBounds> columns = files.columns().stream().map(column -> column.isOpen() ? column.spanned() : column).toList();
    return new DataFiles(files.partitions(), files.rows(), files.sizes(), columns);
  }

  /** For a file, the share of the rows that it is read for, in [0, 1]. */
  double reach(int file) {
    return reach[file];
  }

  List<RankedColumn> columns() {
    return columns;
  }

  /** For each row the one that it is taken to lie as: itself, or for other files evenly one of those inside. */
  private static int[] alike(SpreadRows spread, DataFiles files, boolean[] like) {
    int[] places = spread.places();
    int[] found = IntStream.range(0, places.length).toArray();
    int[] known = IntStream.range(0, places.length).filter(row -> like[places[row]]).toArray();
    long others = IntStream.range(0, files.count()).filter(file -> !like[file]).count();
    if (known.length * others > MOST_LOOKED_AT) {
      return found;
    }
    List<Inside> columns = new ArrayList<>();
    for (int place = 0; place < files.columns().size(); place++) {
      columns.add(Inside.of(files.columns().get(place), spread.sample().columns().get(place).take(known)));
    }
    for (int start = 0, end; start < places.length; start = end) {
      int file = places[start];
      end = start;
      while (end < places.length && places[end] == file) {
        end++;
      }
      if (like[file]) {
        continue;
      }
      int[] inside =
          IntStream.range(0, known.length)
              .filter(row -> columns.stream().allMatch(column -> column.has(file, row)))
              .map(row -> known[row])
              .toArray();
      int count = end - start;
      for (int row = 0; count <= inside.length && row < count; row++) {
        found[start + row] = inside[(int) ((2L * row + 1) * inside.length / (2L * count))];
      }
    }
    return found;
  }

  /** Tells which rows lie within the bounds of files in a column, by ranks. */
  private record Inside(ColumnBounds bounds, int[] lower, int[] upper, int[] rows) {
    static Inside of(ColumnBounds bounds, KeyColumn keys) {
      Ranks all = Ranks.among(UnaryOperator.identity(), bounds.lower(), bounds.upper(), keys);
      return new Inside(bounds, all.of(bounds.lower()), all.of(bounds.upper()), all.of(keys));
    }

    boolean has(int file, int row) {
      if (!bounds.isBounded(file)) {
        return true;
      }
      // Rows without a value lie in any file that has such rows.
      return rows[row] < 0 ? bounds.valued()[file] < 1 : lower[file] <= rows[row] && rows[row] <= upper[file];
    }
  }

  /** Adds up what some files cost, by their places. */
  double cost(int[] of) {
    double cost = 0;
    for (int file : of) {
      cost += files.sizes()[file] * reach(file);
    }
    return cost;
  }

  /** Averages what each row has over the rows of each file; 0 for a file without rows. */
  double[] average(double[] ofRows) {
    double[] sums = new double[files.count()];
    int[] rows = new int[sums.length];
    for (int row = 0; row < places.length; row++) {
      sums[places[row]] += ofRows[row];
      rows[places[row]]++;
    }
    for (int file = 0; file < sums.length; file++) {
      sums[file] /= Math.max(rows[file], 1);
    }
    return sums;
  }

  /**
   * Predicts what a rewrite of some files makes.
   *
   * @param of their places, at least one
   * @param count the number of new files
   * @param request what is asked of the layout, but for that number
   */
  Rewritten rewritten(int[] of, int count, LayoutRequest request) {
    boolean[] isMine = new boolean[files.count()];
    long size = 0;
    for (int file : of) {
      isMine[file] = true;
      size += files.sizes()[file];
    }
    int[] rows = IntStream.range(0, places.length).filter(row -> isMine[places[row]]).toArray();
    int coarse = Math.max(1, Math.min(count, rows.length / LEAST_OF_A_FILE));
    int[] file =
        coarse == 1
            ? new int[rows.length]
            : filesOf(fitted(sample.take(everyOther(rows)), request.of(coarse)), sample.take(rows));
    int[] counts = new int[Arrays.stream(file).max().orElse(-1) + 1];
    for (int each : file) {
      counts[each]++;
    }
    double[] ofFile = reachOf(new NewFiles(rows, file, counts, (double) coarse / count));
    double bytesOfRow = (double) size / Math.max(1, rows.length);
    double cost = 0;
    for (int each = 0; each < ofFile.length; each++) {
      cost += counts[each] * bytesOfRow * ofFile[each];
    }
    return new Rewritten(cost, Arrays.stream(file).mapToDouble(each -> ofFile[each]).toArray());
  }

  /** By number, the share of the rows that each new file is read for. */
  double[] reachOf(NewFiles made) {
    double[] ofFile = new double[made.counts().length];
    for (RankedColumn column : columns) {
      addReach(ofFile, column, made.rows(), made.file(), made.counts());
    }
    double root = smaller(made.share());
    for (int each = 0; each < ofFile.length; each++) {
      ofFile[each] = ofFile[each] / weight * root;
    }
    return ofFile;
  }

  /** So many times what extent files have that are so many times as large. */
  double smaller(double share) {
    return root(share, (int) columns.stream().filter(column -> column.weight() > 0).count());
  }

  Layout fitted(Sample some, LayoutRequest request) {
    return Layout.fit(names, some, request);
  }

  List<ClusteringColumn> names() {
    return names;
  }

  private static int[] everyOther(int[] rows) {
    return IntStream.range(0, (rows.length + 1) / 2).map(row -> rows[2 * row]).toArray();
  }

  private static int[] filesOf(Layout layout, Sample mine) {
    return new SampledGroup(layout, mine, mine, 0, 0).filesOf(mine);
  }

  /** Adds what a column makes of the shares of the rows that new files are read for. */
  private static void addReach(double[] reach, RankedColumn column, int[] rows, int[] file, int[] counts) {
    int[] low = new int[reach.length];
    int[] high = new int[reach.length];
    Arrays.fill(low, column.below().length - 2);
    Arrays.fill(high, -1);
    for (int row = 0; row < rows.length; row++) {
      int rank = column.ranks()[rows[row]];
      if (rank >= 0) {
        low[file[row]] = Math.min(low[file[row]], rank);
        high[file[row]] = Math.max(high[file[row]], rank);
      }
    }
    for (int each = 0; each < reach.length; each++) {
      double share = high[each] < 0 ? 0 : column.share(low[each], high[each]);
      // So many even draws of an interval span (n - 1) / (n + 1) of it on average.
      double span = counts[each] > 1 ? (double) (counts[each] + 1) / (counts[each] - 1) : 1;
      reach[each] += column.weight() * (low[each] < high[each] ? Math.min(share * span, 1) : share);
    }
  }

  /**
   * Computes the root of a share in (0, 1] by Newton's method, which Python computes alike. A file that is cut into as many boxes has
   * extents that are smaller by this factor, if they are so in each column.
   */
  private static double root(double share, int degree) {
    if (share == 1 || degree < 2) {
      return share;
    }
    double root = 1;
    for (int step = 0; step < ROOT_STEPS; step++) {
      double power = 1;
      for (int i = 1; i < degree; i++) {
        power *= root;
      }
      root -= (power * root - share) / (degree * power);
    }
    return root;
  }
}
