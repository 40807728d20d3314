package io.icebergzorder.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Grows a box tree on a sample: splits where the files that come of it are expected to be read least.
 *
 * <p>The expected cost of a side is its rows times the cost of its box, and a box that is still to be cut into f files
 * costs what is left of its extents when they are halved, the largest first, until f files are reached (as water fills a
 * vessel from the deepest point). An extent is the number of all sampled rows between the smallest and the largest
 * position in the box, both included, so that a heavy value counts with its whole mass.
 *
 * <p>Every operation on doubles is a comparison, a halving, an addition, a product or one division, in a fixed order with
 * ties to the first, so that Python's {@code grow} computes the same tree bit for bit.
 *
 * <p>Source: k-d trees with a cost model, as in the greedy cuts of Z. Yang and others, "Qd-tree: Learning Data Layouts
 * for Big Data Analytics", SIGMOD 2020, with extents in place of a workload.
 */
final class BoxTreeGrower {
  /** Split points tried for each share of the files. */
  private static final int POINTS = 9;

  private final int[][] positions;
  private final int bits;
  private final double perFile;
  private final double least;
  private final double most;
  private final int leading;
  private final SplitCosts.Extents extents;

  /** By column: the rows in the order of their positions. A node is the same interval in each. */
  private final int[][] ordered;

  private final int[] moved;
  private final List<BoxTree.Node> nodes = new ArrayList<>();

  /** The best split of a node so far. */
  private record Candidate(double cost, int column, int start, int files) {}

  private BoxTreeGrower(
      int[][] positions, int rows, int bits, int files, double tolerance, double[] weights, int leading) {
    this.positions = positions;
    this.bits = bits;
    this.leading = leading;
    this.perFile = (double) rows / files;
    this.least = (1.0 - tolerance) * perFile;
    this.most = (1.0 + tolerance) * perFile;
    this.ordered = new int[positions.length][];
    this.moved = new int[rows];
    int[][] below = new int[positions.length][];
    for (int column = 0; column < positions.length; column++) {
      below[column] = rowsBelow(positions[column], bits);
      ordered[column] = inOrder(positions[column], below[column]);
    }
    this.extents = new SplitCosts.Extents(positions, below, weights, leading);
  }

  /**
   * Grows a tree with a wanted number of files.
   *
   * @param positions by active column and sampled row, in [0, 2^bits)
   * @param rows the number of sampled rows
   * @param bits the bits of a position, in [0, 16]
   * @param files the wanted number of files, at least 1; there are as many
   * @param tolerance how far a file's share of the sampled rows may lie from the mean, in [0, 1). Where no split keeps
   *     to it, the most even one is taken
   * @param weights of every active column, positive; those of leading columns are not looked at
   * @param leading the number of leading columns that are split first, one after the other
   */
  static BoxTree grow(
      int[][] positions, int rows, int bits, int files, double tolerance, double[] weights, int leading) {
    BoxTreeGrower grower = new BoxTreeGrower(positions, rows, bits, files, tolerance, weights, leading);
    grower.node(0, positions.length == 0 ? 0 : rows, files);
    return new BoxTree(grower.nodes, bits, positions.length);
  }

  private static int[] rowsBelow(int[] positions, int bits) {
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
  private void node(int from, int to, int files) {
    Candidate best = files > 1 && to > from ? best(from, to, files) : null;
    if (best == null) {
      nodes.add(leaf(from, to, files));
      return;
    }
    nodes.add(new BoxTree.Split(best.column(), best.start()));
    int middle = from;
    for (int[] rows : ordered) {
      middle = part(rows, from, to, best);
    }
    node(from, middle, best.files());
    node(middle, to, files - best.files());
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
        moved[right++] = row;
      }
    }
    System.arraycopy(moved, 0, rows, left, right);
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
  private Candidate best(int from, int to, int files) {
    for (int column = 0; column < leading; column++) {
      if (position(column, from) < position(column, to - 1)) {
        Candidate best = betweenValues(from, to, files, column);
        if (best != null) {
          return best;
        }
        break;
      }
    }
    Candidate best = withinTolerance(from, to, files);
    return best != null ? best : mostEven(from, to, files);
  }

  private int position(int column, int place) {
    return positions[column][ordered[column][place]];
  }

