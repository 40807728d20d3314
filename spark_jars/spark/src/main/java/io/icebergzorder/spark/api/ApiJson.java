package io.icebergzorder.spark.api;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.icebergzorder.core.Reason;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.LeftGroup;
import io.icebergzorder.spark.plan.StartingPoint;
import io.icebergzorder.spark.plan.StartingPoint.PlannedFile;
import io.icebergzorder.spark.plan.StoredPlan;
import io.icebergzorder.spark.spec.Workload;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/** Writes plans and results as JSON, with the keys of Python's plans and results in the same order. */
final class ApiJson {
  private static final int WORKLOAD_VERSION = 1;
  private static final JsonMapper MAPPER = JsonMapper.builder().build();

  private ApiJson() {}

  static String of(RewritePlan plan) {
    StartingPoint start = plan.plan.start();
    return written(
        object(
            "version", StoredPlan.VERSION,
            "table", plan.table(),
            "table_uuid", start.uuid(),
            "branch", plan.branch(),
            "snapshot_id", start.snapshotId(),
            "schema_id", start.schemaId(),
            "spec_id", start.specId(),
            "case_sensitive", plan.target.isCaseSensitive(),
            "planned_at_ms", start.plannedAtMs(),
            "sort_order", plan.sortOrder(),
            "where", plan.where(),
            "options", options(plan),
            "target_file_size_bytes", plan.targetFileSizeBytes(),
            "target_file_size_from", plan.targetFileSizeFrom(),
            "message", plan.message(),
            "file_groups", plan.fileGroups().stream().map(each -> group(each, plan.group(each))).toList(),
            "left", plan.leftGroups().stream().map(ApiJson::left).toList(),
            "before", plan.before(),
            "after", plan.after(),
            "scans", plan.scans().stream().map(ApiJson::planned).toList(),
            "expected_seconds", plan.expectedSeconds(),
            "predicates", predicates(plan.predicates()),
            "workload",
                plan.workload()
                    .map(each -> object("queries", each.queries(), "before", each.before(), "predicted", each.predicted()))));
  }

  /** The options, with the queries of {@code workload} in place of their file's name, because the file may change. */
  private static Map<String, String> options(RewritePlan plan) {
    Map<String, String> options = new LinkedHashMap<>(plan.options());
    plan.plan.workload().filter(each -> !Workload.isInline(options.get(ZOrderOptions.WORKLOAD))).ifPresent(workload -> {
      List<Map<String, Object>> queries =
          workload.queries().stream().map(each -> object("filter", each.condition().text(), "weight", each.weight())).toList();
      options.put(ZOrderOptions.WORKLOAD, written(object("version", WORKLOAD_VERSION, "queries", queries)));
    });
    return options;
  }

  private static Map<String, Object> group(FileGroup planned, PlannedFileGroup group) {
    return object(
        "partition", group.partition(),
        "data_files_count", group.files().size(),
        "bytes", group.bytes(),
        "rows", group.rows(),
        "expected_data_files_count", group.expectedFiles(),
        "spec_id", planned.specId(),
        "max_output_file_size_bytes", planned.maxOutputFileSize(),
        "extents", planned.extents(),
        "must_rewrite", planned.mustRewrite(),
        "reasons", planned.reasons(),
        "reason", group.reason(),
        "data_files", planned.files().stream().map(PlannedFile::of).toList(),
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

  private static Map<String, Object> left(LeftGroup left) {
    return object(
        "partition", left.partition(),
        "data_files_count", left.dataFilesCount(),
        "bytes", left.bytes(),
        "rows", left.rows(),
        "reasons", left.reasons(),
        "reason", Reason.text(left.reasons()));
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
            "predicates", predicates(result.predicates()),
            "before", result.before(),
            "after", result.after(),
            "translated_deletes", result.translatedDeletes()));
  }

  private static Map<String, Object> column(ColumnScan scan) {
    return object(
        "column", scan.column(),
        "before", scan.before(),
        "predicted", scan.predicted(),
        "actual", scan.actual(),
        "files_before", scan.filesBefore(),
        "files_predicted", scan.filesPredicted(),
        "files_actual", scan.filesActual());
  }

  private static Map<String, Object> planned(ColumnScan scan) {
    Map<String, Object> planned = column(scan);
    planned.keySet().removeIf(name -> name.contains("actual"));
    return planned;
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
