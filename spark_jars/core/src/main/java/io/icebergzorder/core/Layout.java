package io.icebergzorder.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.function.Function;

/**
 * Everything needed to send a row to its file and to its place in it: boundaries and positions of the
 * clustering columns, the curve, and the cuts. Immutable.
 *
 * <p>How it is fitted to a sample:
 *
 * <ol>
 *   <li>columns that show fewer than two distinct things (a key, NaN, NULL) are left out: they cannot
 *       tell files apart, and would take bits from the others;
 *   <li>each other column gets {@code bits = min(16, floor(63 / columns))} bits, so the index is a long;
 *   <li>its sampled keys give its {@link Boundaries boundaries}, and the rows between them the
 *       {@link Positions positions};
 *   <li>the positions of the sampled rows give the cuts: a {@link BoxTree} or {@link EvenCuts} along the curve;
 *   <li>with a tree, the curve that orders the rows inside the files is the {@link TighterCurve}.
 * </ol>
 *
 * <p>The same sample gives the same layout here and in Python: the same JSON and the same hash.
 */
public final class Layout {
  /** The most boundaries that may be wanted per column, one for each of 2^16 positions. */
  public static final int MAX_BOUNDARIES = 65_536;

  private final List<LayoutColumn> columns;
  private final int leading;
  private final List<String> leftOut;
  private final int bits;
  private final Curve curve;
  private final Cuts cuts;

  Layout(List<LayoutColumn> columns, int leading, List<String> leftOut, int bits, Curve curve, Cuts cuts) {
    this.columns = List.copyOf(columns);
    this.leading = leading;
    this.leftOut = List.copyOf(leftOut);
    this.bits = bits;
    this.curve = curve;
    this.cuts = cuts;
  }

  /**
   * Fits a layout to a sample.
   *
   * @param columns the leading columns and the clustering columns, between 1 and 63 in all
   * @param sample their sampled rows, column by column in the same order; may have no rows
   * @param request what the layout is to be like
   * @throws IllegalArgumentException if an argument lies outside its domain, or the sample does not
   *     belong to the columns
   */
  public static Layout fit(List<ClusteringColumn> columns, Sample sample, LayoutRequest request) {
    return fit(columns, sample, request, uncut -> null, 0);
  }

  /**
   * Fits a layout to a sample and the queries of a workload.
   *
   * @param columns the leading columns and the clustering columns, between 1 and 63 in all
   * @param sample their sampled rows, column by column in the same order; may have no rows
   * @param request what the layout is to be like
   * @param workload puts what queries want into the positions of a layout that has no cuts yet, by its columns in their
   *     order, for adaptive cuts that have these queries read least; null where nothing is known
   * @param workloadShare the share of the queries that the workload knows, in [0, 1]
   * @throws IllegalArgumentException if an argument lies outside its domain, or the sample does not
   *     belong to the columns
   */
  public static Layout fit(
      List<ClusteringColumn> columns,
      Sample sample,
      LayoutRequest request,
      Function<Layout, QueryBoxes> workload,
      double workloadShare) {
    check(columns, sample, request);
    List<Integer> active = new ArrayList<>();
    List<String> leftOut = new ArrayList<>();
    for (int ordinal = 0; ordinal < columns.size(); ordinal++) {
      if (isConstant(sample.columns().get(ordinal))) {
        leftOut.add(columns.get(ordinal).name());
      } else {
        active.add(ordinal);
      }
    }
    int bits = bitsFor(active.size());
    int leading = (int) active.stream().filter(ordinal -> ordinal < request.leadingOrders().size()).count();
    List<LayoutColumn> fitted = new ArrayList<>();
    for (int ordinal : active) {
      KeyColumn keys = sample.columns().get(ordinal);
      Boundaries boundaries = Boundaries.of(keys, request.maxBoundaries());
      PrefixOrder order = ordinal < request.leadingOrders().size() ? request.leadingOrders().get(ordinal) : PrefixOrder.OF_KEYS;
      int[] positions = Positions.of(keys, boundaries, bits, order);
      long[] packed = LayoutColumn.packed(positions, fitted.size(), active.size(), bits);
      fitted.add(new LayoutColumn(ordinal, columns.get(ordinal), boundaries, positions, packed));
    }
    Layout uncut = new Layout(fitted, leading, leftOut, bits, request.curve(), new EvenCuts(new long[0]));
    return request.cuts().equals(BoxTree.KIND)
        ? uncut.grown(sample, request, workload.apply(uncut), workloadShare)
        : uncut.evenlyCut(sample, request);
  }

  private Layout evenlyCut(Sample sample, LayoutRequest request) {
    long[] indexes = indexes(sample);
    Arrays.sort(indexes);
    return new Layout(columns, leading, leftOut, bits, curve, EvenCuts.of(indexes, request.files()));
  }

