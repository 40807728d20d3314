package io.icebergzorder.core.report;

import io.icebergzorder.core.KeyColumn;
import java.math.BigInteger;

/** Scan fraction: the share of a table's bytes that the lower/upper bounds of its files do not rule out. */
final class ScanFraction {
  private ScanFraction() {}

  /**
   * Averages the scan fraction of {@code column = value} over the values of rows.
   *
   * @param bounds the bounds; a file that has values but no bounds counts as read, one without values never
   * @param sizes bytes of the files
   * @param rows the rows' keys; every row counts once, those without a value do not
   * @return in [0, 1], lower is better; null if no row has a value, or the files have no bytes
   */
  static Double ofRows(ColumnBounds bounds, long[] sizes, KeyColumn rows) {
    Ranks ranks = Ranks.of(bounds.lower(), bounds.upper(), rows);
    long[] read = new long[ranks.count() + 1];
    long total = 0;
    long always = 0;
    for (int file = 0; file < sizes.length; file++) {
      total += sizes[file];
      if (bounds.isBounded(file)) {
        read[ranks.column(0)[file]] += sizes[file];
        read[ranks.column(1)[file] + 1] -= sizes[file];
      } else if (bounds.hasValues(file)) {
        always += sizes[file];
      }
    }
    for (int rank = 1; rank < read.length; rank++) {
      read[rank] += read[rank - 1];
    }
    double sum = 0;
    long found = 0;
    for (int rank : ranks.column(2)) {
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
