package io.icebergzorder.spark.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.icebergzorder.core.Reason;
import io.icebergzorder.spark.plan.StartingPoint.PlannedFile;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StoredPlanTest {
  private static final String PLAN =
      """
      {"version": 1, "table": "db.t", "table_uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "branch": "main", "snapshot_id": 7,
       "schema_id": 1, "spec_id": 2, "case_sensitive": true, "planned_at_ms": 1764230400000, "sort_order": "zorder(a)",
       "where": null, "options": {"boundaries": "64", "memory-limit-bytes": "16777216"}, "target_file_size_bytes": 1000,
       "target_file_size_from": "option", "message": null, "scan_fractions": {}, "later": [],
       "file_groups": [{"partition": "", "data_files": [{"path": "f", "deletes": ["d#4"]}], "spec_id": 2, "extents": {"a": 7}, "must_rewrite": true,
         "max_output_file_size_bytes": 1500, "expected_data_files_count": 3,
         "reasons": [{"code": "small", "parameters": {"files": 1, "min_file_size_bytes": 750}}]}],
       "left": [{"partition": "p=1", "data_files_count": 2, "bytes": 9, "rows": 3, "reasons": [{"code": "settled", "parameters": {}}]}]}
      """;

  @Test
  void aPlanIsReadAsItWasWritten() {
    StoredPlan plan = StoredPlan.read("db.t", PLAN);
    assertEquals(7, plan.snapshotId());
    assertEquals("{boundaries=64}", plan.spec("db.t").options().toString(), "others are of PyIceberg's machine");
    StoredPlan.Group group = plan.fileGroups().get(0);
    assertEquals(Map.of("a", 7), group.extents());
    assertEquals(List.of(new PlannedFile("f", List.of("d#4"))), group.dataFiles());
    assertEquals(List.of(Reason.of(Reason.SMALL, "files", 1, "min_file_size_bytes", 750)), group.reasons());
    assertEquals(List.of(new LeftGroup("p=1", 2, 9, 3, List.of(Reason.of(Reason.SETTLED)))), plan.left());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "\"version\": 1| \"version\": 2| it is not the JSON of a plan of version 1",
        "\"version\": 1| \"version\": \"1\"| it is not the JSON of a plan of version 1",
        "\"version\": 1| \"version\": 1.0| it is not the JSON of a plan of version 1",
        "\"version\": 1| \"version\": true| it is not the JSON of a plan of version 1",
        "{\"version\"| [\"version\"| it is not the JSON",
        "\"schema_id\"| \"schema\"| schema_id",
        "\"branch\": \"main\"| \"branch\": null| branch is null",
        "\"where\": null| \"where\": \"x\", \"where_is_sql\": false| its where is a PyIceberg expression",
        "\"expected_data_files_count\": 3| \"expected_data_files_count\": 0| a file group has no data file",
        "[{\"path\": \"f\", \"deletes\": [\"d#4\"]}]| [{\"path\": \"f\", \"deletes\": []}, {\"path\": \"f\", \"deletes\": []}]| a data file appears twice",
        "{\"a\": 7}| {\"a\": 1001}| the extents of a file group are not from 1 to 1000",
        "\"data_files_count\": 2| \"data_files_count\": -2| its left has a group without a data file",
        "\"boundaries\": \"64\"| \"workload\": \"w.json\"| its option workload names a file, whose queries may have changed",
        "\"boundaries\": \"64\"| \"spill-directory\": \"/tmp/x\"| its option spill-directory is for who executes it to choose",
        "\"snapshot_id\": 7| \"snapshot_id\": null| it has neither file groups of a snapshot nor a message",
      })
  void whatIsNoPlanIsRefused(String part, String by, String why) {
    assertTrue(PLAN.contains(part));
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> StoredPlan.read("db.t", PLAN.replace(part, by)));
    assertTrue(refused.getMessage().startsWith("Cannot read the plan of db.t, because "), refused.getMessage());
    assertTrue(refused.getMessage().contains(why), refused.getMessage());
  }
}
