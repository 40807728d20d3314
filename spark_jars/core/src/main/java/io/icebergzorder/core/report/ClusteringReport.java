package io.icebergzorder.core.report;

import java.util.List;
import java.util.Map;

/**
 * How well a table is clustered. {@code docs/report.md} tells the keys of {@link #toJson}, which are the components here; what may be
 * null is a boxed number. {@code boxes} is null unless it was asked for, and {@code workload} unless queries are known.
 */
public record ClusteringReport(
    String table,
    String branch,
    Long snapshotId,
    String where,
    List<String> clusterByKeys,
    String sortOrder,
    int totalFileCount,
    int totalConstantFileCount,
    long totalBytes,
    long totalRows,
    Double averageOverlaps,
    Double averageDepth,
    Map<String, Long> fileDepthHistogram,
    int measuredFileCount,
    List<ColumnReport> columns,
    List<PredicateReport> predicates,
    SizeReport fileSizes,
    int filesOfOldSpecs,
    int filesWithDeletes,
    int positionDeleteFiles,
    int equalityDeleteFiles,
    LayoutHistory history,
    List<PartitionReport> partitions,
    List<Finding> findings,
    FileBoxes boxes,
    WorkloadRead workload) {
  /** A clustering column. */
  public record ColumnReport(
      String name,
      String field,
      String type,
      String metricsMode,
      Double scanFraction,
      Double attainable,
      int filesWithoutBounds,
      long bytesWithoutBounds,
      int filesWithAlikeBounds,
      long bytesWithAlikeBounds,
      int filesWithoutUpperBounds,
      long bytesWithoutUpperBounds) {}

  /** A predicate: the share of the bytes that it reads, the files, and what a full rewrite would make of the share. */
  public record PredicateReport(String predicate, Double scanFraction, int totalFileCount, Double attainable) {}

  /** A partition: its files, and by column what {@link ColumnReport} has of the table. */
  public record PartitionReport(
      String partition,
      int totalFileCount,
      int totalConstantFileCount,
      long bytes,
      long rows,
      Double averageOverlaps,
      Double averageDepth,
      Map<String, Double> scanFractions,
      Map<String, Double> attainable) {}

  /** How many data files have which size; bounds in bytes as for a rewrite. */
  public record SizeReport(
      long target,
      long least,
      long most,
      long smallest,
      long median,
      long largest,
      int belowMin,
      int aboveMax,
      int badlySized,
      int afterRewrite) {}

  /**
   * Something that keeps queries from skipping files.
   *
   * @param code what it is
   * @param severity {@code error}, {@code warning} or {@code info}
   * @param message a sentence
   * @param evidence the figures behind it: numbers, texts, or maps of them
   * @param command what mends it, or null
   */
  public record Finding(String code, String severity, String message, Map<String, Object> evidence, String command) {}

  /** Computes a report. */
  public static ClusteringReport of(TableFacts facts) {
    return of(facts, false);
  }

  /** Computes a report; where there are files, also what pictures of them show, if that is asked for. */
  public static ClusteringReport of(TableFacts facts, boolean withBoxes) {
    return new Measurement(facts).report(withBoxes);
  }

  /** The report as JSON, with the keys of the PyIceberg engine's. */
  public String toJson() {
    return ReportJson.write(this);
  }

  /** The same with findings. */
  ClusteringReport with(List<Finding> found) {
    return with(found, workload);
  }

  /** The same with what queries read. */
  public ClusteringReport with(WorkloadRead read) {
    return with(findings, read);
  }

  private ClusteringReport with(List<Finding> found, WorkloadRead read) {
    return new ClusteringReport(
        table, branch, snapshotId, where, clusterByKeys, sortOrder, totalFileCount, totalConstantFileCount, totalBytes, totalRows,
        averageOverlaps, averageDepth, fileDepthHistogram, measuredFileCount, columns, predicates, fileSizes, filesOfOldSpecs,
        filesWithDeletes, positionDeleteFiles, equalityDeleteFiles, history, partitions, found, boxes, read);
  }
}
