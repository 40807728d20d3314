package io.icebergzorder.core.select;

import io.icebergzorder.core.Beginning;
import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ColumnBounds;
import io.icebergzorder.core.metrics.LaidOutSample;
import io.icebergzorder.core.metrics.ScanCost;
import io.icebergzorder.core.metrics.SpreadRows;
import io.icebergzorder.core.select.UpkeepRequest.AskedQueries;
import io.icebergzorder.core.workload.KeyBox;
import io.icebergzorder.core.workload.KeyEdge;
import io.icebergzorder.core.workload.KeyRange;
import io.icebergzorder.core.workload.PositionBoxes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Made-up rows of a partition, spread between the bounds of its files, and what filters cost on them.
 *
 * <p>A filter that reads a file pays its bytes and the open cost; the share of the filters that read it is its <i>read probability</i>.
 * Planning adds 1/32 of the open cost for each file, read or not. Filters are {@code column = value} with the value of each row, or the
 * queries of a workload by their weights. Costs of filters have one item for each column, or a single one for a workload.
 *
 * <p>If no file has bounds of a column, filters on it read every file with values. Layouts cut this column, too: its rows get values in an
 * order that is independent of the other columns. Sums are added up in the same order as in Python, because it is part of the figures.
 */
final class PartitionRows {
  /** Tolerance of limits, because sums are rounded. */
  private static final double ROUNDING = 1 + 1e-9;

  private static final long MOST_COMPARISONS = 100_000_000;

  private static final int THOUSANDTHS = 1000;

  private final BoundedFiles files;
  private final UpkeepRequest request;
  private final AskedQueries workload;
  private final List<PositionBoxes.Query> asked;
  private final Sample sample;
  private final int[] places;
  private final List<Column> columns = new ArrayList<>();
  private final double[] weights;
  private final double[][] today;
  private final double[] readProbability;

  /**
   * Ranges of ranks in one column, both ends included, of files or of query boxes.
   *
   * @param high -1 for a file without values
   * @param hasNulls whether the file has rows without a value, NULL or NaN, or the box reaches NULL
   */
  private record RankRanges(int[] low, int[] high, boolean[] hasNulls) {
    RankRanges(int count) {
      this(new int[count], new int[count], new boolean[count]);
    }
  }

  /**
   * A column with a weight. Ranks are places among the values of its rows and its files' bounds.
   *
   * @param weight 0 where there is no value
   * @param ranks of each row; -1 without a value
   * @param below for each rank and one more, the rows whose values are below
   * @param ofFiles of each file, by its bounds
   * @param ofBoxes of each box of the queries
   */
  private record Column(double weight, int[] ranks, int[] below, RankRanges ofFiles, RankRanges ofBoxes) {
    static Column of(ColumnBounds bounds, KeyColumn keys, Beginning kept, double weight, List<KeyRange> boxes) {
      Ranks values = Ranks.among(kept, bounds.lower(), bounds.upper(), keys);
      int count = Math.max(1, values.size());
      int[] ranks = values.of(keys);
      int[] below = new int[count + 1];
      Arrays.stream(ranks).filter(rank -> rank >= 0).forEach(rank -> below[rank + 1]++);
      Arrays.parallelPrefix(below, Integer::sum);
      RankRanges ofFiles = new RankRanges(values.of(bounds.lower()), values.of(bounds.upper()), new boolean[bounds.size()]);
      for (int file = 0; file < bounds.size(); file++) {
        ofFiles.hasNulls[file] = bounds.valued()[file] < 1;
        if (!bounds.isBounded(file)) {
          // A file without bounds is read for every value, a file without values for none.
          ofFiles.low[file] = 0;
          ofFiles.high[file] = bounds.hasValues(file) ? count - 1 : -1;
        }
      }
      RankRanges ofBoxes = new RankRanges(boxes.size());
      for (int box = 0; box < boxes.size(); box++) {
        // Bounds are truncated, so a kept value matches if any value with this prefix does.
        ofBoxes.low[box] = before(boxes.get(box).start(), values, kept);
        ofBoxes.high[box] = before(boxes.get(box).stop(), values, Beginning.WHOLE) - 1;
        ofBoxes.hasNulls[box] = boxes.get(box).stop().equals(KeyEdge.END);
      }
      return new Column(below[count] > 0 ? weight : 0, ranks, below, ofFiles, ofBoxes);
    }

    /** The number of values before an edge. */
    private static int before(KeyEdge edge, Ranks values, Beginning kept) {
      if (edge.hasKey()) {
        return edge.number() != null ? values.countBelow(edge.number()) : values.countBelow(kept.of(edge.bytes()));
      }
      return edge.state() == KeyColumn.VALUE ? 0 : values.size();
    }

