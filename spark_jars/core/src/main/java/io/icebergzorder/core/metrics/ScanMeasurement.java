package io.icebergzorder.core.metrics;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.LaidOutSample;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.Sample;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Measures the scan fraction of {@code column = value}: the share of the bytes of files that their lower/upper bounds do not rule out,
 * on average over the values of rows.
 *
 * <p>Bounds may be cut: a lower one is then below the least value, an upper one above the greatest, so that whole values may be
 * compared with them. A file that lacks one of them is always read if it has values.
 */
public final class ScanMeasurement {
  private ScanMeasurement() {}

  /** Files, and a sample of so many rows, whose values are looked for in them. */
  public record MeasuredFiles(BoundedFiles files, Sample lookedFor, long rows) {
    public MeasuredFiles(BoundedFiles files, LaidOutSample group) {
      this(files, group.lookedFor().last(files.columns().size()), group.rows());
    }
  }

  /** Measures one column; NaN if no sampled row has a value, or there is no byte. */
  public static double of(List<MeasuredFiles> groups, int ordinal) {
    return of(groups, ordinal, UnaryOperator.identity());
  }

  /** The same where lower/upper bounds will keep so much of a key of bytes. */
  public static double of(List<MeasuredFiles> groups, int ordinal, UnaryOperator<byte[]> kept) {
    Ranks ranks = new Ranks(groups.stream().map(group -> group.lookedFor().columns().get(ordinal)).toList(), kept);
    long[] steps = new long[ranks.size() + 1];
    long all = 0;
    for (MeasuredFiles group : groups) {
      for (int file = 0; file < group.files().count(); file++) {
        long bytes = group.files().sizes()[file];
        all += bytes;
        add(steps, bytes, group.files().columns().get(ordinal), file, ranks);
      }
    }
    double[] read = new double[ranks.size()];
    long before = 0;
    for (int rank = 0; rank < read.length; rank++) {
      before += steps[rank];
      read[rank] = before;
    }
    double sum = 0;
    double weights = 0;
    for (MeasuredFiles group : groups) {
      KeyColumn column = group.lookedFor().columns().get(ordinal);
      double weight = (double) group.rows() / Math.max(1, column.size());
      double ofGroup = 0;
      int found = 0;
      for (int rank : ranks.of(column)) {
        if (rank >= 0) {
          ofGroup += read[rank];
          found++;
        }
      }
      sum += weight * ofGroup;
      weights += weight * found;
    }
    return Math.min(1, sum / (weights * all));
  }

  /** Adds a file's bytes at the lowest rank that its bounds do not rule out, and takes them away after the highest. */
  private static void add(long[] steps, long bytes, ColumnBounds bounds, int file, Ranks ranks) {
    boolean areKnown = bounds.isBounded(file);
    int first = areKnown ? ranks.notBelow(bounds.lower(), file) : 0;
    int last = areKnown ? ranks.notAbove(bounds.upper(), file) : ranks.size() - 1;
    if (bounds.hasValues(file) && first <= last) {
      steps[first] += bytes;
      steps[last + 1] -= bytes;
    }
  }
}
