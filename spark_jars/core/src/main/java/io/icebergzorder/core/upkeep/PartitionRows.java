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
import java.util.stream.IntStream;

/**
 * The rows of a partition, made of nothing but its files' bounds: how much filters read, today and after a rewrite.
 *
 * <p>A file costs its bytes times its reach: the share of the filters that read it. The filters are {@code column = value} with the value
 * of each row, averaged over the columns by weight, or the queries of a workload, averaged by theirs.
 *
 * <p>The order of sums is part of the figures: Python adds up in the same one.
 */
final class PartitionRows {
  /** With fewer rows, a new file would look tighter than it is to be: fewer and larger ones are predicted, and scaled. */
  static final int LEAST_OF_A_FILE = 40;

  private static final int ROOT_STEPS = 64;
  private static final long MOST_LOOKED_AT = 100_000_000;

  private final DataFiles files;
  private final UpkeepRequest request;
  private final List<ClusteringColumn> names;
  private final Sample sample;
  private final int[] places;
  private final List<Column> columns = new ArrayList<>();
  private final double weight;

  /** By file, the share of the filters that read it, in [0, 1]. */
  private final double[] reach;

  /** Null where files are judged by equality. */
  private final WantedRanks wanted;

  /**
   * A column of the rows.
   *
   * @param weight what it counts in averages, 0 or more
   * @param ranks ranks of the rows' values among these and the bounds of the files; -1 without a value
   * @param below for each rank and one more, the rows whose values are below
   * @param values the values, by their ranks
   */
  record Column(double weight, int[] ranks, int[] below, Ranks values) {
    /** Ranks the keys of rows among the bounds of files. */
    static Column of(Ranks all, KeyColumn keys, double weight) {
      int[] ranks = all.of(keys);
      int[] below = new int[Math.max(1, all.size()) + 1];
      Arrays.stream(ranks).filter(rank -> rank >= 0).forEach(rank -> below[rank + 1]++);
      Arrays.parallelPrefix(below, Integer::sum);
      return new Column(below[below.length - 1] > 0 ? weight : 0, ranks, below, all);
    }

    /** What share of the values lies between two ranks, both included. */
    double share(int lower, int upper) {
      return (double) (below[upper + 1] - below[lower]) / Math.max(1, below[below.length - 1]);
    }

    /** Finds between which ranks the rows of new files are. */
    Ends ends(NewFiles made) {
      int count = made.counts.length;
      Ends ends = new Ends(new int[count], new int[count], new boolean[count]);
      Arrays.fill(ends.low, below.length - 2);
      Arrays.fill(ends.high, -1);
      for (int row = 0; row < made.rows.length; row++) {
        int rank = ranks[made.rows[row]];
        int file = made.file[row];
        ends.lacks[file] |= rank < 0;
        ends.low[file] = rank < 0 ? ends.low[file] : Math.min(ends.low[file], rank);
        ends.high[file] = Math.max(ends.high[file], rank);
      }
      return ends;
    }
  }

  /**
   * Between which ranks new files are, by their numbers.
   *
   * @param low the smallest one
   * @param high the largest one; -1 without values
   * @param lacks whether they have rows without a value
   */
  record Ends(int[] low, int[] high, boolean[] lacks) {}

  /**
   * The files that a rewrite makes of some rows.
   *
   * @param rows the rows, ascending
   * @param file for each of them the number of its file
   * @param counts by number, how many rows the file has
   * @param smaller so many times what extent it has do the files have that it stands for, in (0, 1]
   */
  record NewFiles(int[] rows, int[] file, int[] counts, double smaller) {}

  /**
   * A rewrite of some files.
   *
   * @param cost what the new files cost
   * @param reach for each row of these files, in their order, the reach of its new file
   */
  record Rewritten(double cost, double[] reach) {}

  /**
   * Spreads rows between bounds.
   *
   * @param described the data files, at least one; of a column without any bounds nothing is known, but that every file with values is
   *     read for it, and that a layout cuts it: its rows get values in an order that no other column follows
   * @param rows how many rows are spread, about
   * @param request how files are judged and written
   * @param like files whose rows show how columns go together: the rows of each other file are taken to lie as those of these that are
   *     within its bounds, where there are as many, and it takes no more than 100,000,000 looks at a row; null for none
   */
  PartitionRows(DataFiles described, int rows, UpkeepRequest request, boolean[] like) {
    this.request = request;
    List<ColumnBounds> bounds = described.columns().stream().map(each -> each.isOpen() ? each.spanned() : each).toList();
    files = new DataFiles(described.partitions(), described.rows(), described.sizes(), bounds);
    names = bounds.stream().map(ColumnBounds::column).toList();
    SpreadRows spread = SpreadRows.of(files, rows);
    places = spread.places();
    sample = like == null ? spread.sample() : spread.sample().take(alike(spread, files, like));
    double[] byEquality = new double[files.count()];
    double sum = 0;
    for (int place = 0; place < bounds.size(); place++) {
      ColumnBounds of = bounds.get(place);
      Ranks all = Ranks.among(request.kept().get(place), of.lower(), of.upper(), sample.columns().get(place));
      Column column = Column.of(all, sample.columns().get(place), request.weights()[place]);
      int[] lower = all.of(of.lower());
      int[] upper = all.of(of.upper());
      for (int file = 0; file < byEquality.length; file++) {
        // A file without bounds is read for all values, one without values for none.
        double share = of.isBounded(file) ? column.share(lower[file], upper[file]) : of.hasValues(file) ? 1 : 0;
        byEquality[file] += column.weight() * share;
      }
      columns.add(column);
      sum += column.weight();
    }
    weight = sum == 0 ? 1 : sum;
    boolean isByQueries = request.goesByQueries(described);
    wanted = isByQueries ? new WantedRanks(request, names, columns) : null;
    reach =
        isByQueries
            ? request.queries().orElseThrow().reach(files.count())
            : Arrays.stream(byEquality).map(each -> each / weight).toArray();
  }

