package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.icebergzorder.core.Keys.KeyDomain;
import io.icebergzorder.core.Layout.LayoutColumn;
import io.icebergzorder.core.SortOrder.PrefixColumn;
import io.icebergzorder.core.SortOrder.PrefixOrder;
import io.icebergzorder.core.ZOrderOptions.ColumnWeight;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The golden files that pytest reads too: both engines give the same layout, bit for bit. They are made by
 * {@code make golden}, never by a test; pytest sees to it that they are all there.
 */
class GoldenTest {
  private static final String SORT_ORDER = "sort_order";
  private static final String COLUMN_WEIGHTS = "column_weights";

  static final String SAMPLED_ROW_GROUPS = "sampled_row_groups";
  static final String METRICS_CHECK = "metrics_check";
  static final String SCAN_COST = "scan_cost";
  static final String SETTLED = "settled";
  static final String UPKEEP = "upkeep";
  static final String UPKEEP_QUERIES = "upkeep_queries";
  static final String GROUP_CUTS = "group_cuts";
  static final String QUERIES = "queries";
  static final String POSITION_BOXES = "position_boxes";
  static final String REPORT = "report_";

  private static final Set<String> OTHERS =
      Set.of(
          SORT_ORDER, COLUMN_WEIGHTS, SAMPLED_ROW_GROUPS, METRICS_CHECK, GROUP_CUTS, SCAN_COST, SETTLED, UPKEEP, UPKEEP_QUERIES, QUERIES,
          POSITION_BOXES);

  private static final Path DIRECTORY =
      Path.of(System.getProperty("basedir", ".")).resolve("../../tests/golden").normalize();
  static final JsonMapper MAPPER = new JsonMapper();
  private static final HexFormat HEX = HexFormat.of();
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /** The names of the files that are there, but for those of other tests. */
  static List<String> cases() throws IOException {
    return names().filter(name -> !OTHERS.contains(name) && !name.startsWith(REPORT)).toList();
  }

