package io.icebergzorder.core;

import io.icebergzorder.core.BoxCosts.ExtentCosts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** Grows a box tree on a sample: splits where files are expected to be read least, as Python does, bit for bit. */
// The expected cost of a side is its rows times the cost of its box, by ExtentCosts or QueryCosts. Every operation on doubles is a
// comparison, a halving, an addition, a product or one division, in a fixed order with ties to the first.
// Source: k-d trees with a cost model, as in Z. Yang and others, "Qd-tree: Learning Data Layouts for Big Data Analytics", SIGMOD 2020.
final class BoxTreeGrower {
  /** By column and row. Rows are looked at in many orders, and half the bytes stay in caches that are nearer. */
  private final char[][] positions;

  private final int bits;
  private final RowsPerFile sizes;
  private final int leading;

  /** By column: the rows in the order of their positions. A node is the same interval in each. */
  private final int[][] ordered;

  private final int[] scratch;
  private final List<BoxTree.Node> nodes = new ArrayList<>();

  /** The best split of a node so far. */
  private record Candidate(double cost, int column, int start, int files) {}

  private BoxTreeGrower(int[][] positions, int[][] below, int rows, int bits, int files, double tolerance, int leading) {
    this.positions = new char[positions.length][rows];
    this.bits = bits;
    this.leading = leading;
    this.sizes = new RowsPerFile((double) rows / files, tolerance);
    this.ordered = new int[positions.length][];
    this.scratch = new int[rows];
    for (int column = 0; column < positions.length; column++) {
      for (int row = 0; row < rows; row++) {
        this.positions[column][row] = (char) positions[column][row];
      }
      ordered[column] = inOrder(positions[column], below[column]);
    }
  }

  /** Grows a tree with a wanted number of files on positions by active column and row; the workload may be null. */
  static BoxTree grow(
      int[][] positions,
      int rows,
      int bits,
      int files,
      double tolerance,
      double[] weights,
      int leading,
      QueryBoxes workload,
      double workloadShare) {
    int[][] below = new int[positions.length][];
    for (int column = 0; column < positions.length; column++) {
      below[column] = rowsBelow(positions[column], bits);
    }
    ExtentCosts extents = new ExtentCosts(below, weights, leading);
    boolean knows = workload != null && positions.length > 0 && rows > 0;
    BoxCosts costs = knows ? QueryCosts.of(below, rows, workload, extents, workloadShare, leading) : extents;
    BoxTreeGrower grower = new BoxTreeGrower(positions, below, rows, bits, files, tolerance, leading);
    grower.node(0, positions.length == 0 ? 0 : rows, files, costs);
    return new BoxTree(grower.nodes, bits, positions.length);
  }

  static int[] rowsBelow(int[] positions, int bits) {
    int[] below = new int[(1 << bits) + 1];
    for (int position : positions) {
      below[position + 1]++;
    }
    for (int position = 1; position < below.length; position++) {
      below[position] += below[position - 1];
    }
    return below;
  }

  private static int[] inOrder(int[] positions, int[] below) {
    int[] next = below.clone();
    int[] ordered = new int[positions.length];
    for (int row = 0; row < positions.length; row++) {
      ordered[next[positions[row]]++] = row;
    }
    return ordered;
  }

  /** Adds the node of the rows in an interval, and all nodes below it. */
  private void node(int from, int to, int files, BoxCosts costs) {
    BoxTree.Leaf box = leaf(from, to, files);
    boolean canBeSplit = files > 1 && to > from;
    BoxCosts inside = canBeSplit ? costs.inside(box.lower(), box.upper()) : costs;
    Candidate best = canBeSplit ? best(from, to, files, inside) : null;
    if (best == null) {
      nodes.add(box);
      return;
    }
    nodes.add(new BoxTree.Split(best.column(), best.start()));
    int middle = from;
    for (int[] rows : ordered) {
      middle = part(rows, from, to, best);
    }
    node(from, middle, best.files(), inside);
    node(middle, to, files - best.files(), inside);
  }

  /** Moves the rows of the left side before those of the right side, each in their order. */
  private int part(int[] rows, int from, int to, Candidate split) {
    int left = from;
    int right = 0;
    for (int i = from; i < to; i++) {
      int row = rows[i];
      if (positions[split.column()][row] < split.start()) {
        rows[left++] = row;
      } else {
        scratch[right++] = row;
      }
    }
    System.arraycopy(scratch, 0, rows, left, right);
    return left;
  }

  private BoxTree.Leaf leaf(int from, int to, int files) {
    int[] lower = new int[positions.length];
    int[] upper = new int[positions.length];
    Arrays.fill(upper, (1 << bits) - 1);
    for (int column = 0; from < to && column < positions.length; column++) {
      lower[column] = positions[column][ordered[column][from]];
      upper[column] = positions[column][ordered[column][to - 1]];
    }
    return new BoxTree.Leaf(files, lower, upper);
  }

