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

/** The rows of a partition, made of nothing but its files' bounds: how much filters read, today and after a rewrite. */
// A file costs its bytes and the open cost, times the share of the filters that read it: {@code column = value} with the value of each
// row, or a workload's. Costs are by column, or one of a workload.
// Of a column without any bounds every file with values is read, and its rows get values in an order that no other column follows.
// The order of sums is part of the figures: Python adds up in the same one.
final class PartitionRows {
  /** Factor within which two rounded sums count as equal. */
  private static final double AS_MUCH = 1 + 1e-9;

  private static final long MOST_LOOKED_AT = 100_000_000;

  /** A whole partition, in thousandths of it. */
  private static final int WHOLE = 1000;

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

  /** The rank range of each file in a column, with a highest rank of -1 without values, and whether the file has rows without a value. */
  private record Extents(int[] low, int[] high, boolean[] lacks) {
    Extents(int count) {
      this(new int[count], new int[count], new boolean[count]);
    }
  }

  /**
   * A column that counts, and its values' ranks among these and the bounds of the files.
   *
   * @param weight 0 where there is no value
   * @param ranks of each row; -1 without a value
   * @param below for each rank and one more, the rows whose values are below
   * @param today of each file
   * @param wanted of each box of the queries, and whether it wants rows without a value
   */
  private record Column(double weight, int[] ranks, int[] below, Extents today, Extents wanted) {
    static Column of(ColumnBounds bounds, KeyColumn keys, Beginning kept, double weight, List<KeyRange> boxes) {
      Ranks values = Ranks.among(kept, bounds.lower(), bounds.upper(), keys);
      int count = Math.max(1, values.size());
      int[] ranks = values.of(keys);
      int[] below = new int[count + 1];
      Arrays.stream(ranks).filter(rank -> rank >= 0).forEach(rank -> below[rank + 1]++);
      Arrays.parallelPrefix(below, Integer::sum);
      Extents today = new Extents(values.of(bounds.lower()), values.of(bounds.upper()), new boolean[bounds.size()]);
      for (int file = 0; file < bounds.size(); file++) {
        today.lacks[file] = bounds.valued()[file] < 1;
        if (!bounds.isBounded(file)) {
          // A file without bounds is read for every value, a file without values for none.
          today.low[file] = 0;
          today.high[file] = bounds.hasValues(file) ? count - 1 : -1;
        }
      }
      Extents wanted = new Extents(boxes.size());
      for (int box = 0; box < boxes.size(); box++) {
        // A value is wanted if anything is that begins like what is kept of it.
        wanted.low[box] = before(boxes.get(box).start(), values, kept);
        wanted.high[box] = before(boxes.get(box).stop(), values, Beginning.WHOLE) - 1;
        wanted.lacks[box] = boxes.get(box).stop().equals(KeyEdge.END);
      }
      return new Column(below[count] > 0 ? weight : 0, ranks, below, today, wanted);
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
      int[] withValues = Arrays.stream(of).filter(file -> today.high[file] >= 0).toArray();
      if (valued == 0 || withValues.length == 0) {
        return WHOLE;
      }
      int low = Arrays.stream(withValues).map(file -> today.low[file]).min().orElseThrow();
      int high = Arrays.stream(withValues).map(file -> today.high[file]).max().orElseThrow();
      int inside = below[high + 1] - below[low];
      return Math.max(1, (WHOLE * inside + valued - 1) / valued);
    }

    /** The extents of so many new files, given the rows and the file of each. */
    Extents extents(int[] rows, int[] file, int count) {
      Extents of = new Extents(count);
      Arrays.fill(of.low, below.length - 2);
      Arrays.fill(of.high, -1);
      for (int row = 0; row < rows.length; row++) {
        int rank = ranks[rows[row]];
        of.lacks[file[row]] |= rank < 0;
        of.low[file[row]] = rank < 0 ? of.low[file[row]] : Math.min(of.low[file[row]], rank);
        of.high[file[row]] = Math.max(of.high[file[row]], rank);
      }
      return of;
    }

