package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.report.FileBoxes;
import io.icebergzorder.core.report.SpreadRows;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Both engines draw the same boxes, with the same labels. */
class FileBoxesTest {
  private static final int SPREAD = 40;
  private static final JsonMapper MAPPER = new JsonMapper();

  @ParameterizedTest
  @MethodSource("columns")
  void axisIsTheSame(JsonNode golden) {
    String type = golden.get("type").textValue();
    double[] valued = MAPPER.convertValue(golden.get("valued"), double[].class);
    ColumnBounds bounds =
        new ColumnBounds(
            new ClusteringColumn(List.of("c"), type),
            GoldenTest.keys(type, golden.get("lower")),
            GoldenTest.keys(type, golden.get("upper")),
            valued);
    FileBoxes found = boxes(bounds, ones(valued.length));
    FileBoxes.Axis axis = found.axes().get(0);
    JsonNode expected = golden.get("expected").get("axes").get(0);
    assertEquals(expected.get("lower").toString(), Arrays.toString(axis.lower()).replace(" ", ""));
    assertEquals(expected.get("upper").toString(), Arrays.toString(axis.upper()).replace(" ", ""));
    assertEquals(expected.get("ticks").size(), axis.ticks().size());
    for (int tick = 0; tick < axis.ticks().size(); tick++) {
      assertEquals(expected.get("ticks").get(tick).get(0).doubleValue(), axis.ticks().get(tick).place());
      assertEquals(expected.get("ticks").get(tick).get(1).textValue(), axis.ticks().get(tick).label(), type);
    }
  }

  static List<JsonNode> columns() throws IOException {
    List<JsonNode> cases = new ArrayList<>();
    GoldenTest.read(GoldenTest.BOXES).get("columns").forEach(cases::add);
    assertTrue(cases.size() > 30);
    return cases;
  }

  @Test
  void sizesAreTheSame() throws IOException {
    JsonNode golden = GoldenTest.read(GoldenTest.BOXES).get("sizes");
    FileBoxes found = boxes(numbers(golden.get("of").size()), MAPPER.convertValue(golden.get("of"), long[].class));
    assertEquals(golden.get("expected").toString(), MAPPER.valueToTree(found.sizes()).toString());
  }

  @Test
  void ofManyFilesSomeAreShown() {
    FileBoxes found = boxes(numbers(12_001), ones(12_001));
    FileBoxes.Axis axis = found.axes().get(0);
    assertEquals(5_000, axis.lower().length);
    assertEquals(0.0, axis.lower()[0]);
    // The last one shown is not the last one there.
    assertEquals(4_999 * 12_001 / 5_000, Math.round(axis.lower()[4_999] * 12_001));
    assertEquals(12_001, found.sizes().get(1L));
  }

  /** Files that hold a number each. */
  private static ColumnBounds numbers(int count) {
    long[] keys = new long[count];
    Arrays.setAll(keys, file -> file);
    double[] valued = new double[count];
    Arrays.fill(valued, 1);
    KeyColumn bounds = KeyColumn.ofLongs(keys, new byte[count]);
    return new ColumnBounds(new ClusteringColumn(List.of("c"), "long"), bounds, bounds, valued);
  }

  private static FileBoxes boxes(ColumnBounds bounds, long[] sizes) {
    DataFiles files = new DataFiles(new int[bounds.size()], ones(bounds.size()), sizes, List.of(bounds));
    return FileBoxes.of(files, SpreadRows.of(files, SPREAD).sample());
  }

  private static long[] ones(int count) {
    long[] ones = new long[count];
    Arrays.fill(ones, 1);
    return ones;
  }
}
