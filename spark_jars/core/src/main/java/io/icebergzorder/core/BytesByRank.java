package io.icebergzorder.core;

import java.util.List;

/** The bytes of files that the filter {@code column = value} reads, by the rank of the value. */
final class BytesByRank {
  private final Ranks ranks;
  private final long[] steps;
  private long all;

  BytesByRank(Ranks ranks) {
    this.ranks = ranks;
    this.steps = new long[ranks.size() + 1];
  }

  /** Adds a file that is read for the values between two ranks, both included; for none if the first is above the last. */
  void add(long bytes, int first, int last) {
    all += bytes;
    if (first <= last) {
      steps[first] += bytes;
      steps[last + 1] -= bytes;
    }
  }

  /** A sample of a file group's rows, and how many there are: a sampled one stands for several. */
  record LookedFor(KeyColumn sampled, long rows) {}

  /** The share of all bytes that is read on average over rows with a value; NaN if there is none, or no byte. */
  double average(List<LookedFor> groups) {
    double[] read = new double[ranks.size()];
    long bytes = 0;
    for (int rank = 0; rank < read.length; rank++) {
      bytes += steps[rank];
      read[rank] = bytes;
    }
    double sum = 0;
    double weights = 0;
    for (LookedFor group : groups) {
      double weight = (double) group.rows() / Math.max(1, group.sampled().size());
      double ofGroup = 0;
      int found = 0;
      for (int rank : ranks.of(group.sampled())) {
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
}