  /** For a file, the share of the filters that read it, in [0, 1]. */
  double reach(int file) {
    return reach[file];
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
      if (!like[file]) {
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
    }
    return found;
  }

  /** Tells which rows lie within the bounds of files in a column, by ranks. */
  private record Inside(ColumnBounds bounds, int[] lower, int[] upper, int[] rows) {
    static Inside of(ColumnBounds bounds, KeyColumn keys) {
      Ranks all = Ranks.among(bounds.lower(), bounds.upper(), keys);
      return new Inside(bounds, all.of(bounds.lower()), all.of(bounds.upper()), all.of(keys));
    }

    boolean has(int file, int row) {
      // Rows without a value lie in any file that has such rows.
      return !bounds.isBounded(file)
          || (rows[row] < 0 ? bounds.valued()[file] < 1 : lower[file] <= rows[row] && rows[row] <= upper[file]);
    }
  }

  /** Adds up what some files cost, by their places. */
  double cost(int[] of) {
    double cost = 0;
    for (int file : of) {
      cost += files.sizes()[file] * reach[file];
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

  /** Whether files that are chosen for what they gain are written to more files: those of less than half. */
  boolean isFiner(int[] of) {
    return 2 * bytes(of) < files.bytes();
  }

  private long bytes(int[] of) {
    return Arrays.stream(of).mapToLong(file -> files.sizes()[file]).sum();
  }

  /** Predicts what all files cost once some are rewritten, whose places ascend. */
  double after(int[] of, boolean forGain) {
    double today = cost(IntStream.range(0, files.count()).toArray());
    return of.length == 0 ? today : today - cost(of) + rewritten(of, forGain).cost();
  }

  /** Predicts a rewrite of some files, at least one. */
  Rewritten rewritten(int[] of, boolean forGain) {
    boolean[] isMine = new boolean[files.count()];
    Arrays.stream(of).forEach(file -> isMine[file] = true);
    int[] rows = IntStream.range(0, places.length).filter(row -> isMine[places[row]]).toArray();
    long size = bytes(of);
    int count = request.expectedFiles().applyAsInt(forGain && isFiner(of) ? UpkeepRequest.finer(size) : size);
    int coarse = Math.max(1, Math.min(count, rows.length / LEAST_OF_A_FILE));
    int[] file = newFiles(rows, coarse);
    int[] counts = new int[Arrays.stream(file).max().orElse(-1) + 1];
    for (int each : file) {
      counts[each]++;
    }
    double smaller = root((double) coarse / count, (int) columns.stream().filter(column -> column.weight() > 0).count());
    NewFiles made = new NewFiles(rows, file, counts, smaller);
    double[] ofFile = wanted == null ? reachByEquality(made) : wanted.reach(made);
    double bytesOfRow = (double) size / Math.max(1, rows.length);
    double cost = 0;
    for (int each = 0; each < ofFile.length; each++) {
      cost += counts[each] * bytesOfRow * ofFile[each];
    }
    return new Rewritten(cost, Arrays.stream(file).mapToDouble(each -> ofFile[each]).toArray());
  }

  /** The new file of each row of a rewrite. */
  private int[] newFiles(int[] rows, int count) {
    if (count == 1) {
      return new int[rows.length];
    }
    LayoutRequest wish = request.layout().of(count);
    Sample mine = sample.take(rows);
    Sample half = sample.take(IntStream.range(0, (rows.length + 1) / 2).map(row -> rows[2 * row]).toArray());
    Layout layout = wanted == null ? Layout.fit(names, half, wish) : wanted.fitted(names, half, wish);
    return new SampledGroup(layout, mine, mine, 0, 0).filesOf(mine);
  }

  /** By number, the share of the rows that each new file is read for. */
  private double[] reachByEquality(NewFiles made) {
    double[] ofFile = new double[made.counts().length];
    for (Column column : columns) {
      Ends ends = column.ends(made);
      for (int file = 0; file < ofFile.length; file++) {
        int low = ends.low[file];
        int high = ends.high[file];
        double share = high < 0 ? 0 : column.share(low, high);
        // So many even draws of an interval span (n - 1) / (n + 1) of it on average.
        int count = made.counts[file];
        double span = count > 1 ? (double) (count + 1) / (count - 1) : 1;
        ofFile[file] += column.weight() * (low < high ? Math.min(share * span, 1) : share);
      }
    }
    return Arrays.stream(ofFile).map(each -> each / weight * made.smaller).toArray();
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
