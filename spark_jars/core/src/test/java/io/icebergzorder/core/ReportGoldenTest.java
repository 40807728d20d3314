package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.icebergzorder.core.report.ClusteringReport;
import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.report.LayoutHistory;
import io.icebergzorder.core.report.SnapshotFacts;
import io.icebergzorder.core.report.SpreadRows;
import io.icebergzorder.core.report.TableFacts;
import io.icebergzorder.core.report.WorkloadRead;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The golden files of reports, which pytest reads too: both engines report the same of the same files, bit for bit. */
class ReportGoldenTest {
  private static final List<String> CASES =
      List.of(
          "report_alike", "report_compacted_later", "report_deep", "report_empty", "report_endless", "report_extremes",
          "report_first_layer_compacted", "report_hostile", "report_many_partitions", "report_one_file", "report_prefix", "report_relaid",
          "report_settled", "report_unsettled", "report_without_bounds");

  private static final Path DIRECTORY =
      Path.of(System.getProperty("basedir", ".")).resolve("../../tests/golden").normalize();
  private static final JsonMapper MAPPER = new JsonMapper();
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  @Test
  void noFileIsMissingOrExtra() throws IOException {
    assertEquals(CASES, cases());
  }

  static List<String> cases() throws IOException {
    try (Stream<Path> files = Files.list(DIRECTORY)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.startsWith(GoldenTest.REPORT) && name.endsWith(".json"))
          .map(name -> name.substring(0, name.length() - ".json".length()))
          .sorted()
          .toList();
    }
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
    JsonNode expected = golden.get("expected").get("report");
    JsonNode actual = MAPPER.readTree(ClusteringReport.of(facts(golden)).toJson());
    List<String> names = new ArrayList<>();
    expected.fieldNames().forEachRemaining(names::add);
    for (String key : names) {
      assertEquals(expected.get(key), actual.get(key), key);
    }
    // The order of the keys, too.
    assertEquals(expected.toString(), actual.toString());
  }

  @ParameterizedTest
  @MethodSource("cases")
  void boxesAreTheSame(String name) throws IOException {
    JsonNode golden = GoldenTest.read(name);
    JsonNode boxes = MAPPER.readTree(ClusteringReport.of(facts(golden), true).toJson()).path("boxes");
    JsonNode expected = golden.get("expected").get("boxes");
    assertEquals(expected.isNull() ? "" : expected.toString(), boxes.toString());
  }

  @ParameterizedTest
  @MethodSource("cases")
  void whatQueriesReadIsTheSame(String name) throws IOException {
    JsonNode golden = GoldenTest.read(name);
    JsonNode expected = golden.get("expected").get("workload");
    DataFiles files = files(golden);
    ClusteringReport report = ClusteringReport.of(facts(golden));
    if (!expected.isNull()) {
      JsonNode asked = golden.get("queries");
      List<String> filters = new ArrayList<>();
      double[] weights = new double[asked.size()];
      for (JsonNode each : asked) {
        weights[filters.size()] = each.get(1).doubleValue();
        filters.add(each.get(0).textValue());
      }
      report = report.with(WorkloadRead.of(filters, weights, query -> wide(files, asked.get(query).get(2).intValue()), files.sizes()));
    }
    assertEquals(expected.isNull() ? "" : expected.toString(), MAPPER.readTree(report.toJson()).path("workload").toString());
  }

  private static TableFacts facts(JsonNode golden) {
    DataFiles files = files(golden);
    String name = golden.get("name").textValue();
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
    JsonNode by = golden.get("by");
    List<String> metrics = new ArrayList<>();
    golden.get("columns").forEach(column -> metrics.add(column.get("metrics").textValue()));
    List<String> partitionNames = new ArrayList<>();
    golden.get("partition_names").forEach(each -> partitionNames.add(each.textValue()));
    List<TableFacts.PredicateFacts> predicates = new ArrayList<>();
    for (JsonNode place : golden.get("predicates")) {
      int column = place.intValue();
      predicates.add(new TableFacts.PredicateFacts("column " + column, wide(files, column), made -> wide(made, column)));
    }
    int withDeletes = golden.get("with_deletes").size();
    return new TableFacts(
        "lake.db." + name,
        ClusteringColumn.quoted(List.of("lake", "db", name)),
        "main",
        snapshots.isEmpty() ? null : (Long) snapshots.get(snapshots.size() - 1).id(),
        null,
        files.columns().stream().map(column -> column.column().name()).collect(Collectors.joining(", ")),
        files,
        partitionNames,
        metrics,
        new TableFacts.FileSizes(
            target, target * 3 / 4, target * 9 / 5, 5, size -> (int) Math.max(1, (size + target - 1) / target)),
        layout(golden.get("layout")),
        flags(golden.get("old_specs"), files.count()),
        flags(golden.get("with_deletes"), files.count()),
        withDeletes,
        withDeletes / 2,
        LayoutHistory.of(
            snapshots,
            addedBy,
            files,
            each -> each.isBy(by.get(0).textValue(), by.get(1).textValue(), Curve.of(by.get(2).textValue()))),
        options -> "rewrite " + name + " " + pythonic(options),
        predicates);
  }

  static LayoutRequest layout(JsonNode layout) {
    List<PrefixOrder> leading = new ArrayList<>();
    layout.get("leading_orders").forEach(each -> leading.add(new PrefixOrder(each.get(0).booleanValue(), each.get(1).booleanValue())));
    return new LayoutRequest(
        1,
        layout.get("cuts").textValue(),
        Curve.of(layout.get("curve").textValue()),
        leading,
        layout.get("boundaries").intValue(),
        layout.get("size_tolerance").doubleValue(),
        MAPPER.convertValue(layout.get("weights"), double[].class));
  }

  private static String pythonic(Map<String, String> options) {
    return new TreeMap<>(options)
        .entrySet().stream().map(each -> each.getKey() + ": " + each.getValue()).collect(Collectors.joining(", ", "{", "}"));
  }

  static DataFiles files(JsonNode golden) {
    List<ColumnBounds> columns = new ArrayList<>();
    for (JsonNode column : golden.get("columns")) {
      List<String> parts = new ArrayList<>();
      column.get("name").forEach(part -> parts.add(part.textValue()));
      String type = column.get("type").textValue();
      columns.add(
          new ColumnBounds(
              new ClusteringColumn(parts, type),
              GoldenTest.keys(type, column.get("lower")),
              GoldenTest.keys(type, column.get("upper")),
              MAPPER.convertValue(column.get("valued"), double[].class)));
    }
    return new DataFiles(
        golden.has("partitions")
            ? MAPPER.convertValue(golden.get("partitions"), int[].class)
            : new int[golden.get("rows").size()],
        MAPPER.convertValue(golden.get("rows"), long[].class),
        MAPPER.convertValue(golden.get("sizes"), long[].class),
        columns);
  }

  static boolean[] flags(JsonNode places, int count) {
    boolean[] flags = new boolean[count];
    places.forEach(place -> flags[place.intValue()] = true);
    return flags;
  }

  /** Stands for a condition: it leaves files without both bounds, and those whose bounds differ. */
  private static boolean[] wide(DataFiles files, int place) {
    ColumnBounds bounds = files.columns().get(place);
    boolean[] found = new boolean[files.count()];
    for (int file = 0; file < found.length; file++) {
      found[file] = !bounds.isBounded(file) || !GoldenTest.key(bounds.lower(), file).equals(GoldenTest.key(bounds.upper(), file));
    }
    return found;
  }
}
