package io.icebergzorder.core.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The cost of a filter: the bytes of the files that it reads, and the open cost of each; {@code scan_cost.py} derives the formulas. */
public final class ScanCost {
  private static final String OPEN_COST_PROPERTY = "read.split.open-file-cost";
  private static final long OPEN_COST = 4L << 20;
  private static final double PLANNED_PER_OPENED = 32;
  private static final long SMALLEST = 64L << 10;
  private static final long LARGEST = 512L << 20;
  private static final double NEARLY_LEAST = 1.1;
  private static final double GAIN = 0.95;
  private static final int ROOT_STEPS = 64;

  private ScanCost() {}

  /** Returns the open cost of a table in bytes, by its properties. */
  public static long openCost(Map<String, String> properties) {
    String text = properties.getOrDefault(OPEN_COST_PROPERTY, "");
    return text.matches("[0-9]{1,18}") ? Math.max(1, Long.parseLong(text)) : OPEN_COST;
  }

  /**
   * Returns the largest file size whose filter cost is at most 10% above the least: (columns - 1) open costs, times a power of two.
   *
   * @param size bytes of what a filter searches: the table, or one of its partitions
   * @param columns the number of clustering columns, at least 1
   */
  public static long idealFileSize(long size, int columns, long openCost) {
    List<Long> sizes = new ArrayList<>(List.of(Math.max(SMALLEST, openCost * Math.max(1, columns - 1))));
    for (long last = sizes.get(0); last < size && last <= LARGEST / 2; last *= 2) {
      sizes.add(2 * last);
    }
    double least = sizes.stream().mapToDouble(each -> filterCost(size, each, columns, openCost)).min().orElseThrow();
    return sizes.stream().filter(each -> filterCost(size, each, columns, openCost) <= NEARLY_LEAST * least).max(Long::compare).orElseThrow();
  }

  private static double filterCost(double size, double fileSize, int columns, double openCost) {
    double files = Math.max(1, size / fileSize);
    double share = root(1 / files, columns);
    return of(size * share, files * share, files, openCost);
  }

  /** The cost in bytes of a filter that reads {@code read} bytes in {@code filesRead} of {@code files} files. */
  public static double of(double read, double filesRead, double files, double openCost) {
    return read + openCost * filesRead + ofPlanning(files, openCost);
  }

  /** The cost in bytes of planning a scan of a table with this many files. */
  public static double ofPlanning(double files, double openCost) {
    return openCost * (files / PLANNED_PER_OPENED);
  }

  /** Averages costs over columns by weight; 0 if no column has a weight. */
  public static double mean(double[] costs, double[] weights) {
    double total = 0;
    double sum = 0;
    for (int i = 0; i < weights.length; i++) {
      total += weights[i] * costs[i];
      sum += weights[i];
    }
    return sum == 0 ? 0 : total / sum;
  }

  /** Whether filters are predicted to cost at least 5% less: predictions err by as much. */
  public static boolean isLess(double before, double predicted) {
    return predicted <= GAIN * before;
  }

  /** Computes the root of a share in (0, 1] by Newton's method, in the same steps as Python. */
  public static double root(double share, int degree) {
    if (share == 1 || degree < 2) {
      return share;
    }
    double root = 1;
    for (int step = 0; step < ROOT_STEPS; step++) {
      double power = 1;
      for (int i = 1; i < degree; i++) {
        power *= root;
      }
      root -= (power * root - share) / (degree * power);
    }
    return root;
  }
}
