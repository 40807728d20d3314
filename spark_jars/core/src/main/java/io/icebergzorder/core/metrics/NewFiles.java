package io.icebergzorder.core.metrics;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.LaidOutSample;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;

/** The data files that a layout will make, as predicted. */
public final class NewFiles {
  private NewFiles() {}

  /** Describes the files that get a sampled row by these rows; of a layout fitted to none, one of which only the size is known. */
  public static BoundedFiles of(LaidOutSample group, List<ClusteringColumn> columns) {
    if (group.fitted().rows() == 0) {
      List<ColumnBounds> unknown = columns.stream().map(column -> ColumnBounds.none(column, new double[] {1})).toList();
      return new BoundedFiles(new int[1], new long[] {group.rows()}, new long[] {group.bytes()}, unknown);
    }
    int[] numbers =
        IntStream.concat(
                Arrays.stream(group.layout().filesOf(group.fitted())), Arrays.stream(group.layout().filesOf(group.heldOut())))
            .toArray();
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
      KeyColumn keys = group.fitted().columns().get(place).and(group.heldOut().columns().get(place));
      bounds.add(bounds(columns.get(place), keys, fileOf, sampled));
    }
    return new BoundedFiles(
        new int[seen.length],
        Arrays.stream(sampled).map(rows -> group.share(group.rows(), rows)).toArray(),
        Arrays.stream(sampled).map(rows -> group.share(group.bytes(), rows)).toArray(),
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
