package io.icebergzorder.core;

import static io.icebergzorder.core.GoldenTest.MAPPER;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ClusteringReport;
import io.icebergzorder.core.metrics.ClusteringReport.ColumnReport;
import io.icebergzorder.core.metrics.ClusteringReport.SizeReport;
import io.icebergzorder.core.metrics.ColumnBounds;
import io.icebergzorder.core.metrics.FileSizes;
import io.icebergzorder.core.metrics.LayoutHistory;
import io.icebergzorder.core.metrics.SnapshotFacts;
import io.icebergzorder.core.metrics.SpreadRows;
import io.icebergzorder.core.metrics.TableFacts;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The golden files of reports, which pytest reads too: both engines report the same of the same files, bit for bit. */
class ReportGoldenTest {
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  static List<String> cases() throws IOException {
    return GoldenTest.names().filter(name -> name.startsWith(GoldenTest.REPORT)).toList();
  }

  @ParameterizedTest
  @MethodSource("cases")
  void spreadRowsAreTheSame(String name) throws IOException {
    JsonNode golden = GoldenTest.read(name);
    SpreadRows rows = SpreadRows.of(files(golden), 40);
    JsonNode expected = golden.get("expected");
    assertEquals(expected.get("spread_places"), MAPPER.readTree(MAPPER.writeValueAsString(rows.places())));
    ArrayNode keys = NODES.arrayNode();
    for (KeyColumn column : rows.sample().columns()) {
      ArrayNode ofColumn = keys.addArray();
      for (int row = 0; row < column.size(); row++) {
        ofColumn.add(GoldenTest.key(column, row));
      }
    }
    assertEquals(expected.get("spread_keys"), MAPPER.readTree(keys.toString()));
  }

  @ParameterizedTest
  @MethodSource("cases")
  void reportIsTheSame(String name) throws IOException {
    JsonNode golden = GoldenTest.read(name);
    ClusteringReport report = ClusteringReport.of(facts(golden));
    ObjectNode found = NODES.objectNode();
    found.put("total_file_count", report.totalFileCount()).put("total_bytes", report.totalBytes()).put("total_rows", report.totalRows());
    ObjectNode fractions = found.putObject("scan_fractions");
    ObjectNode attainable = found.putObject("attainable");
    ObjectNode filesRead = found.putObject("average_file_count");
    for (ColumnReport column : report.columns()) {
      if (column.read() != null) {
        fractions.put(column.name(), column.read().fraction());
        filesRead.put(column.name(), column.read().files());
      }
      if (column.attainable() != null) {
        attainable.put(column.name(), column.attainable().fraction());
      }
    }
    found.put("cost", report.cost()).put("attainable_cost", report.attainableCost());
    SizeReport sizes = report.fileSizes();
    found.put("target_file_size_bytes", sizes.target()).put("smallest_bytes", sizes.smallest()).put("median_bytes", sizes.median());
    found.put("largest_bytes", sizes.largest()).put("files_after_rewrite", sizes.afterRewrite());
    ArrayNode findings = found.putArray("findings");
    report.findings().forEach(each -> findings.add(each.severity() + " " + each.code()));
    assertEquals(golden.get("expected").get("report").toPrettyString(), found.toPrettyString());
  }

  private static TableFacts facts(JsonNode golden) {
    BoundedFiles files = files(golden);
    long target = golden.get("target").longValue();
    List<SnapshotFacts> snapshots = new ArrayList<>();
    for (JsonNode each : golden.get("snapshots")) {
      Map<String, String> summary = MAPPER.convertValue(each.get(3), MAPPER.getTypeFactory().constructMapType(Map.class, String.class, String.class));
      snapshots.add(new SnapshotFacts(each.get(0).longValue(), each.get(1).longValue(), each.get(2).textValue(), summary));
    }
    long[] addedBy = MAPPER.convertValue(golden.get("added_by"), long[].class);
    if (addedBy.length == 0) {
      addedBy = new long[files.count()];
      Arrays.fill(addedBy, -1);
    }
    List<String> metrics = new ArrayList<>();
    golden.get("columns").forEach(column -> metrics.add(column.get("metrics").textValue()));
    return new TableFacts(
        files,
        metrics,
        new FileSizes(target, 0, target, 1),
        layout(golden.get("layout")),
        flags(golden.get("old_specs"), files.count()),
        flags(golden.get("with_deletes"), files.count()),
        0,
        LayoutHistory.of(snapshots, addedBy, files),
        4 << 20,
        new ClusteringReport.Recommendation(golden.get("planned_files").intValue(), ""),
        null);
  }

  static LayoutRequest layout(JsonNode layout) {
    return GoldenTest.request(layout, 1, layout.get("leading_orders"));
  }

  static BoundedFiles files(JsonNode golden) {
    List<ColumnBounds> columns = new ArrayList<>();
    for (JsonNode column : golden.get("columns")) {
      String type = column.get("type").textValue();
      columns.add(
          new ColumnBounds(
              GoldenTest.column(column),
              GoldenTest.keys(type, column.get("lower")),
              GoldenTest.keys(type, column.get("upper")),
              MAPPER.convertValue(column.get("valued"), double[].class)));
    }
    boolean isPartitioned = golden.has("partitions");
    return new BoundedFiles(
        isPartitioned ? MAPPER.convertValue(golden.get("partitions"), int[].class) : new int[golden.get("rows").size()],
        MAPPER.convertValue(golden.get("rows"), long[].class),
        MAPPER.convertValue(golden.get("sizes"), long[].class),
        columns);
  }

  static boolean[] flags(JsonNode places, int count) {
    boolean[] flags = new boolean[count];
    places.forEach(place -> flags[place.intValue()] = true);
    return flags;
  }
}