    /** The share of the values that lies between the bounds of some files, in thousandths, rounded up. */
    int extent(int[] of) {
      int valued = below[below.length - 1];
      int[] withValues = Arrays.stream(of).filter(file -> ofFiles.high[file] >= 0).toArray();
      if (valued == 0 || withValues.length == 0) {
        return THOUSANDTHS;
      }
      int low = Arrays.stream(withValues).map(file -> ofFiles.low[file]).min().orElseThrow();
      int high = Arrays.stream(withValues).map(file -> ofFiles.high[file]).max().orElseThrow();
      int inside = below[high + 1] - below[low];
      return Math.max(1, (THOUSANDTHS * inside + valued - 1) / valued);
    }

    /** The rank ranges of {@code count} new files, given each row's file. */
    RankRanges ranges(int[] rows, int[] file, int count) {
      RankRanges of = new RankRanges(count);
      Arrays.fill(of.low, below.length - 2);
      Arrays.fill(of.high, -1);
      for (int row = 0; row < rows.length; row++) {
        int rank = ranks[rows[row]];
        of.hasNulls[file[row]] |= rank < 0;
        of.low[file[row]] = rank < 0 ? of.low[file[row]] : Math.min(of.low[file[row]], rank);
        of.high[file[row]] = Math.max(of.high[file[row]], rank);
      }
      return of;
    }

    /** The share of the filters {@code column = value} that read a file whose range was found from so many rows: 1 of real bounds. */
    double share(RankRanges of, int file, int rows, double scale) {
      if (of.high[file] < 0) {
        return 0;
      }
      double share = (double) (below[of.high[file] + 1] - below[of.low[file]]) / Math.max(1, below[below.length - 1]);
      // The values of n rows span (n - 1) / (n + 1) of the interval that they are drawn from, on average.
      double span = rows > 1 ? (double) (rows + 1) / (rows - 1) : 1;
      return of.low[file] < of.high[file] ? Math.min(share * span, 1) * scale : share;
    }

    /** The share of a file that a box reads by this column, once the file is cut to {@code scale} times its range. */
    double read(RankRanges of, int file, int box, double scale) {
      int low = of.low[file];
      int high = of.high[file];
      if (ofBoxes.hasNulls[box] && of.hasNulls[file]) {
        return 1;
      }
      if (ofBoxes.low[box] > high || ofBoxes.high[box] < low) {
        return 0;
      }
      int inside = Math.min(ofBoxes.high[box], high) - Math.max(ofBoxes.low[box], low) + 1;
      // A range that covers a share s touches slices of width w that cover s + w on average, as in the fit.
      return scale == 1 ? 1 : Math.min((double) inside / Math.max(1, high - low + 1) + scale, 1);
    }
  }

  /**
   * A predicted rewrite.
   *
   * @param costs what filters on the new files cost
   * @param readProbability of each row of the rewritten files, in order: that of its new file
   */
  record Rewritten(double[] costs, double[] readProbability, int files) {}

  /** Spreads about so many rows. If {@code alike} is given, row i takes the values of row {@code alike[i]}, see {@link #rowsAlike}. */
  PartitionRows(BoundedFiles described, int rows, UpkeepRequest request, int[] alike) {
    this.request = request;
    workload = request.goesByQueries(described) ? request.workload().orElseThrow() : null;
    asked = workload == null ? List.of() : workload.queries().stream().filter(query -> !query.boxes().isEmpty()).toList();
    List<ColumnBounds> bounds = described.columns().stream().map(each -> each.isOpen() ? each.spanned() : each).toList();
    files = new BoundedFiles(described.partitions(), described.rows(), described.sizes(), bounds);
    SpreadRows spread = SpreadRows.of(files, rows);
    places = spread.places();
    sample = alike == null ? spread.sample() : spread.sample().take(alike);
    List<KeyBox> boxes = asked.stream().flatMap(query -> query.boxes().stream()).toList();
    for (int place = 0; place < bounds.size(); place++) {
      double counts = request.weights()[place];
      if (counts > 0) {
        List<String> name = bounds.get(place).column().parts();
        List<KeyRange> ranges = boxes.stream().map(box -> box.range(name)).toList();
        Column column = Column.of(bounds.get(place), sample.columns().get(place), request.kept().get(place), counts, ranges);
        columns.add(column);
      }
    }
    weights = workload == null ? columns.stream().mapToDouble(Column::weight).toArray() : new double[] {1};
    int[] ones = new int[files.count()];
    Arrays.fill(ones, 1);
    today = readProbabilities(columns.stream().map(Column::ofFiles).toList(), ones, 1);
    readProbability = mean(today, files.count());
  }