    /** The share of the filters {@code column = value} that read a file of so many rows. */
    double share(Extents of, int file, int rows, double smaller) {
      if (of.high[file] < 0) {
        return 0;
      }
      double share = (double) (below[of.high[file] + 1] - below[of.low[file]]) / Math.max(1, below[below.length - 1]);
      // So many even draws of an interval span (n - 1) / (n + 1) of it on average.
      double span = rows > 1 ? (double) (rows + 1) / (rows - 1) : 1;
      return of.low[file] < of.high[file] ? Math.min(share * span, 1) * smaller : share;
    }

    /** The share of a file that a box reads by this column, once it is cut into so much smaller ones. */
    double read(Extents of, int file, int box, double smaller) {
      int low = of.low[file];
      int high = of.high[file];
      if (wanted.lacks[box] && of.lacks[file]) {
        return 1;
      }
      if (wanted.low[box] > high || wanted.high[box] < low) {
        return 0;
      }
      int inside = Math.min(wanted.high[box], high) - Math.max(wanted.low[box], low) + 1;
      // What is wanted and a slice at each of its ends, as layouts are grown by.
      return smaller == 1 ? 1 : Math.min((double) inside / Math.max(1, high - low + 1) + smaller, 1);
    }
  }

  /** A rewrite: the costs and the number of new files; for each row of the rewritten files, in order, its new file's read probability. */
  record Rewritten(double[] costs, double[] readProbability, int files) {}

  /** Spreads about so many rows, which are taken to lie as others if {@code alike} is not null, see {@link #rowsAlike}. */
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
    today = readProbabilities(columns.stream().map(Column::today).toList(), ones, 1);
    readProbability = mean(today, files.count());
  }

  /** For a file, the share of the filters that read it, in [0, 1]. */
  double readProbability(int file) {
    return readProbability[file];
  }

  /** For each row the one that it is taken to lie as: of other files evenly one of those of {@code like} inside. */
  // Rows stay as they are where fewer are inside, or where it took more than 100,000,000 looks at a row.
  int[] rowsAlike(boolean[] like) {
    int[] found = IntStream.range(0, places.length).toArray();
    int[] known = IntStream.range(0, places.length).filter(row -> like[places[row]]).toArray();
    int[] others = IntStream.range(0, like.length).filter(file -> !like[file]).toArray();
    for (int file : (long) known.length * others.length <= MOST_LOOKED_AT ? others : new int[0]) {
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
    return rank < 0 ? column.today.lacks[file] : column.today.low[file] <= rank && rank <= column.today.high[file];
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

  /** Whether costs are within the limit on average, and for each column that counts. */
  boolean isWithin(double[] costs, double[] attainable) {
    return mean(costs) <= request.limit(mean(attainable)) * AS_MUCH
        && IntStream.range(0, weights.length)
            .allMatch(i -> weights[i] == 0 || costs[i] <= request.columnLimit(attainable[i]) * AS_MUCH);
  }

  /** Whether filters on some files cost less once they are rewritten to files of new costs. */
  boolean gains(int[] of, double[] made) {
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

  /** Whether files chosen for gain are written to smaller files: if they have less than half of the bytes. */
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
    return Arrays.stream(request.weights()).mapToInt(weight -> weight > 0 ? counting.next().extent(of) : WHOLE).toArray();
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
    double smaller = ScanCost.root((double) coarse / count, (int) columns.stream().filter(column -> column.weight > 0).count());
    double[][] found = readProbabilities(columns.stream().map(column -> column.extents(rows, file, counts.length)).toList(), counts, smaller);
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

  /** The share of the filters that read each file, by its extent in each column and its rows. */
  private double[][] readProbabilities(List<Extents> extents, int[] rows, double smaller) {
    double[][] found = new double[weights.length][rows.length];
    for (int place = 0; workload == null && place < found.length; place++) {
      for (int file = 0; file < rows.length; file++) {
        found[place][file] = columns.get(place).share(extents.get(place), file, rows[file], smaller);
      }
    }
    for (int file = 0; workload != null && file < rows.length; file++) {
      double sum = 0;
      int box = 0;
      for (PositionBoxes.Query query : asked) {
        double ofQuery = 0;
        for (int end = box + query.boxes().size(); box < end; box++) {
          double read = 1;
          for (int place = 0; place < columns.size(); place++) {
            read *= columns.get(place).read(extents.get(place), file, box, smaller);
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
