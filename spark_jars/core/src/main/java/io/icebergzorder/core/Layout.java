package io.icebergzorder.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

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
 *   <li>the positions of a sampled row give its {@link ZOrderCurve index};
 *   <li>the sorted indexes give the {@link EvenCuts cuts}.
 * </ol>
 *
 * <p>The same sample gives the same layout here and in Python: the same JSON and the same hash.
 */
public final class Layout {
  /** The most boundaries that may be wanted per column, one for each of 2^16 positions. */
  public static final int MAX_BOUNDARIES = 65_536;

  private final List<LayoutColumn> columns;
  private final List<String> leftOut;
  private final int bits;
  private final EvenCuts cuts;

  Layout(List<LayoutColumn> columns, List<String> leftOut, int bits, EvenCuts cuts) {
    this.columns = List.copyOf(columns);
    this.leftOut = List.copyOf(leftOut);
    this.bits = bits;
    this.cuts = cuts;
  }

  /**
   * Fits a layout to a sample.
   *
   * @param columns the clustering columns, between 1 and 63
   * @param sample their sampled rows, column by column in the same order; may have no rows
   * @param files the wanted number of output files, at least 1
   * @param maxBoundaries the wanted number of boundaries per column, in [1, 65536]
   * @throws IllegalArgumentException if an argument lies outside its domain, or the sample does not
   *     belong to the columns
   */
  public static Layout fit(
      List<ClusteringColumn> columns, Sample sample, int files, int maxBoundaries) {
    checkColumns(columns, sample);
    if (maxBoundaries < 1 || maxBoundaries > MAX_BOUNDARIES) {
      throw new IllegalArgumentException(
          "Cannot lay out with %d boundaries, because their number must be in [1, %d]"
              .formatted(maxBoundaries, MAX_BOUNDARIES));
    }
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
    List<LayoutColumn> fitted = new ArrayList<>();
    for (int ordinal : active) {
      KeyColumn keys = sample.columns().get(ordinal);
      Boundaries boundaries = Boundaries.of(keys, maxBoundaries);
      int[] positions = Positions.of(keys, boundaries, bits);
      long[] spread = ZOrderCurve.spread(positions, fitted.size(), active.size(), bits);
      fitted.add(
          new LayoutColumn(ordinal, columns.get(ordinal), boundaries, positions, spread));
    }
    long[] indexes = indexes(fitted, sample);
    Arrays.sort(indexes);
    return new Layout(fitted, leftOut, bits, EvenCuts.of(indexes, files));
  }

  /** The bits of a position when so many columns share an index; 0 for no columns. */
  static int bitsFor(int columns) {
    return columns == 0 ? 0 : Math.min(Positions.MAX_BITS, ZOrderCurve.MAX_INDEX_BITS / columns);
  }

  private static void checkColumns(List<ClusteringColumn> columns, Sample sample) {
    if (columns.isEmpty()) {
      throw new IllegalArgumentException("Cannot lay out rows, because there are no clustering columns");
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

  /** The clustering columns that take part in the index, in the order of the index. */
  public List<LayoutColumn> columns() {
    return columns;
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
  public EvenCuts cuts() {
    return cuts;
  }

  /** The number of files; at most the number wanted. */
  public int files() {
    return cuts.files();
  }

  /** The name of the curve. */
  public String curve() {
    return ZOrderCurve.NAME;
  }

  /**
   * The index of every row.
   *
   * @param sample rows, sampled or not, of the columns given to {@link #fit} (of a layout read from
   *     JSON: of {@link #columns})
   * @return indexes in [0, 2^63); length {@code sample.rows()}
   */
  public long[] indexes(Sample sample) {
    return indexes(columns, sample);
  }

  private static long[] indexes(List<LayoutColumn> columns, Sample sample) {
    long[] indexes = new long[sample.rows()];
    for (LayoutColumn column : columns) {
      KeyColumn keys = sample.columns().get(column.ordinal());
      Boundaries boundaries = column.boundaries();
      long[] spread = column.spread();
      for (int row = 0; row < indexes.length; row++) {
        indexes[row] |= spread[boundaries.bucketOf(keys, row)];
      }
    }
    return indexes;
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

  @Override
  public String toString() {
    return toJson();
  }
}
