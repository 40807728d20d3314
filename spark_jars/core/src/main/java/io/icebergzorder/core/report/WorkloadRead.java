package io.icebergzorder.core.report;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * What queries read.
 *
 * @param queries how many different ones there are
 * @param scanFraction the share of the bytes that they read on average, in [0, 1]; null without bytes
 * @param averageFileCount how many data files they read on average
 * @param costliest those that read most in all, by how often they are asked, first
 */
public record WorkloadRead(int queries, Double scanFraction, double averageFileCount, List<QueryRead> costliest) {
  private static final int COSTLIEST = 5;

  /**
   * A query.
   *
   * @param filter its filter
   * @param share its share of all queries, in [0, 1]
   * @param scanFraction the share of the bytes that it reads, in [0, 1]
   * @param totalFileCount how many data files it reads
   */
  public record QueryRead(String filter, double share, double scanFraction, int totalFileCount) {}

  /**
   * Adds up what queries read.
   *
   * @param filters the filter of each query, of one at least
   * @param weights how often each is asked, above 0
   * @param reads from the place of a query to which data files it does not rule out
   * @param sizes the bytes of the files
   */
  public static WorkloadRead of(List<String> filters, double[] weights, IntFunction<boolean[]> reads, long[] sizes) {
    long size = Arrays.stream(sizes).sum();
    double total = 0;
    for (double weight : weights) {
      total += weight;
    }
    double sumOfFractions = 0;
    double sumOfFiles = 0;
    List<QueryRead> all = new ArrayList<>();
    for (int place = 0; place < weights.length; place++) {
      boolean[] read = reads.apply(place);
      long bytes = 0;
      int files = 0;
      for (int file = 0; file < sizes.length; file++) {
        bytes += read[file] ? sizes[file] : 0;
        files += read[file] ? 1 : 0;
      }
      double fraction = size == 0 ? 0 : (double) bytes / size;
      sumOfFractions += weights[place] * fraction;
      sumOfFiles += weights[place] * files;
      all.add(new QueryRead(filters.get(place), weights[place] / total, fraction, files));
    }
    Double scanFraction = size == 0 ? null : (Double) (sumOfFractions / total);
    List<QueryRead> costliest = size == 0 ? List.of() : costliest(weights, all);
    return new WorkloadRead(weights.length, scanFraction, sumOfFiles / total, costliest);
  }

  /** Of those that read as much the first ones come first. */
  private static List<QueryRead> costliest(double[] weights, List<QueryRead> all) {
    Comparator<Integer> byCost = Comparator.comparingDouble(place -> weights[place] * all.get(place).scanFraction());
    return IntStream.range(0, all.size()).boxed().sorted(byCost.reversed()).limit(COSTLIEST).map(all::get).toList();
  }
}