  /** The split of a clustering column with the least cost within the tolerance. */
  private Candidate withinTolerance(int from, int to, int files) {
    Candidate best = null;
    for (int column = leading; column < positions.length; column++) {
      int[] starts = starts(column, from, to);
      int half = files / 2;
      int quarter = Math.max(1, files / 4);
      int[] shares = {half - quarter, half, half + quarter};
      int[][] cuts = new int[shares.length][];
      for (int i = 0; i < shares.length; i++) {
        cuts[i] = cuts(starts, to - from, shares[i], files);
      }
      int[] edges = Arrays.stream(cuts).flatMapToInt(Arrays::stream).sorted().distinct().toArray();
      SplitCosts costs = new SplitCosts(extents, ordered[column], from, to, edges);
      for (int i = 0; i < shares.length; i++) {
        for (int cut : cuts[i]) {
          double cost = costs.of(cut, shares[i], files);
          if (best == null || cost < best.cost()) {
            best = new Candidate(cost, column, position(column, from + cut), shares[i]);
          }
        }
      }
    }
    return best;
  }

  /** The numbers of rows before each new position of an interval. */
  private int[] starts(int column, int from, int to) {
    int[] rows = ordered[column];
    int[] of = positions[column];
    int[] starts = new int[to - from];
    int count = 0;
    for (int i = from + 1; i < to; i++) {
      starts[count] = i - from;
      count += of[rows[i]] == of[rows[i - 1]] ? 0 : 1;
    }
    return Arrays.copyOf(starts, count);
  }

  /** The numbers of rows to try on the left side for a share of the files. */
  private int[] cuts(int[] starts, int rows, int share, int files) {
    if (share < 1 || share >= files) {
      return new int[0];
    }
    double low = Math.max(share * least, rows - (files - share) * most);
    double high = Math.min(share * most, rows - (files - share) * least);
    int first = countBelow(starts, low);
    int end = first;
    while (end < starts.length && starts[end] <= high) {
      end++;
    }
    if (end - first <= POINTS) {
      return Arrays.copyOfRange(starts, first, end);
    }
    int[] cuts = new int[POINTS];
    int count = 0;
    for (int point = 1; point <= POINTS; point++) {
      int cut = nearest(starts, first, end, low + (high - low) * point / 10.0);
      if (count == 0 || cut > cuts[count - 1]) {
        cuts[count++] = cut;
      }
    }
    return Arrays.copyOf(cuts, count);
  }

  /** The value nearest to a target in an interval, the lower one of two. */
  private static int nearest(int[] values, int first, int end, double target) {
    int above = Math.min(end - 1, Math.max(first, countBelow(values, target)));
    int beneath = Math.max(first, above - 1);
    return values[above] - target < target - values[beneath] ? values[above] : values[beneath];
  }

  private static int countBelow(int[] ascending, double value) {
    int low = 0;
    int high = ascending.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (ascending[middle] < value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /**
   * The split of a leading column where files keep to the tolerance, come out even, and as many on either side. How
   * uneven they come out counts in sixteenths of the mean, so that of many splits about as good the most central one is
   * taken and the tree stays flat.
   */
  private Candidate betweenValues(int from, int to, int files, int column) {
    Candidate best = null;
    int bestOffCentre = 0;
    int rows = to - from;
    for (int cut : starts(column, from, to)) {
      int share = nearestShare(cut, rows, files);
      if (isTolerated(cut, share) && isTolerated(rows - cut, files - share)) {
        double left = Math.abs((double) cut / share - perFile);
        double right = Math.abs((double) (rows - cut) / (files - share) - perFile);
        double uneven = Math.floor(Math.max(left, right) / perFile * 16.0);
        int offCentre = Math.abs(2 * share - files);
        if (best == null || uneven < best.cost() || (uneven == best.cost() && offCentre < bestOffCentre)) {
          best = new Candidate(uneven, column, position(column, from + cut), share);
          bestOffCentre = offCentre;
        }
      }
    }
    return best;
  }

  /** The files for so many of the rows, rounded to the nearest number in integers. */
  private static int nearestShare(int cut, long rows, int files) {
    return (int) Math.max(1, Math.min(files - 1, (2L * files * cut + rows) / (2 * rows)));
  }

  /** The split with any share of the files that is the most even. */
  private Candidate mostEven(int from, int to, int files) {
    Candidate best = null;
    long rows = to - from;
    for (int column = 0; column < positions.length; column++) {
      for (int cut : starts(column, from, to)) {
        int share = nearestShare(cut, rows, files);
        double uneven = (double) Math.abs((long) cut * files - share * rows) / Math.min(share, files - share);
        if (best == null || uneven < best.cost()) {
          best = new Candidate(uneven, column, position(column, from + cut), share);
        }
      }
    }
    return best;
  }

  private boolean isTolerated(long rows, int files) {
    return files * least <= rows && rows <= files * most;
  }
}
