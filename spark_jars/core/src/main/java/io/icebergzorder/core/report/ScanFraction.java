package io.icebergzorder.core.report;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Ranks;
import java.math.BigInteger;

/** Scan fraction: the share of a table's bytes that the lower/upper bounds of its files do not rule out. */
final class ScanFraction {
  private ScanFraction() {}

  /** Averages over the values of rows; a file with values but no bounds counts as read. Null without values or bytes. */
  static Double ofRows(ColumnBounds bounds, long[] sizes, KeyColumn rows) {
    Ranks ranks = Ranks.among(bounds.lower(), bounds.upper(), rows);
    int[] lower = ranks.of(bounds.lower());
    int[] upper = ranks.of(bounds.upper());
    long[] read = new long[ranks.size() + 1];
    long total = 0;
    long always = 0;
    for (int file = 0; file < sizes.length; file++) {
      total += sizes[file];
      if (bounds.isBounded(file)) {
        read[lower[file]] += sizes[file];
        read[upper[file] + 1] -= sizes[file];
      } else if (bounds.hasValues(file)) {
        always += sizes[file];
      }
    }
    for (int rank = 1; rank < read.length; rank++) {
      read[rank] += read[rank - 1];
    }
    double sum = 0;
    long found = 0;
    for (int rank : ranks.of(rows)) {
      if (rank >= 0) {
        sum += (double) (read[rank] + always);
        found++;
      }
    }
    // The product may be more than a long holds.
    double all = BigInteger.valueOf(found).multiply(BigInteger.valueOf(total)).doubleValue();
    return all == 0 ? null : (Double) (sum / all);
  }
}
