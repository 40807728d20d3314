package io.icebergzorder.core.metrics;

import io.icebergzorder.core.metrics.ScanMeasurement.FilterRead;
import java.util.List;

/**
 * The figures of a clustering report, the same as Python's. What is not known is null.
 *
 * @param cost what a filter costs on average over the columns by their weights, in bytes read and open costs
 * @param attainableCost the same after a rewrite of everything
 */
public record ClusteringReport(
    int totalFileCount,
    long totalBytes,
    long totalRows,
    List<ColumnReport> columns,
    Double cost,
    Double attainableCost,
    SizeReport fileSizes,
    Recommendation recommendation,
    List<Finding> findings) {
  /** What {@code column = value} reads, today and after a rewrite of everything. */
  public record ColumnReport(String name, FilterRead read, FilterRead attainable) {}

  /** Sizes of data files in bytes, and how many files a rewrite of everything makes. */
  public record SizeReport(long target, long smallest, long median, long largest, int afterRewrite) {}

  /**
   * What a rewrite would do now.
   *
   * @param files the data files that it would choose
   */
  public record Recommendation(int files, String reason) {}

  /** Something that keeps queries from skipping files, see {@code docs/do/read-a-report.md}, about a column or a number of files. */
  public record Finding(String code, String severity, String about) {}

  public static ClusteringReport of(TableFacts facts) {
    return new Measurement(facts).report();
  }
}
