package io.icebergzorder.spark.api;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.OptionalDouble;

/** Results as programs read them. */
final class ResultJson {
  private static final JsonMapper MAPPER = JsonMapper.builder().build();

  private ResultJson() {}

  static String of(ZOrderResult result) {
    ObjectNode root = MAPPER.createObjectNode();
    root.put("rewritten_data_files_count", result.rewrittenDataFilesCount());
    root.put("added_data_files_count", result.addedDataFilesCount());
    root.put("rewritten_bytes_count", result.rewrittenBytesCount());
    root.put("failed_data_files_count", result.failedDataFilesCount());
    root.put("removed_delete_files_count", result.removedDeleteFilesCount());
    root.put("message", result.message().orElse(null));
    ArrayNode columns = root.putArray("scan_fractions");
    for (ColumnScan column : result.scanFractions()) {
      columns
          .addObject()
          .put("column", column.column())
          .put("before", orNull(column.before()))
          .put("predicted", orNull(column.predicted()))
          .put("actual", orNull(column.actual()));
    }
    if (result.workload().isPresent()) {
      addReads(root.putObject("workload"), result.workload().get())
          .put("actual", orNull(result.workload().get().actual()));
    } else {
      root.putNull("workload");
    }
    root.put("dry_run", result.isDryRun());
    root.put("expected_seconds", orNull(result.expectedSeconds()));
    addPredicates(root, result.predicates());
    try {
      return MAPPER.writeValueAsString(root);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("Cannot write a result as JSON, because Jackson failed", e);
    }
  }

  static ObjectNode addReads(ObjectNode node, WorkloadScan workload) {
    return node.put("queries", workload.queries())
        .put("before", orNull(workload.before()))
        .put("predicted", orNull(workload.predicted()));
  }

  static void addPredicates(ObjectNode node, List<PredicateScan> predicates) {
    ArrayNode array = node.putArray("predicates");
    for (PredicateScan each : predicates) {
      array
          .addObject()
          .put("predicate", each.predicate())
          .put("before", orNull(each.before()))
          .put("predicted", orNull(each.predicted()));
    }
  }

  static Double orNull(OptionalDouble number) {
    return number.isPresent() ? number.getAsDouble() : null;
  }
}