  /** For a file, the share of the filters that read it, in [0, 1]. */
  double readProbability(int file) {
    return readProbability[file];
  }

  /**
   * For each row the row whose values it takes: its own, or that of a row of the files in {@code like}. Rows of another file take evenly
   * chosen rows of {@code like} that lie inside its bounds. They keep their own values if fewer rows lie inside than the file has, or if it
   * took more than 100,000,000 comparisons to find out.
   */
  int[] rowsAlike(boolean[] like) {
    int[] found = IntStream.range(0, places.length).toArray();
    int[] known = IntStream.range(0, places.length).filter(row -> like[places[row]]).toArray();
    int[] others = IntStream.range(0, like.length).filter(file -> !like[file]).toArray();
    for (int file : (long) known.length * others.length <= MOST_COMPARISONS ? others : new int[0]) {
      int[] inside = Arrays.stream(known).filter(row -> columns.stream().allMatch(column -> isInside(column, file, row))).toArray();
      int[] rows = IntStream.range(0, places.length).filter(row -> places[row] == file).toArray();
      for (int row = 0; rows.length <= inside.length && row < rows.length; row++) {
        found[rows[row]] = inside[(int) ((2L * row + 1) * inside.length / (2L * rows.length))];
      }
    }
    return found;
  }

  private static boolean isInside(Column column, int file, int row) {
    int rank = column.ranks[row];
    // Rows without a value lie in any file that has such rows.
    return rank < 0 ? column.ofFiles.hasNulls[file] : column.ofFiles.low[file] <= rank && rank <= column.ofFiles.high[file];
  }

  /** The cost of reading a file. */
  long costOf(int file) {
    return files.sizes()[file] + request.openCost();
  }

  /** The cost of some files today, given their places. */
  double[] cost(int[] of) {
    double[] costs = new double[weights.length];
    for (int place = 0; place < costs.length; place++) {
      for (int file : of) {
        costs[place] += costOf(file) * today[place][file];
      }
      costs[place] += planning(of.length);
    }
    return costs;
  }

  /** The cost of planning a scan of {@code count} files. */
  double planning(int count) {
    return ScanCost.ofPlanning(count, request.openCost());
  }

  /** The cost of all files today. */
  double[] cost() {
    return cost(IntStream.range(0, files.count()).toArray());
  }

  /** Averages costs over the columns. */
  double mean(double[] costs) {
    return ScanCost.mean(costs, weights);
  }

  /** Whether costs are within the limit on average, and those of each column within its own limit. */
  boolean isWithin(double[] costs, double[] attainable) {
    return mean(costs) <= request.limit(mean(attainable)) * ROUNDING
        && IntStream.range(0, weights.length)
            .allMatch(i -> weights[i] == 0 || costs[i] <= request.columnLimit(attainable[i]) * ROUNDING);
  }

  /** Whether filters on some files cost at least 5% less once they are rewritten to files of new costs. */
  boolean gainsEnough(int[] of, double[] made) {
    return of.length > 0 && ScanCost.isLess(mean(cost(of)), mean(made));
  }

  /** Averages a figure of the rows over each file; 0 for a file without rows. */
  double[] average(double[] ofRows) {
    double[] sums = new double[files.count()];
    int[] rows = new int[sums.length];
    for (int row = 0; row < places.length; row++) {
      sums[places[row]] += ofRows[row];
      rows[places[row]]++;
    }
    return IntStream.range(0, sums.length).mapToDouble(file -> sums[file] / Math.max(rows[file], 1)).toArray();
  }

  /** Whether a scored set has less than half of the partition's bytes, and so gets 2/3 of the target size. */
  boolean usesSmallerTarget(int[] of) {
    return 2 * bytes(of) < files.bytes();
  }

  private long bytes(int[] of) {
    return Arrays.stream(of).mapToLong(file -> files.sizes()[file]).sum();
  }

  /** The cost of all files once some are rewritten to files of new costs. */
  double[] after(int[] of, double[] made) {
    double[] costs = cost();
    double[] old = cost(of);
    Arrays.setAll(costs, place -> costs[place] - old[place] + made[place]);
    return costs;
  }

