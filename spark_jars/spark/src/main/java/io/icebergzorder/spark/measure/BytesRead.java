package io.icebergzorder.spark.measure;

import java.util.OptionalDouble;
import java.util.function.IntPredicate;
import java.util.stream.Stream;

/** Bytes of files, and how many of them each of some conditions reads. Sums of whole bytes are the same in any order, and so in Python. */
public final class BytesRead {
  private long all;
  private final long[] read;

  public BytesRead(int conditions) {
    read = new long[conditions];
  }

  /** Adds up what is read of several sets of files by the same conditions. */
  public static BytesRead sum(int conditions, Stream<BytesRead> parts) {
    BytesRead sum = new BytesRead(conditions);
    parts.forEach(part -> {
      sum.all += part.all;
      for (int i = 0; i < conditions; i++) {
        sum.read[i] += part.read[i];
      }
    });
    return sum;
  }

  public void add(long bytes, IntPredicate isRead) {
    all += bytes;
    for (int i = 0; i < read.length; i++) {
      read[i] += isRead.test(i) ? bytes : 0;
    }
  }

  /** The share of the bytes that a condition reads, in [0, 1]; empty if there are no bytes. */
  public OptionalDouble share(int condition) {
    return all == 0 ? OptionalDouble.empty() : OptionalDouble.of((double) read[condition] / all);
  }

  /** The mean of the shares, by the weights of the conditions; NaN if there are no bytes or no weights. */
  public double mean(double[] weights) {
    double total = 0;
    double sum = 0;
    for (int i = 0; i < read.length; i++) {
      total += weights[i] * share(i).orElse(Double.NaN);
      sum += weights[i];
    }
    return total / sum;
  }
}
