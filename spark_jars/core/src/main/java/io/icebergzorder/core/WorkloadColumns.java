package io.icebergzorder.core;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Chooses the columns that files are best cut by for a workload, as Python's {@code choose_columns} does.
 *
 * <p>Trees are grown, of 64 files at most, one for each part of the table: files of one part hold rows of no other, and a query may find
 * rows in some parts only. The column without which the queries read least of all parts goes, as long as there are more than wanted, or
 * they read no more without it.
 */
public final class WorkloadColumns {
  /** So many columns are chosen at most, unless told. */
  public static final int MOST = 4;

  /** Of so many columns they are chosen at most. */
  public static final int CANDIDATES = 12;

  private static final int FILES = 64;

  /** Sampled rows that are looked at, at most. */
  private static final int ROWS = 50_000;

  /** Parts that are looked at, at most. */
  private static final int PARTS = 16;

  private final List<CostedPart> parts;
  private final int bits;
  private final double tolerance;

  private WorkloadColumns(List<CostedPart> parts, int bits, double tolerance) {
    this.parts = parts;
    this.bits = bits;
    this.tolerance = tolerance;
  }

  /**
   * A part of a table whose files are cut by themselves.
   *
   * @param positions of its sampled rows by column, in [0, 2^bits); not copied
   * @param files the wanted number of files, at least 1
   * @param workload what the queries that may find rows in it want of the columns
   */
  public record Part(int[][] positions, int files, QueryBoxes workload) {
    int rows() {
      return positions.length == 0 ? 0 : positions[0].length;
    }
  }

  /**
   * The same before there is a layout.
   *
   * @param sample its sampled rows, in any order
   * @param files how many files are expected of it
   * @param rows how many rows it has
   * @param path what tells it from other parts
   * @param weight the weights of the queries that may find rows in it and want any, added up in their order
   * @param workload puts what these queries want into the positions of a layout
   */
  public record SampledPart(
      Sample sample, int files, long rows, String path, double weight, Function<Layout, QueryBoxes> workload) {
    private double weightOfRows() {
      return weight * rows;
    }

    private Part of(Layout layout) {
      int[][] positions =
          layout.columns().stream().map(column -> Layout.positions(column, sample)).toArray(int[][]::new);
      // Small files are to be gathered by the columns that would serve if they were cut.
      return new Part(positions, Math.max(2, files), workload.apply(layout));
    }

    private SampledPart evenly(int most) {
      return new SampledPart(sample.evenly(most), files, rows, path, weight, workload);
    }
  }

  /**
   * Chooses among columns by samples of the parts of a table. Those count that queries read most of, 16 at most.
   *
   * @param candidates between 1 and {@link #CANDIDATES}
   * @param sampled the parts, in any order
   * @param request what layouts of all of them are to be like; its number of files does not count
   * @param most the most columns to choose, at least 1
   * @return the columns, as {@link #choose(List, int, double, int)} orders them
   */
  public static List<ClusteringColumn> choose(
      List<ClusteringColumn> candidates, List<SampledPart> sampled, LayoutRequest request, int most) {
    List<SampledPart> parts = looked(sampled);
    if (parts.isEmpty()) {
      return List.of();
    }
    long files = parts.stream().mapToLong(SampledPart::files).sum();
    LayoutRequest even =
        new LayoutRequest(
            (int) Math.min(Integer.MAX_VALUE, files), EvenCuts.KIND, request.curve(), List.of(), request.maxBoundaries(),
            request.sizeTolerance(), new double[0]);
    Layout layout = Layout.fit(candidates, Sample.together(parts.stream().map(SampledPart::sample).toList()), even);
    List<Part> placed = parts.stream().map(part -> part.of(layout)).toList();
    return choose(placed, layout.bits(), request.sizeTolerance(), most).stream()
        .map(place -> layout.columns().get(place).column())
        .toList();
  }

  /** The parts that are looked at, each with as many of its sampled rows as are. */
  private static List<SampledPart> looked(List<SampledPart> sampled) {
    List<SampledPart> parts =
        sampled.stream()
            .filter(part -> part.weight() > 0 && part.sample().rows() > 0)
            .sorted(Comparator.comparingDouble(SampledPart::weightOfRows).reversed().thenComparing(SampledPart::path))
            .limit(PARTS)
            .toList();
    return parts.stream().map(part -> part.evenly(ROWS / parts.size())).toList();
  }

