package io.icebergzorder.core.metrics;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.Sample;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The samples of a file group, with its layout.
 *
 * <p>Predictions use values of held-out rows, because the layout's boxes were drawn around the fitted rows. A file's bounds come from all of
 * its sampled rows, its bytes from its share of them.
 *
 * @param fitted the sample that the layout was fitted to
 * @param heldOut another sample of the group; empty if the first sample has all rows
 * @param files the number of files that the group is written to, at least that of the layout: a file of the layout may stand for several
 */
public record LaidOutSample(Layout layout, Sample fitted, Sample heldOut, long rows, long bytes, int files) {
  /** The least spread rows of a predicted file: with fewer it would look tighter than it will be. */
  private static final int LEAST_OF_A_FILE = 40;

  /** The files of a layout that stands for so many files, fitted to so many spread rows: at most as many, but large enough. */
  public static int coarse(int files, int rows) {
    return Math.max(1, Math.min(files, rows / LEAST_OF_A_FILE));
  }

  /** The same rows by another layout. */
  public LaidOutSample with(Layout other) {
    return new LaidOutSample(other, fitted, heldOut, rows, bytes, files);
  }

  /** What a file with so many sampled rows gets of the group's rows or bytes, in whole ones, whose sums are the same in any order. */
  public long share(long whole, long ofRows) {
    return (long) Math.rint(ofRows * (double) whole / Math.max(1, fitted.rows() + heldOut.rows()));
  }

  /** The rows whose values are looked for. */
  public Sample lookedFor() {
    return heldOut.rows() > 0 ? heldOut : fitted;
  }

  /**
   * The files that the layout will make, as predicted: those that get a sampled row, described by these rows; of a layout fitted to none,
   * one of which only the size is known.
   */
  public BoundedFiles newFiles(List<ClusteringColumn> columns) {
    if (fitted.rows() == 0) {
      List<ColumnBounds> unknown = columns.stream().map(column -> ColumnBounds.none(column, new double[] {1})).toList();
      return new BoundedFiles(new int[1], new long[] {rows}, new long[] {bytes}, unknown);
    }
    int[] numbers = IntStream.concat(Arrays.stream(layout.filesOf(fitted)), Arrays.stream(layout.filesOf(heldOut))).toArray();
    BitSet filled = new BitSet();
    Arrays.stream(numbers).forEach(filled::set);
    int[] seen = filled.stream().toArray();
    int[] fileOf = Arrays.stream(numbers).map(number -> Arrays.binarySearch(seen, number)).toArray();
    long[] sampled = new long[seen.length];
    for (int file : fileOf) {
      sampled[file]++;
    }
    List<ColumnBounds> bounds = new ArrayList<>();
    for (int place = 0; place < columns.size(); place++) {
      KeyColumn keys = fitted.columns().get(place).and(heldOut.columns().get(place));
      bounds.add(bounds(columns.get(place), keys, fileOf, sampled));
    }
    return new BoundedFiles(
        new int[seen.length],
        Arrays.stream(sampled).map(count -> share(rows, count)).toArray(),
        Arrays.stream(sampled).map(count -> share(bytes, count)).toArray(),
        bounds);
  }

  /** Finds the smallest and the largest key of each file; where it has no value, some row without one. */
  private static ColumnBounds bounds(ClusteringColumn column, KeyColumn keys, int[] fileOf, long[] rows) {
    int[] least = new int[rows.length];
    int[] most = new int[rows.length];
    double[] valued = new double[rows.length];
    for (int row = 0; row < fileOf.length; row++) {
      int file = fileOf[row];
      if (keys.state(row) == KeyColumn.VALUE) {
        boolean isFirst = valued[file]++ == 0;
        least[file] = isFirst || keys.compare(row, least[file]) < 0 ? row : least[file];
        most[file] = isFirst || keys.compare(row, most[file]) > 0 ? row : most[file];
      } else if (valued[file] == 0) {
        least[file] = row;
        most[file] = row;
      }
    }
    for (int file = 0; file < valued.length; file++) {
      valued[file] /= rows[file];
    }
    return new ColumnBounds(column, keys.take(least), keys.take(most), valued);
  }
}