  private Layout grown(Sample sample, LayoutRequest request, QueryBoxes workload, double workloadShare) {
    double[] weights = new double[columns.size()];
    int[][] positions = new int[columns.size()][];
    for (int place = 0; place < weights.length; place++) {
      LayoutColumn column = columns.get(place);
      int ofCurve = column.ordinal() - request.leadingOrders().size();
      weights[place] = ofCurve < 0 || request.weights().length == 0 ? 1 : request.weights()[ofCurve];
      positions[place] = positions(column, sample);
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
    Curve tighter =
        request.curve() == Curve.HILBERT
            ? Curve.HILBERT
            : TighterCurve.of(tree, packed(sample), columns.size(), leading, bits);
    return new Layout(columns, leading, leftOut, bits, tighter, tree);
  }

  /** The position of every row in a column. */
  static int[] positions(LayoutColumn column, Sample sample) {
    KeyColumn keys = sample.columns().get(column.ordinal());
    int[] positions = new int[sample.rows()];
    for (int row = 0; row < positions.length; row++) {
      positions[row] = column.positions()[column.boundaries().bucketOf(keys, row)];
    }
    return positions;
  }

  /** The bits of a position when so many columns share an index; 0 for no columns. */
  static int bitsFor(int columns) {
    return columns == 0 ? 0 : Math.min(Positions.MAX_BITS, ZOrderCurve.MAX_INDEX_BITS / columns);
  }

  private static void check(List<ClusteringColumn> columns, Sample sample, LayoutRequest request) {
    int clustering = columns.size() - request.leadingOrders().size();
    if (clustering < 1) {
      throw new IllegalArgumentException("Cannot lay out rows, because there are no clustering columns");
    }
    if (request.files() < 1) {
      throw new IllegalArgumentException(
          "Cannot lay out rows in %d files, because there must be at least 1".formatted(request.files()));
    }
    if (request.maxBoundaries() < 1 || request.maxBoundaries() > MAX_BOUNDARIES) {
      throw new IllegalArgumentException(
          "Cannot lay out with %d boundaries, because their number must be in [1, %d]"
              .formatted(request.maxBoundaries(), MAX_BOUNDARIES));
    }
    if (request.curve() == Curve.HILBERT && clustering > HilbertCurve.MAX_COLUMNS) {
      throw new IllegalArgumentException(
          "Cannot lay out %d columns along a Hilbert curve, because it takes at most %d"
              .formatted(clustering, HilbertCurve.MAX_COLUMNS));
    }
    if (columns.size() > ZOrderCurve.MAX_INDEX_BITS) {
      throw new IllegalArgumentException(
          "Cannot lay out %d clustering columns, because the index has room for %d"
              .formatted(columns.size(), ZOrderCurve.MAX_INDEX_BITS));
    }
    if (columns.size() != sample.columns().size()) {
      throw new IllegalArgumentException(
          "Cannot lay out %d clustering columns, because the sample has %d"
              .formatted(columns.size(), sample.columns().size()));
    }
    for (int ordinal = 0; ordinal < columns.size(); ordinal++) {
      ClusteringColumn column = columns.get(ordinal);
      KeyDomain sampled = sample.columns().get(ordinal).domain();
      if (column.domain() != sampled) {
        throw new IllegalArgumentException(
            "Cannot lay out column '%s' of type '%s', because its keys are %s and the sample has %s"
                .formatted(column.name(), column.type(), column.domain(), sampled));
      }
    }
  }

  /** Whether all rows show the same thing: one key, NaN, or NULL. True for no rows. */
  private static boolean isConstant(KeyColumn column) {
    for (int row = 1; row < column.size(); row++) {
      if (column.state(row) != column.state(0)) {
        return false;
      }
      if (column.state(row) == KeyColumn.VALUE) {
        boolean same =
            switch (column.domain()) {
              case LONG -> column.longKey(row) == column.longKey(0);
              case BYTES -> Arrays.equals(column.bytesKey(row), column.bytesKey(0));
            };
        if (!same) {
          return false;
        }
      }
    }
    return true;
  }

  /** The columns that take part, the leading ones first. */
  public List<LayoutColumn> columns() {
    return columns;
  }

  /** How many of the columns are leading ones. */
  public int leading() {
    return leading;
  }

  /** The names of the clustering columns left out: constant, or all NULL, or nothing sampled. */
  public List<String> leftOut() {
    return leftOut;
  }

  /** The bits of a position, in [0, 16]; 0 if no column takes part. */
  public int bits() {
    return bits;
  }

  /** The cuts between files. */
  public Cuts cuts() {
    return cuts;
  }

  /** The number of files: the number wanted, or with even cuts at most that. */
  public int files() {
    return cuts.files();
  }

  /** The curve that orders the rows. */
  public Curve curve() {
    return curve;
  }

  /** What places rows by their packed positions. */
  public Placement placement() {
    return new Placement(columns.size(), leading, bits, curve, cuts);
  }

  /**
   * The index of every row, see {@link Placement#index}.
   *
   * @param sample rows, sampled or not, of the columns given to {@link #fit} (of a layout read from
   *     JSON: of {@link #columns})
   * @return indexes in [0, 2^63); length {@code sample.rows()}
   */
  public long[] indexes(Sample sample) {
    Placement placement = placement();
    return Arrays.stream(packed(sample)).map(placement::index).toArray();
  }

  /** The packed positions of every row. */
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

  /**
   * The layout as canonical JSON: keys sorted, no spaces, non-ASCII characters as they are, control
   * characters as in {@code \n} or {@code \}{@code u001f}, integers only; boundaries of bytes in
   * lower-case hex.
   */
  public String toJson() {
    return LayoutJson.write(this);
  }

  /**
   * Reads a layout back.
   *
   * @throws IllegalArgumentException if the text is not the JSON of a layout of this version
   */
  public static Layout fromJson(String json) {
    return LayoutJson.read(json);
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

  @Override
  public String toString() {
    return toJson();
  }
}