  /**
   * For each column, the share of the rows' values that lies between the bounds of some files, in thousandths from 1 to 1,000, and 1,000 in
   * columns that do not count. Empty for all files and for none, which are no part of the partition.
   */
  int[] extents(int[] of) {
    if (of.length == 0 || of.length == files.count()) {
      return new int[0];
    }
    Iterator<Column> counting = columns.iterator();
    return Arrays.stream(request.weights()).mapToInt(weight -> weight > 0 ? counting.next().extent(of) : THOUSANDTHS).toArray();
  }

  /** Predicts a rewrite of some files, whose places ascend. */
  Rewritten rewritten(int[] of, boolean forGain) {
    boolean[] isMine = new boolean[files.count()];
    Arrays.stream(of).forEach(file -> isMine[file] = true);
    int[] rows = IntStream.range(0, places.length).filter(row -> isMine[places[row]]).toArray();
    if (rows.length == 0) {
      return new Rewritten(new double[weights.length], new double[0], 0);
    }
    long size = bytes(of);
    int count = request.sizes().expectedFiles(forGain && usesSmallerTarget(of) ? UpkeepRequest.sizeForSmallerTarget(size) : size);
    int coarse = LaidOutSample.coarse(count, rows.length);
    int[] file = newFiles(rows, coarse, extents(of));
    int[] counts = new int[Arrays.stream(file).max().orElseThrow() + 1];
    Arrays.stream(file).forEach(each -> counts[each]++);
    double scale = ScanCost.root((double) coarse / count, (int) columns.stream().filter(column -> column.weight > 0).count());
    double[][] found = readProbabilities(columns.stream().map(column -> column.ranges(rows, file, counts.length)).toList(), counts, scale);
    double ofRow = (double) (size + request.openCost() * count) / rows.length;
    double[] costs = new double[weights.length];
    for (int place = 0; place < costs.length; place++) {
      for (int each = 0; each < counts.length; each++) {
        costs[place] += counts[each] * ofRow * found[place][each];
      }
      costs[place] += planning(count);
    }
    double[] ofFile = mean(found, counts.length);
    return new Rewritten(costs, Arrays.stream(file).mapToDouble(each -> ofFile[each]).toArray(), count);
  }

  /** Averages read probabilities of files over the columns. */
  private double[] mean(double[][] found, int count) {
    double sum = 0;
    double[] mean = new double[count];
    for (int place = 0; place < weights.length; place++) {
      sum += weights[place];
      for (int file = 0; file < count; file++) {
        mean[file] += weights[place] * found[place][file];
      }
    }
    double all = sum == 0 ? 1 : sum;
    Arrays.setAll(mean, file -> mean[file] / all);
    return mean;
  }

  /** The share of the filters that read each file, by its ranges and the number of rows from which these were found. */
  private double[][] readProbabilities(List<RankRanges> ranges, int[] sampledRows, double scale) {
    double[][] found = new double[weights.length][sampledRows.length];
    for (int place = 0; workload == null && place < found.length; place++) {
      for (int file = 0; file < sampledRows.length; file++) {
        found[place][file] = columns.get(place).share(ranges.get(place), file, sampledRows[file], scale);
      }
    }
    for (int file = 0; workload != null && file < sampledRows.length; file++) {
      double sum = 0;
      int box = 0;
      for (PositionBoxes.Query query : asked) {
        double ofQuery = 0;
        for (int end = box + query.boxes().size(); box < end; box++) {
          double read = 1;
          for (int place = 0; place < columns.size(); place++) {
            read *= columns.get(place).read(ranges.get(place), file, box, scale);
          }
          ofQuery += read;
        }
        sum += query.weight() * Math.min(ofQuery, 1);
      }
      found[0][file] = sum / workload.weight();
    }
    return found;
  }

  /** The new file of each row of a rewrite: a layout is fitted to every second one. */
  private int[] newFiles(int[] rows, int count, int[] extents) {
    if (count == 1) {
      return new int[rows.length];
    }
    int leading = Math.min(extents.length, request.layout().leadingOrders().size());
    LayoutRequest wish = request.layout().of(count).spanning(Arrays.copyOfRange(extents, leading, extents.length));
    List<ClusteringColumn> names = files.columns().stream().map(ColumnBounds::column).toList();
    Sample mine = sample.take(rows);
    Sample half = sample.take(IntStream.range(0, (rows.length + 1) / 2).map(row -> rows[2 * row]).toArray());
    Layout uncut = Layout.uncut(names, half, wish);
    return (workload == null ? uncut.cut(half, wish, null, 0) : uncut.cut(half, wish, workload.boxesIn(uncut), workload.share()))
        .filesOf(mine);
  }
}
