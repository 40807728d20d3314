package io.icebergzorder.core;

import io.icebergzorder.core.Curve.ZOrderCurve;
import io.icebergzorder.core.Cuts.EvenCuts;
import io.icebergzorder.core.SortOrder.PrefixOrder;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Everything needed to send a row to its file and to its place in it.
 *
 * <p>How it is fitted to a sample:
 *
 * <ol>
 *   <li>columns that show fewer than two distinct things (a key, NaN, NULL) are left out: they cannot
 *       tell files apart, and would take bits from the others;
 *   <li>each other column gets {@code bits = min(16, floor(63 / columns))} bits, so the index is a long;
 *   <li>its sampled keys give its {@link Boundaries boundaries}, and the rows between them the positions of its buckets;
 *   <li>the positions of the sampled rows give the cuts: a {@link BoxTree} or {@link EvenCuts} along the curve;
 *   <li>with a tree, the curve that orders the rows inside the files is the {@link TighterCurve}.
 * </ol>
 *
 * <p>The same sample gives the same layout here and in Python: the same JSON and the same hash.
 *
 * @param columns the columns that take part, the leading ones first
 * @param leading how many of them are split, and sorted by, before the curve
 * @param leftOut the names of the columns left out
 * @param bits the bits of a position; 0 if no column takes part
 * @param curve the curve that orders the rows
 */
public record Layout(List<LayoutColumn> columns, int leading, List<String> leftOut, int bits, Curve curve, Cuts cuts) {
  /**
   * A column that takes part in a layout.
   *
   * @param ordinal its place in the list given to {@link Layout#fit}
   * @param positions the position of every bucket of the boundaries
   * @param packed the same at the column's place in a row's packed positions, see {@link Placement}
   */
  public record LayoutColumn(int ordinal, ClusteringColumn column, Boundaries boundaries, int[] positions, long[] packed) {}

  /** The most boundaries that may be wanted per column, one for each of 2^16 positions. */
  public static final int MAX_BOUNDARIES = 65_536;

  /** The most bits a position has; finer positions than 65,536 would outrun the sample. */
  static final int MAX_BITS = 16;

  public Layout {
    columns = List.copyOf(columns);
    leftOut = List.copyOf(leftOut);
  }

  /** Fits a layout to a sample of the leading and the clustering columns, 63 at most; {@link #tightened} is left to do. */
  public static Layout fit(List<ClusteringColumn> columns, Sample sample, LayoutRequest request) {
    return uncut(columns, sample, request).cut(sample, request, null, 0);
  }

  /** Does the same as far as it does not depend on the number of files: of a layout that {@link #cut} makes of it. */
  public static Layout uncut(List<ClusteringColumn> columns, Sample sample, LayoutRequest request) {
    if (columns.size() > ZOrderCurve.MAX_INDEX_BITS) {
      throw new IllegalArgumentException(
          "Cannot lay out %d clustering columns, because the interleaved index has room for %d"
              .formatted(columns.size(), ZOrderCurve.MAX_INDEX_BITS));
    }
    int[] active = IntStream.range(0, columns.size()).filter(ordinal -> separates(sample.columns().get(ordinal))).toArray();
    IntStream others = IntStream.range(0, columns.size()).filter(ordinal -> Arrays.binarySearch(active, ordinal) < 0);
    List<String> leftOut = others.mapToObj(ordinal -> columns.get(ordinal).name()).toList();
    int bits = bitsFor(active.length);
    List<LayoutColumn> fitted = IntStream.range(0, active.length).parallel().mapToObj(place -> {
      int ordinal = active[place];
      KeyColumn keys = sample.columns().get(ordinal);
      Boundaries boundaries = Boundaries.of(keys, request.maxBoundaries());
      PrefixOrder order = ordinal < request.leadingOrders().size() ? request.leadingOrders().get(ordinal) : PrefixOrder.OF_KEYS;
      int[] positions = boundaries.positions(keys, bits, order);
      int shift = bits * (active.length - 1 - place);
      long[] packed = Arrays.stream(positions).mapToLong(position -> (long) position << shift).toArray();
      return new LayoutColumn(ordinal, columns.get(ordinal), boundaries, positions, packed);
    }).toList();
    int leading = (int) Arrays.stream(active).filter(ordinal -> ordinal < request.leadingOrders().size()).count();
    return new Layout(fitted, leading, leftOut, bits, request.curve(), new EvenCuts(new long[0]));
  }

