package io.icebergzorder.spark.api;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/** Plans and results as programs read them: the keys, and their order, are those of Python's plans and results. */
final class ApiJson {
  private static final int VERSION = 1;
  private static final JsonMapper MAPPER = JsonMapper.builder().build();

  private ApiJson() {}

  static String of(RewritePlan plan) {
    Long snapshotId = plan.snapshotId().isPresent() ? (Long) plan.snapshotId().getAsLong() : null;
    return written(
        object(
            "version", VERSION,
            "table", plan.table(),
            "branch", plan.branch(),
            "snapshot_id", snapshotId,
            "sort_order", plan.sortOrder(),
            "where", plan.where(),
            "options", plan.options(),
            "target_file_size_bytes", plan.targetFileSizeBytes(),
            "target_file_size_from", plan.targetFileSizeFrom(),
            "message", plan.message(),
            "file_groups", plan.groups().stream().map(ApiJson::group).toList(),
            "left", plan.left().stream().map(ApiJson::left).toList(),
            "scan_fractions", plan.scanFractions(),
            "scan_fractions_before", plan.scanFractionsBefore(),
            "expected_seconds", plan.expectedSeconds(),
            "predicates", predicates(plan.predicates()),
            "workload",
                plan.workload()
                    .map(each -> object("queries", each.queries(), "before", each.before(), "predicted", each.predicted()))));
  }

  private static Map<String, Object> group(PlannedFileGroup group) {
    return object(
        "partition", group.partition(),
        "data_files_count", group.files().size(),
        "bytes", group.bytes(),
        "rows", group.rows(),
        "expected_data_files_count", group.expectedFiles(),
        "reason", group.reason(),
        "layout", group.layout().map(ApiJson::layout));
  }

  private static Map<String, Object> layout(PlannedLayout layout) {
    return object(
        "curve", layout.curve(),
        "data_files_count", layout.files(),
        "hash", layout.hash(),
        "scan_fractions", layout.scanFractions(),
        "scan_fractions_before", layout.scanFractionsBefore());
  }

  private static Map<String, Object> left(LeftFiles left) {
    return object(
        "partition", left.partition(),
        "data_files_count", left.files().size(),
        "bytes", left.bytes(),
        "rows", left.rows(),
        "reason", left.reason());
  }

  static String of(ZOrderResult result) {
    return written(
        object(
            "rewritten_data_files_count", result.rewrittenDataFilesCount(),
            "added_data_files_count", result.addedDataFilesCount(),
            "rewritten_bytes_count", result.rewrittenBytesCount(),
            "failed_data_files_count", result.failedDataFilesCount(),
            "removed_delete_files_count", result.removedDeleteFilesCount(),
            "message", result.message(),
            "scan_fractions", result.scanFractions().stream().map(ApiJson::column).toList(),
            "workload", result.workload().map(ApiJson::workload),
            "dry_run", result.isDryRun(),
            "expected_seconds", result.expectedSeconds(),
            "predicates", predicates(result.predicates())));
  }

  private static Map<String, Object> column(ColumnScan scan) {
    return object("column", scan.column(), "before", scan.before(), "predicted", scan.predicted(), "actual", scan.actual());
  }

  private static Map<String, Object> workload(WorkloadScan scan) {
    return object("queries", scan.queries(), "before", scan.before(), "predicted", scan.predicted(), "actual", scan.actual());
  }

  private static List<Map<String, Object>> predicates(List<PredicateScan> scans) {
    return scans.stream()
        .map(each -> object("predicate", each.predicate(), "before", each.before(), "predicted", each.predicted()))
        .toList();
  }

  /** Keys and values in turn; what is empty is null. */
  private static Map<String, Object> object(Object... pairs) {
    Map<String, Object> object = new LinkedHashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      Object value = pairs[i + 1];
      if (value instanceof Optional<?> optional) {
        value = optional.orElse(null);
      } else if (value instanceof OptionalDouble number) {
        value = number.isPresent() ? (Double) number.getAsDouble() : null;
      }
      object.put((String) pairs[i], value);
    }
    return object;
  }

  private static String written(Map<String, Object> object) {
    try {
      return MAPPER.writeValueAsString(object);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }
}
