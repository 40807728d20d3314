package io.icebergzorder.core;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Chooses the columns that files are best cut by for a workload, as Python's {@code choose_columns} does.
 *
 * <p>Trees are grown, of 64 files at most. The column without which the queries read least goes, as long as there are more than
 * wanted, or they read no more without it.
 */
public final class WorkloadColumns {
  /** So many columns are chosen at most, unless told. */
  public static final int MOST = 4;

  /** Of so many columns they are chosen at most. */
  public static final int CANDIDATES = 12;

  private static final int FILES = 64;

  /** Sampled rows that are looked at, at most. */
  private static final int ROWS = 50_000;

  private final int[][] positions;
  private final int rows;
  private final int bits;
  private final int files;
  private final double tolerance;
  private final QueryBoxes workload;
  private final BoxCosts costs;

  private WorkloadColumns(
      int[][] positions, int bits, int files, double tolerance, QueryBoxes workload, BoxCosts costs) {
    this.positions = positions;
    this.rows = positions[0].length;
    this.bits = bits;
    this.files = Math.min(files, FILES);
    this.tolerance = tolerance;
    this.workload = workload;
    this.costs = costs;
  }

  /**
   * Chooses among columns by a sample.
   *
   * @param candidates between 1 and {@link #CANDIDATES}
   * @param sample their sampled rows, in any order
   * @param request what a layout of all of them is to be like
   * @param workload puts what queries want into the positions of a layout
   * @param most the most columns to choose, at least 1
   * @return the columns, as {@link #choose(int[][], int, int, double, QueryBoxes, int)} orders them
   */
  public static List<ClusteringColumn> choose(
      List<ClusteringColumn> candidates, Sample sample, LayoutRequest request, Function<Layout, QueryBoxes> workload, int most) {
    Sample some = sample.evenly(ROWS);
    LayoutRequest even =
        new LayoutRequest(
            request.files(), EvenCuts.KIND, request.curve(), List.of(), request.maxBoundaries(), request.sizeTolerance(), new double[0]);
    Layout layout = Layout.fit(candidates, some, even);
    List<LayoutColumn> columns = layout.columns();
    int[][] positions = columns.stream().map(column -> Layout.positions(column, some)).toArray(int[][]::new);
    return choose(positions, layout.bits(), request.files(), request.sizeTolerance(), workload.apply(layout), most).stream()
        .map(place -> columns.get(place).column())
        .toList();
  }

  /** What queries read when files are cut by some columns, and those that any file is cut by. */
  private record Read(double rows, List<Integer> columns) {}

  /**
   * Chooses.
   *
   * @param positions of the sampled rows by column, in [0, 2^bits)
   * @param bits the bits of a position, in [0, 16]
   * @param files the wanted number of files, at least 1
   * @param tolerance how far a file's share of the sampled rows may lie from the mean, in [0, 1)
   * @param workload what queries want of the columns
   * @param most the most columns to choose, at least 1
   * @return places of columns, the one without which queries would read most first, and of equal ones the first; none where no
   *     query is spared any row
   */
  public static List<Integer> choose(
      int[][] positions, int bits, int files, double tolerance, QueryBoxes workload, int most) {
    if (positions.length == 0 || positions[0].length == 0) {
      return List.of();
    }
    int[][] below = new int[positions.length][];
    for (int column = 0; column < below.length; column++) {
      below[column] = BoxTreeGrower.rowsBelow(positions[column], bits);
    }
    double[] weights = new double[below.length];
    Arrays.fill(weights, 1.0);
    ExtentCosts extents = new ExtentCosts(below, weights, 0);
    BoxCosts costs = QueryCosts.of(below, positions[0].length, workload, extents, 1.0, 0);
    if (costs == extents) {
      // No query counts.
      return List.of();
    }
    int[] tops = new int[below.length];
    Arrays.fill(tops, (1 << bits) - 1);
    BoxCosts ofAll = costs.inside(new int[below.length], tops);
    return new WorkloadColumns(positions, bits, files, tolerance, workload, ofAll).chosen(most);
  }

  private List<Integer> chosen(int most) {
    Read least = read(IntStream.range(0, positions.length).boxed().toList());
    while (!least.columns().isEmpty()) {
      List<Integer> columns = least.columns();
      List<Read> without =
          columns.stream().map(column -> read(columns.stream().filter(other -> !other.equals(column)).toList())).toList();
      int needless = 0;
      for (int place = 1; place < without.size(); place++) {
        // Of equal ones the last goes.
        needless = without.get(place).rows() <= without.get(needless).rows() ? place : needless;
      }
      if (columns.size() <= most && without.get(needless).rows() > least.rows()) {
        return IntStream.range(0, columns.size())
            .boxed()
            .sorted(Comparator.comparingDouble(place -> -without.get(place).rows()))
            .map(columns::get)
            .toList();
      }
      least = without.get(needless);
    }
    return List.of();
  }

  private Read read(List<Integer> columns) {
    int[] places = columns.stream().mapToInt(each -> each).toArray();
    int[][] of = of(positions, places);
    QueryBoxes wanted =
        new QueryBoxes(of(workload.lower(), places), of(workload.upper(), places), workload.query(), workload.weights());
    double[] weights = new double[places.length];
    Arrays.fill(weights, 1.0);
    List<BoxTree.Node> nodes =
        BoxTreeGrower.grow(of, rows, bits, files, tolerance, weights, 0, wanted, 1.0).nodes();
    TreeSet<Integer> split = new TreeSet<>();
    for (BoxTree.Node node : nodes) {
      if (node instanceof BoxTree.Split cut) {
        split.add(places[cut.column()]);
      }
    }
    return new Read(rowsRead(nodes, of), new ArrayList<>(split));
  }

  private static int[][] of(int[][] columns, int[] places) {
    return Arrays.stream(places).mapToObj(place -> columns[place]).toArray(int[][]::new);
  }

  /** Sums up the rows of leaves, each as often as queries read it: the sum that is nearest to the exact one, as Python's fsum finds it. */
  private double rowsRead(List<BoxTree.Node> nodes, int[][] of) {
    List<List<Integer>> leaves = new ArrayList<>();
    collect(nodes, 0, of, IntStream.range(0, rows).boxed().toList(), leaves);
    BigDecimal total = BigDecimal.ZERO;
    for (List<Integer> leaf : leaves) {
      if (leaf.isEmpty()) {
        continue;
      }
      int[] low = new int[positions.length];
      int[] high = new int[positions.length];
      for (int column = 0; column < positions.length; column++) {
        int[] values = positions[column];
        low[column] = leaf.stream().mapToInt(row -> values[row]).min().getAsInt();
        high[column] = leaf.stream().mapToInt(row -> values[row]).max().getAsInt();
      }
      total = total.add(new BigDecimal(leaf.size() * costs.of(low, high, 1)));
    }
    return total.doubleValue();
  }

  /** Divides rows among the leaves of the tree at a node, and tells the place of the node behind it. */
  private static int collect(
      List<BoxTree.Node> nodes, int node, int[][] of, List<Integer> rows, List<List<Integer>> leaves) {
    if (!(nodes.get(node) instanceof BoxTree.Split split)) {
      leaves.add(rows);
      return node + 1;
    }
    int[] values = of[split.column()];
    int next =
        collect(nodes, node + 1, of, rows.stream().filter(row -> values[row] < split.start()).toList(), leaves);
    return collect(nodes, next, of, rows.stream().filter(row -> values[row] >= split.start()).toList(), leaves);
  }
}