  /** What queries read when files are cut by some columns, and those that any file is cut by. */
  private record Read(double rows, List<Integer> columns) {}

  /**
   * Chooses.
   *
   * @param parts the parts of the table, of the same columns; those without rows or queries do not count
   * @param bits the bits of a position, in [0, 16]
   * @param tolerance how far a file's share of the sampled rows may lie from the mean, in [0, 1)
   * @param most the most columns to choose, at least 1
   * @return places of columns, the one without which queries would read most first, and of equal ones the first; none where no
   *     query is spared any row
   */
  public static List<Integer> choose(List<Part> parts, int bits, double tolerance, int most) {
    List<CostedPart> costed =
        parts.stream().filter(part -> part.rows() > 0).flatMap(part -> CostedPart.of(part, bits).stream()).toList();
    return costed.isEmpty() ? List.of() : new WorkloadColumns(costed, bits, tolerance).chosen(most);
  }

  private List<Integer> chosen(int most) {
    Read least = read(IntStream.range(0, parts.get(0).part().positions().length).boxed().toList());
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

  /** Sums up what is read of all parts: the sum that is nearest to the exact one, as Python's fsum finds it. */
  private Read read(List<Integer> columns) {
    int[] places = columns.stream().mapToInt(each -> each).toArray();
    TreeSet<Integer> split = new TreeSet<>();
    BigDecimal total = BigDecimal.ZERO;
    for (CostedPart part : parts) {
      List<BoxTree.Node> nodes = part.grow(places, bits, tolerance);
      for (BoxTree.Node node : nodes) {
        if (node instanceof BoxTree.Split cut) {
          split.add(places[cut.column()]);
        }
      }
      total = total.add(part.rowsRead(nodes, places));
    }
    return new Read(total.doubleValue(), new ArrayList<>(split));
  }

  /** A part that counts, with what a file of it costs, and how often the queries are asked that this is of. */
  private record CostedPart(Part part, BoxCosts costs, double weight) {
    /** Finds what a part costs: nothing where queries read all of it, however it is cut, which is no reason for a column. */
    static Optional<CostedPart> of(Part part, int bits) {
      int[][] below =
          Arrays.stream(part.positions()).map(column -> BoxTreeGrower.rowsBelow(column, bits)).toArray(int[][]::new);
      ExtentCosts extents = new ExtentCosts(below, ones(below.length), 0);
      BoxCosts costs = QueryCosts.of(below, part.rows(), part.workload(), extents, 1.0, 0);
      if (!(costs instanceof QueryCosts ofQueries)) {
        return Optional.empty();
      }
      int[] tops = new int[below.length];
      Arrays.fill(tops, (1 << bits) - 1);
      return Optional.of(new CostedPart(part, costs.inside(new int[below.length], tops), ofQueries.weight()));
    }

    private static double[] ones(int count) {
      double[] ones = new double[count];
      Arrays.fill(ones, 1.0);
      return ones;
    }

    List<BoxTree.Node> grow(int[] places, int bits, double tolerance) {
      QueryBoxes all = part.workload();
      QueryBoxes wanted =
          new QueryBoxes(WorkloadColumns.of(all.lower(), places), WorkloadColumns.of(all.upper(), places), all.query(), all.weights());
      int files = Math.min(part.files(), FILES);
      int[][] of = WorkloadColumns.of(part.positions(), places);
      return BoxTreeGrower.grow(of, part.rows(), bits, files, tolerance, ones(places.length), 0, wanted, 1.0).nodes();
    }

    /** Sums up the rows of leaves, each as often as queries read it. */
    BigDecimal rowsRead(List<BoxTree.Node> nodes, int[] places) {
      int[][] positions = part.positions();
      List<List<Integer>> leaves = new ArrayList<>();
      List<Integer> rows = IntStream.range(0, part.rows()).boxed().toList();
      collect(nodes, 0, WorkloadColumns.of(positions, places), rows, leaves);
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
        total = total.add(new BigDecimal(leaf.size() * costs.of(low, high, 1) * weight));
      }
      return total;
    }
  }

  private static int[][] of(int[][] columns, int[] places) {
    return Arrays.stream(places).mapToObj(place -> columns[place]).toArray(int[][]::new);
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