  /** The split with the least cost within the tolerance, else the most even one, else none. */
  private Candidate best(int from, int to, int files, BoxCosts costs) {
    for (int column = 0; column < leading; column++) {
      if (position(column, from) < position(column, to - 1)) {
        Candidate best = betweenValues(from, to, files, column);
        if (best != null) {
          return best;
        }
        break;
      }
    }
    Candidate best = withinTolerance(from, to, files, costs);
    return best != null ? best : mostEven(from, to, files);
  }

  private int position(int column, int place) {
    return positions[column][ordered[column][place]];
  }

  private Candidate withinTolerance(int from, int to, int files, BoxCosts costs) {
    Candidate best = null;
    for (int column = leading; column < positions.length; column++) {
      int[] starts = starts(column, from, to);
      int half = files / 2;
      int quarter = Math.max(1, files / 4);
      int[] shares = {half - quarter, half, half + quarter};
      int[][] cuts = new int[shares.length + 1][];
      for (int i = 0; i < shares.length; i++) {
        cuts[i] = sizes.cuts(starts, to - from, shares[i], files);
      }
      cuts[shares.length] = sizes.cutsAt(weightedCuts(costs.ends(column), column, from, to), to - from, files);
      int[] edges = Arrays.stream(cuts).flatMapToInt(Arrays::stream).sorted().distinct().toArray();
      SplitBoxes boxes = new SplitBoxes(positions, leading, column, ordered[column], from, to, edges);
      for (int i = 0; i < cuts.length; i++) {
        for (int cut : cuts[i]) {
          int share = i < shares.length ? shares[i] : RowsPerFile.nearestShare(cut, to - from, files);
          double bound = best == null ? Double.POSITIVE_INFINITY : best.cost();
          double cost = boxes.cost(costs, cut, share, files, bound);
          if (best == null || cost < bound) {
            best = new Candidate(cost, column, position(column, from + cut), share);
          }
        }
      }
    }
    return best;
  }

  /** By number of rows on the left side of an end, the weight of all of those. */
  private SortedMap<Integer, Double> weightedCuts(BoxCosts.Ends ends, int column, int from, int to) {
    SortedMap<Integer, Double> weights = new TreeMap<>();
    for (int i = 0; i < ends.starts().length; i++) {
      weights.merge(rowsBefore(ends.starts()[i], column, from, to), ends.weights()[i], Double::sum);
    }
    return weights;
  }

  /** The number of rows of an interval whose position lies below another. */
  private int rowsBefore(int start, int column, int from, int to) {
    int low = from;
    int high = to;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (position(column, middle) < start) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - from;
  }

  private int[] starts(int column, int from, int to) {
    int[] rows = ordered[column];
    char[] of = positions[column];
    int count = 0;
    for (int i = from + 1; i < to; i++) {
      scratch[count] = i - from;
      count += of[rows[i]] == of[rows[i - 1]] ? 0 : 1;
    }
    return Arrays.copyOf(scratch, count);
  }

  /** The split of a leading column where files keep to the tolerance, come out even, and as many on either side. */
  // Unevenness counts in sixteenths of the mean: of splits about as good the most central one is taken, and the tree stays flat.
  private Candidate betweenValues(int from, int to, int files, int column) {
    Candidate best = null;
    int bestOffCentre = 0;
    int rows = to - from;
    for (int cut : starts(column, from, to)) {
      int share = RowsPerFile.nearestShare(cut, rows, files);
      if (sizes.isTolerated(cut, share) && sizes.isTolerated(rows - cut, files - share)) {
        double left = Math.abs((double) cut / share - sizes.mean());
        double right = Math.abs((double) (rows - cut) / (files - share) - sizes.mean());
        double uneven = Math.floor(Math.max(left, right) / sizes.mean() * 16.0);
        int offCentre = Math.abs(2 * share - files);
        if (best == null || uneven < best.cost() || (uneven == best.cost() && offCentre < bestOffCentre)) {
          best = new Candidate(uneven, column, position(column, from + cut), share);
          bestOffCentre = offCentre;
        }
      }
    }
    return best;
  }

  /** The split with any share of the files that is the most even. */
  private Candidate mostEven(int from, int to, int files) {
    Candidate best = null;
    long rows = to - from;
    for (int column = 0; column < positions.length; column++) {
      for (int cut : starts(column, from, to)) {
        int share = RowsPerFile.nearestShare(cut, rows, files);
        double uneven = (double) Math.abs((long) cut * files - share * rows) / Math.min(share, files - share);
        if (best == null || uneven < best.cost()) {
          best = new Candidate(uneven, column, position(column, from + cut), share);
        }
      }
    }
    return best;
  }
}
