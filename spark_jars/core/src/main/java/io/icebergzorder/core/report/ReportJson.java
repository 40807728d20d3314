package io.icebergzorder.core.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.icebergzorder.core.report.ClusteringReport.ColumnReport;
import io.icebergzorder.core.report.ClusteringReport.Finding;
import io.icebergzorder.core.report.ClusteringReport.PartitionReport;
import io.icebergzorder.core.report.ClusteringReport.PredicateReport;
import io.icebergzorder.core.report.ClusteringReport.SizeReport;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reports as programs read them: the keys, and their order, are those of {@code ClusteringReport.to_dict} in Python. */
final class ReportJson {
  private static final int VERSION = 1;
  private static final JsonMapper MAPPER = JsonMapper.builder().build();

  private ReportJson() {}

  static String write(ClusteringReport report) {
    try {
      return MAPPER.writeValueAsString(described(report));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("Cannot write a report as JSON, because Jackson failed", e);
    }
  }

  private static Map<String, Object> described(ClusteringReport report) {
    Map<String, Object> root = new LinkedHashMap<>();
    root.put("version", VERSION);
    root.put("table", report.table());
    root.put("branch", report.branch());
    root.put("snapshot_id", report.snapshotId());
    root.put("where", report.where());
    root.put("cluster_by_keys", report.clusterByKeys());
    root.put("sort_order", report.sortOrder());
    root.put("total_file_count", report.totalFileCount());
    root.put("total_constant_file_count", report.totalConstantFileCount());
    root.put("total_bytes", report.totalBytes());
    root.put("total_rows", report.totalRows());
    root.put("average_overlaps", report.averageOverlaps());
    root.put("average_depth", report.averageDepth());
    root.put("file_depth_histogram", report.fileDepthHistogram());
    root.put("measured_file_count", report.measuredFileCount());
    root.put("columns", report.columns().stream().map(ReportJson::described).toList());
    root.put("predicates", report.predicates().stream().map(ReportJson::described).toList());
    root.put("file_sizes", described(report.fileSizes()));
    root.put("files_of_old_specs", report.filesOfOldSpecs());
    root.put("files_with_deletes", report.filesWithDeletes());
    root.put("position_delete_files", report.positionDeleteFiles());
    root.put("equality_delete_files", report.equalityDeleteFiles());
    root.put("history", described(report.history()));
    root.put("total_partition_count", report.partitions().size());
    root.put("partitions", report.partitions().stream().map(ReportJson::described).toList());
    root.put("findings", report.findings().stream().map(ReportJson::described).toList());
    if (report.boxes() != null) {
      root.put("boxes", described(report.boxes()));
    }
    if (report.workload() != null) {
      root.put("workload", described(report.workload()));
    }
    return root;
  }

  private static Map<String, Object> described(ColumnReport column) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("name", column.name());
    node.put("field", column.field());
    node.put("type", column.type());
    node.put("metrics_mode", column.metricsMode());
    node.put("scan_fraction", column.scanFraction());
    node.put("attainable", column.attainable());
    node.put("files_without_bounds", column.filesWithoutBounds());
    node.put("bytes_without_bounds", column.bytesWithoutBounds());
    node.put("files_with_alike_bounds", column.filesWithAlikeBounds());
    node.put("bytes_with_alike_bounds", column.bytesWithAlikeBounds());
    node.put("files_without_upper_bounds", column.filesWithoutUpperBounds());
    node.put("bytes_without_upper_bounds", column.bytesWithoutUpperBounds());
    return node;
  }

  private static Map<String, Object> described(PredicateReport predicate) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("predicate", predicate.predicate());
    node.put("scan_fraction", predicate.scanFraction());
    node.put("total_file_count", predicate.totalFileCount());
    node.put("attainable", predicate.attainable());
    return node;
  }

  private static Map<String, Object> described(WorkloadRead workload) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("queries", workload.queries());
    node.put("scan_fraction", workload.scanFraction());
    node.put("average_file_count", workload.averageFileCount());
    node.put("costliest", workload.costliest().stream().map(ReportJson::described).toList());
    return node;
  }

  private static Map<String, Object> described(WorkloadRead.QueryRead query) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("filter", query.filter());
    node.put("share", query.share());
    node.put("scan_fraction", query.scanFraction());
    node.put("total_file_count", query.totalFileCount());
    return node;
  }

  private static Map<String, Object> described(SizeReport sizes) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("target_file_size_bytes", sizes.target());
    node.put("min_file_size_bytes", sizes.least());
    node.put("max_file_size_bytes", sizes.most());
    node.put("smallest_bytes", sizes.smallest());
    node.put("median_bytes", sizes.median());
    node.put("largest_bytes", sizes.largest());
    node.put("files_below_min", sizes.belowMin());
    node.put("files_above_max", sizes.aboveMax());
    node.put("badly_sized_files", sizes.badlySized());
    node.put("files_after_rewrite", sizes.afterRewrite());
    return node;
  }

  private static Map<String, Object> described(LayoutHistory history) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("last_layout_snapshot_id", history.lastLayoutSnapshotId());
    node.put("last_layout_timestamp_ms", history.lastLayoutTimestampMillis());
    node.put("last_layout_columns", history.lastLayoutColumns());
    node.put("laid_out_files", history.laidOutFiles());
    node.put("laid_out_bytes", history.laidOutBytes());
    node.put("newer_files", history.newerFiles());
    node.put("newer_bytes", history.newerBytes());
    node.put("undone_by_snapshot_id", history.undoneBySnapshotId());
    node.put("undone_by_timestamp_ms", history.undoneByTimestampMillis());
    node.put("settled_files", history.settledFiles());
    return node;
  }

  private static Map<String, Object> described(PartitionReport partition) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("partition", partition.partition());
    node.put("total_file_count", partition.totalFileCount());
    node.put("total_constant_file_count", partition.totalConstantFileCount());
    node.put("bytes", partition.bytes());
    node.put("rows", partition.rows());
    node.put("average_overlaps", partition.averageOverlaps());
    node.put("average_depth", partition.averageDepth());
    node.put("scan_fractions", partition.scanFractions());
    node.put("attainable", partition.attainable());
    return node;
  }

  private static Map<String, Object> described(FileBoxes boxes) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("axes", boxes.axes().stream().map(ReportJson::described).toList());
    node.put("sizes", boxes.sizes());
    return node;
  }

  private static Map<String, Object> described(FileBoxes.Axis axis) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("name", axis.name());
    node.put("lower", axis.lower());
    node.put("upper", axis.upper());
    node.put("ticks", axis.ticks().stream().map(tick -> List.of(tick.place(), tick.label())).toList());
    return node;
  }

  private static Map<String, Object> described(Finding finding) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("code", finding.code());
    node.put("severity", finding.severity());
    node.put("message", finding.message());
    node.put("evidence", finding.evidence());
    node.put("command", finding.command());
    return node;
  }
}
