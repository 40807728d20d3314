package io.icebergzorder.core;

import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.SortedMap;

/** How many sampled rows a file may have: the mean, and how far it may lie from that, as a share of it in [0, 1). */
record RowsPerFile(double mean, double tolerance) {
  /** Split points tried for each share of the files. */
  private static final int POINTS = 9;

  /** Ends of queries tried in a column, the heaviest ones. */
  private static final int ENDS = 12;

  double least() {
    return (1.0 - tolerance) * mean;
  }

  double most() {
    return (1.0 + tolerance) * mean;
  }

  boolean isTolerated(long rows, int files) {
    return files * least() <= rows && rows <= files * most();
  }

  /** The files for so many of the rows, rounded to the nearest number in integers. */
  static int nearestShare(int cut, long rows, int files) {
    return (int) Math.max(1, Math.min(files - 1, (2L * files * cut + rows) / (2 * rows)));
  }

  /** The numbers of rows to try on the left side for a share of the files. */
  int[] cuts(int[] starts, int rows, int share, int files) {
    if (share < 1 || share >= files) {
      return new int[0];
    }
    double low = Math.max(share * least(), rows - (files - share) * most());
    double high = Math.min(share * most(), rows - (files - share) * least());
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

  /** The numbers of rows on the left side of the heaviest ends, where files keep to the tolerance; of equal ones the first. */
  int[] cutsAt(SortedMap<Integer, Double> weights, int rows, int files) {
    return weights.entrySet().stream()
        .filter(end -> end.getKey() > 0 && end.getKey() < rows && end.getValue() > 0)
        .filter(end -> isTolerated(end.getKey(), nearestShare(end.getKey(), rows, files)))
        .filter(end -> isTolerated(rows - end.getKey(), files - nearestShare(end.getKey(), rows, files)))
        .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))
        .limit(ENDS)
        .mapToInt(Map.Entry::getKey)
        .sorted()
        .toArray();
  }
}
