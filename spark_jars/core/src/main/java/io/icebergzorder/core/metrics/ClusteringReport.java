package io.icebergzorder.core.metrics;

import java.util.List;

/** The figures of a clustering report, the same as Python's. A figure that may be null is a boxed number. */
public record ClusteringReport(
    int totalFileCount, long totalBytes, long totalRows, List<ColumnReport> columns, SizeReport fileSizes, List<Finding> findings) {
  /** What {@code column = value} reads of the bytes, today and after a rewrite of everything, in [0, 1]. */
  public record ColumnReport(String name, Double scanFraction, Double attainable) {}

  /** Sizes of data files in bytes, and how many files a rewrite chooses for them and makes. */
  public record SizeReport(long target, long smallest, long median, long largest, int badlySized, int afterRewrite) {}

  /** Something that keeps queries from skipping files, see {@code docs/report.md}, about a column or a number of files. */
  public record Finding(String code, String severity, String about) {}

  public static ClusteringReport of(TableFacts facts) {
    return new Measurement(facts).report();
  }
}