  /** The same columns, cut into as many files as are wanted, for a workload that asks for boxes of their positions, or null. */
  public Layout cut(Sample sample, LayoutRequest request, QueryBoxes workload, double workloadShare) {
    if (request.cuts().equals(BoxTree.KIND)) {
      return grown(sample, request, workload, workloadShare);
    }
    long[] indexes = indexes(sample);
    Arrays.sort(indexes);
    return new Layout(columns, leading, leftOut, bits, curve, EvenCuts.of(indexes, request.files()));
  }

  private Layout grown(Sample sample, LayoutRequest request, QueryBoxes workload, double workloadShare) {
    double[] weights = new double[columns.size()];
    int[][] positions = new int[columns.size()][sample.rows()];
    long[] packed = packed(sample);
    for (int place = 0; place < weights.length; place++) {
      LayoutColumn column = columns.get(place);
      int ofCurve = column.ordinal() - request.leadingOrders().size();
      weights[place] = ofCurve < 0 || request.weights().length == 0 ? 1 : request.weights()[ofCurve];
      int shift = bits * (weights.length - 1 - place);
      Arrays.setAll(positions[place], row -> (int) (packed[row] >>> shift) & (1 << bits) - 1);
    }
    BoxTree tree =
        BoxTreeGrower.grow(
            positions,
            sample.rows(),
            bits,
            request.files(),
            request.sizeTolerance(),
            weights,
            leading,
            workload,
            workloadShare);
    return new Layout(columns, leading, leftOut, bits, curve, tree);
  }

  /** The same files; rows that a tree has put there are ordered by the {@link TighterCurve}, unless another one is asked for. */
  public Layout tightened(Sample sample) {
    return cuts instanceof BoxTree tree && curve == Curve.ZORDER
        ? new Layout(columns, leading, leftOut, bits, TighterCurve.of(tree, packed(sample), columns.size(), leading, bits), tree)
        : this;
  }

  /** The bits of a position when so many columns share an index; 0 for no columns. */
  static int bitsFor(int columns) {
    return columns == 0 ? 0 : Math.min(MAX_BITS, ZOrderCurve.MAX_INDEX_BITS / columns);
  }

  /** Whether rows show two different things, NaN and NULL being one each. */
  private static boolean separates(KeyColumn column) {
    return IntStream.range(1, column.size()).anyMatch(row -> !column.isSame(row, 0));
  }

  /** The number of files: the number wanted, or with even cuts at most that. */
  public int files() {
    return cuts.files();
  }

  /** What places rows by their packed positions. */
  public Placement placement() {
    return new Placement(columns.size(), leading, bits, curve, cuts);
  }

  /** The file of every row of a sample. */
  public int[] filesOf(Sample sample) {
    Placement placement = placement();
    long[] packed = packed(sample);
    int[] files = new int[packed.length];
    // Any number that differs from row to row: where rows are told apart by nothing else, they are spread.
    Arrays.parallelSetAll(files, row -> placement.file(packed[row], row * 0x9E3779B97F4A7C15L));
    return files;
  }

  /** The index of every row, see {@link Placement#index}. */
  long[] indexes(Sample sample) {
    Placement placement = placement();
    return Arrays.stream(packed(sample)).map(placement::index).toArray();
  }

  long[] packed(Sample sample) {
    long[] packed = new long[sample.rows()];
    for (LayoutColumn column : columns) {
      KeyColumn keys = sample.columns().get(column.ordinal());
      for (int row = 0; row < packed.length; row++) {
        packed[row] |= column.packed()[column.boundaries().bucketOf(keys, row)];
      }
    }
    return packed;
  }

  /** The layout as canonical JSON, see {@link LayoutJson}. */
  public String toJson() {
    return LayoutJson.write(this);
  }

  /** The layout hash: SHA-256 of the UTF-8 bytes of {@link #toJson}, 64 lower-case hex digits. */
  public String hash() {
    return LayoutJson.hash(toJson());
  }

  /** The layout's own hash; of several, the SHA-256 of their hashes, sorted, one a line. */
  public static String hash(List<Layout> layouts) {
    return layouts.size() == 1
        ? layouts.get(0).hash()
        : LayoutJson.hash(layouts.stream().map(Layout::hash).sorted().collect(Collectors.joining("\n")));
  }
}
