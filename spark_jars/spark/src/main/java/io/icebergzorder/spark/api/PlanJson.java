package io.icebergzorder.spark.api;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Plans as programs read them: the keys, and their order, are those of {@code RewritePlan.to_dict} of the PyIceberg engine. */
final class PlanJson {
  private static final int VERSION = 1;
  private static final JsonMapper MAPPER = JsonMapper.builder().build();

  private PlanJson() {}

  static String of(RewritePlan plan) {
    ObjectNode root = MAPPER.createObjectNode();
    root.put("version", VERSION);
    root.put("table", plan.table());
    root.put("branch", plan.branch());
    root.put("snapshot_id", plan.snapshotId().isPresent() ? (Long) plan.snapshotId().getAsLong() : null);
    root.put("sort_order", plan.sortOrder());
    root.put("where", plan.where().orElse(null));
    plan.options().forEach(root.putObject("options")::put);
    root.put("target_file_size_bytes", plan.targetFileSizeBytes());
    root.put("target_file_size_from", plan.targetFileSizeFrom());
    root.put("message", plan.message().orElse(null));
    var groups = root.putArray("file_groups");
    plan.groups().forEach(group -> addGroup(groups.addObject(), group));
    var left = root.putArray("left");
    for (LeftFiles each : plan.left()) {
      addFiles(left.addObject(), each.partition(), each.files(), each.bytes(), each.rows()).put("reason", each.reason());
    }
    addFractions(root, "scan_fractions", plan.scanFractions());
    addFractions(root, "scan_fractions_before", plan.scanFractionsBefore());
    root.put("expected_seconds", ResultJson.orNull(plan.expectedSeconds()));
    ResultJson.addPredicates(root, plan.predicates());
    addWorkload(root, plan.workload());
    try {
      return MAPPER.writeValueAsString(root);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("Cannot write a plan as JSON, because Jackson failed", e);
    }
  }

  private static void addWorkload(ObjectNode node, Optional<WorkloadScan> workload) {
    if (workload.isEmpty()) {
      node.putNull("workload");
      return;
    }
    ResultJson.addReads(node.putObject("workload"), workload.get());
  }

  private static void addGroup(ObjectNode node, PlannedFileGroup group) {
    addFiles(node, group.partition(), group.files(), group.bytes(), group.rows())
        .put("expected_data_files_count", group.expectedFiles())
        .put("reason", group.reason());
    if (group.layout().isEmpty()) {
      node.putNull("layout");
      return;
    }
    PlannedLayout layout = group.layout().get();
    ObjectNode ofLayout = node.putObject("layout");
    ofLayout.put("curve", layout.curve()).put("data_files_count", layout.files()).put("hash", layout.hash());
    addFractions(ofLayout, "scan_fractions", layout.scanFractions());
    addFractions(ofLayout, "scan_fractions_before", layout.scanFractionsBefore());
  }

  private static ObjectNode addFiles(ObjectNode node, String partition, List<String> files, long bytes, long rows) {
    return node.put("partition", partition).put("data_files_count", files.size()).put("bytes", bytes).put("rows", rows);
  }

  private static void addFractions(ObjectNode node, String name, Map<String, Double> fractions) {
    ObjectNode byColumn = node.putObject(name);
    fractions.forEach(byColumn::put);
  }
}
