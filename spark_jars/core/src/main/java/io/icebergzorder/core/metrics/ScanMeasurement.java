package io.icebergzorder.core.metrics;

import io.icebergzorder.core.Beginning;
import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.Sample;
import java.util.Arrays;
import java.util.List;

/**
 * Measures the average reads of {@code column = value} over values of rows, after pruning by lower/upper bounds.
 *
 * <p>Truncated bounds still enclose all values, so full values can be compared with them. A file with values that lacks a bound is always
 * read.
 */
public final class ScanMeasurement {
  private ScanMeasurement() {}

  /** Sums of integers are the same in any order, and so in Python: files are counted in so many parts. */
  private static final int PARTS = 1 << 16;

  /**
   * Files, and a sample of so many rows, whose values are looked for in them.
   *
   * @param stoodFor the number of files that each of these stands for
   * @param share what a filter reads of these, unless they have the same value
   */
  public record MeasuredFiles(BoundedFiles files, Sample lookedFor, long rows, double stoodFor, double share) {
    /** Files of today. */
    public MeasuredFiles(BoundedFiles files, Sample lookedFor, long rows) {
      this(files, lookedFor, rows, 1, 1);
    }

    /** Files of a layout that has as many as will be written. */
    public MeasuredFiles(BoundedFiles files, LaidOutSample group) {
      this(files, group.lookedFor().last(files.columns().size()), group.rows());
    }

    /** Files of a layout, each of which may stand for several. */
    static MeasuredFiles ofLayout(LaidOutSample group, List<ClusteringColumn> columns) {
      Layout layout = group.layout();
      double share = ScanCost.root((double) layout.files() / group.files(), layout.columns().size());
      double stoodFor = (double) group.files() / layout.files();
      return new MeasuredFiles(group.newFiles(columns), group.lookedFor(), group.rows(), stoodFor, share);
    }
  }

  /** What a filter reads on average: the share of the bytes, in [0, 1], and the number of files. */
  public record FilterRead(double fraction, double files) {}

  /** Measures one column, of whose keys bounds will keep so much; null if no sampled row has a value, or there is no byte. */
  public static FilterRead of(List<MeasuredFiles> groups, int ordinal, Beginning kept) {
    Ranks ranks = new Ranks(groups.stream().map(group -> group.lookedFor().columns().get(ordinal)).toList(), kept);
    // By bytes, and by parts of files.
    long[][] steps = new long[2][ranks.size() + 1];
    long all = 0;
    for (MeasuredFiles group : groups) {
      ColumnBounds bounds = group.files().columns().get(ordinal);
      KeyColumn ends = bounds.lower().and(bounds.upper());
      for (int file = 0; file < bounds.size(); file++) {
        long bytes = group.files().sizes()[file];
        all += bytes;
        double share = bounds.isBounded(file) && ends.compare(file, bounds.size() + file) < 0 ? group.share() : 1;
        long parts = (long) Math.rint(share * (PARTS * group.stoodFor()));
        add(steps, (long) Math.rint(bytes * share), parts, bounds, file, ranks);
      }
    }
    for (long[] of : steps) {
      Arrays.parallelPrefix(of, Long::sum);
    }
    double[] sums = new double[2];
    double weights = 0;
    for (MeasuredFiles group : groups) {
      KeyColumn column = group.lookedFor().columns().get(ordinal);
      double weight = (double) group.rows() / Math.max(1, column.size());
      int[] found = Arrays.stream(ranks.of(column)).filter(rank -> rank >= 0).toArray();
      for (int of = 0; of < sums.length; of++) {
        double ofGroup = 0;
        for (int rank : found) {
          ofGroup += steps[of][rank];
        }
        sums[of] += weight * ofGroup;
      }
      weights += weight * found.length;
    }
    return weights == 0 || all == 0 ? null : new FilterRead(Math.min(1, sums[0] / (weights * all)), sums[1] / weights / PARTS);
  }

  /** Adds a file and its bytes at the lowest rank that its bounds do not rule out, and takes them away after the highest. */
  private static void add(long[][] steps, long bytes, long parts, ColumnBounds bounds, int file, Ranks ranks) {
    boolean areKnown = bounds.isBounded(file);
    int first = areKnown ? ranks.notBelow(bounds.lower(), file) : 0;
    int last = areKnown ? ranks.notAbove(bounds.upper(), file) : ranks.size() - 1;
    if (bounds.hasValues(file) && first <= last) {
      steps[0][first] += bytes;
      steps[0][last + 1] -= bytes;
      steps[1][first] += parts;
      steps[1][last + 1] -= parts;
    }
  }
}