  static Stream<String> names() throws IOException {
    try (Stream<Path> files = Files.list(DIRECTORY)) {
      List<String> names = files.map(file -> file.getFileName().toString()).filter(name -> name.endsWith(".json")).sorted().toList();
      return names.stream().map(name -> name.substring(0, name.length() - ".json".length()));
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void layoutIsTheSame(String name) throws IOException {
    JsonNode golden = read(name);
    JsonNode expected = golden.get("expected");
    List<ClusteringColumn> columns = new ArrayList<>();
    List<KeyColumn> keys = new ArrayList<>();
    for (JsonNode column : golden.get("columns")) {
      columns.add(column(column));
      keys.add(keys(column.get("type").textValue(), column.get("values")));
    }
    assertSame(expected, "keys", perRow(keys, GoldenTest::key));
    assertSame(expected, "states", perRow(keys, (column, row) -> NODES.numberNode(column.state(row))));
    int max = golden.get("boundaries").intValue();
    Map<KeyColumn, Boundaries> boundaries = new IdentityHashMap<>();
    keys.forEach(column -> boundaries.put(column, Boundaries.of(column, max)));
    assertSame(
        expected, "buckets", perRow(keys, (column, row) -> NODES.numberNode(boundaries.get(column).bucketOf(column, row))));

    Sample sample = new Sample(keys);
    Layout layout = Layout.fit(columns, sample, request(golden, golden.get("files").intValue(), golden.get("prefix"))).tightened(sample);
    assertSame(expected, "positions", positions(layout, sample));
    long[] indexes = layout.indexes(sample);
    assertSame(expected, "index", MAPPER.valueToTree(indexes));
    long[] packed = layout.packed(sample);
    Placement placement = layout.placement();
    int[] files = IntStream.range(0, packed.length).map(row -> placement.file(packed[row], row)).toArray();
    assertSame(expected, "file", MAPPER.valueToTree(files));
    assertEquals(expected.get("layout").textValue(), layout.toJson());
    assertEquals(expected.get("hash").textValue(), layout.hash());
  }

  static ClusteringColumn column(JsonNode golden) {
    return new ClusteringColumn(List.of(MAPPER.convertValue(golden.get("name"), String[].class)), golden.get("type").textValue());
  }

  static List<PrefixOrder> orders(JsonNode golden) {
    List<PrefixOrder> orders = new ArrayList<>();
    golden.forEach(each -> orders.add(new PrefixOrder(each.get(0).booleanValue(), each.get(1).booleanValue())));
    return orders;
  }

  static LayoutRequest request(JsonNode golden, int files, JsonNode leading) {
    return new LayoutRequest(
        files,
        golden.get("cuts").textValue(),
        Curve.of(golden.get("curve").textValue()),
        orders(leading),
        golden.get("boundaries").intValue(),
        golden.get("size_tolerance").doubleValue(),
        MAPPER.convertValue(golden.get("weights"), double[].class));
  }

  /** Compares as text, because Jackson tells the number 1 in an int from 1 in a long. */
  private static void assertSame(JsonNode expected, String field, JsonNode actual) {
    assertEquals(expected.get(field).toString(), actual.toString(), field);
  }

  private static ArrayNode positions(Layout layout, Sample sample) {
    ArrayNode positions = NODES.arrayNode();
    for (LayoutColumn column : layout.columns()) {
      KeyColumn keys = sample.columns().get(column.ordinal());
      ArrayNode rows = positions.addArray();
      for (int row = 0; row < sample.rows(); row++) {
        rows.add(column.positions()[column.boundaries().bucketOf(keys, row)]);
      }
    }
    return positions;
  }

  @ParameterizedTest
  @MethodSource("sortOrders")
  void sortOrderIsTheSame(JsonNode golden) {
    String text = golden.get("text").textValue();
    if (golden.has("error")) {
      Exception e = assertThrows(IllegalArgumentException.class, () -> SortOrder.parse(text));
      assertEquals(golden.get("error").textValue(), e.getMessage());
    } else {
      SortOrder order = SortOrder.parse(text);
      assertEquals(golden.get("curve").textValue(), order.curve().label());
      assertEquals(golden.get("columns"), MAPPER.valueToTree(order.columns()));
      ArrayNode prefix = NODES.arrayNode();
      for (PrefixColumn column : order.prefix()) {
        prefix
            .addObject()
            .put("descending", column.order().descending())
            .put("nulls_first", column.order().nullsFirst())
            .set("parts", MAPPER.valueToTree(column.parts()));
      }
      assertEquals(golden.get("prefix"), prefix);
    }
  }

  @ParameterizedTest
  @MethodSource("columnWeights")
  void columnWeightsAreTheSame(JsonNode golden) {
    String text = golden.get("text").textValue();
    if (golden.has("error")) {
      Exception e = assertThrows(IllegalArgumentException.class, () -> ColumnWeight.parse(text));
      assertEquals(golden.get("error").textValue(), e.getMessage());
    } else {
      assertEquals(golden.get("weights"), MAPPER.valueToTree(ColumnWeight.parse(text)));
    }
  }

  static List<JsonNode> columnWeights() throws IOException {
    return casesOf(COLUMN_WEIGHTS);
  }

  static List<JsonNode> sortOrders() throws IOException {
    return casesOf(SORT_ORDER);
  }

  static List<JsonNode> casesOf(String name) throws IOException {
    JsonNode document = read(name);
    List<JsonNode> cases = new ArrayList<>();
    (document.isArray() ? document : document.get("cases")).forEach(cases::add);
    assertTrue(cases.size() > 10);
    return cases;
  }

  static JsonNode read(String name) throws IOException {
    return MAPPER.readTree(DIRECTORY.resolve(name + ".json").toFile());
  }

  @FunctionalInterface
  private interface Cell {
    JsonNode of(KeyColumn column, int row);
  }

  private static ArrayNode perRow(List<KeyColumn> columns, Cell cell) {
    ArrayNode nodes = NODES.arrayNode();
    for (KeyColumn column : columns) {
      ArrayNode rows = nodes.addArray();
      for (int row = 0; row < column.size(); row++) {
        rows.add(cell.of(column, row));
      }
    }
    return nodes;
  }

  static JsonNode key(KeyColumn column, int row) {
    if (column.state(row) != KeyColumn.VALUE) {
      return NODES.nullNode();
    }
    return switch (column.domain()) {
      case LONG -> NODES.numberNode(column.longKey(row));
      case BYTES -> NODES.textNode(HEX.formatHex(column.bytesKey(row)));
    };
  }

  static KeyColumn keys(String type, JsonNode values) {
    int rows = values.size();
    byte[] states = new byte[rows];
    long[] longs = new long[rows];
    byte[][] bytes = new byte[rows][];
    boolean isLong = Keys.domain(type) == KeyDomain.LONG;
    for (int row = 0; row < rows; row++) {
      JsonNode value = values.get(row);
      if (value.isNull()) {
        states[row] = KeyColumn.NULL;
      } else if (type.matches("float|double") && value.textValue().equals("NaN")) {
        states[row] = KeyColumn.NAN;
      } else if (isLong) {
        longs[row] = longKey(type, value);
      } else {
        bytes[row] = bytesKey(type, value.textValue());
      }
    }
    return isLong ? KeyColumn.ofLongs(longs, states) : KeyColumn.ofBytes(bytes, states);
  }

  private static long longKey(String type, JsonNode value) {
    return switch (type.replaceAll("\\(.*", "")) {
      case "boolean" -> Keys.ofBoolean(value.booleanValue());
      case "float" -> Keys.ofDouble(Float.parseFloat(value.textValue()));
      case "double" -> Keys.ofDouble(Double.parseDouble(value.textValue()));
      case "decimal" -> unscaled(type, value.textValue()).longValueExact();
      default -> value.bigIntegerValue().longValueExact();
    };
  }

  private static byte[] bytesKey(String type, String value) {
    return switch (type.replaceAll("\\(.*", "")) {
      case "string" -> Keys.ofString(value);
      case "decimal" -> Keys.ofWideDecimal(unscaled(type, value));
      default -> HEX.parseHex(value);
    };
  }

  private static BigInteger unscaled(String type, String value) {
    int scale = Integer.parseInt(type.replaceAll(".*, ?(\\d+)\\)", "$1"));
    return new BigDecimal(value).setScale(scale).unscaledValue();
  }
}
