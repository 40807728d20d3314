package io.icebergzorder.core;

import static io.icebergzorder.core.GoldenTest.MAPPER;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.icebergzorder.core.SortOrder.PrefixOrder;
import io.icebergzorder.core.workload.KeyBox;
import io.icebergzorder.core.workload.KeyEdge;
import io.icebergzorder.core.workload.KeyRange;
import io.icebergzorder.core.workload.PositionBoxes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The golden file of boxes over keys, which pytest reads too: both engines find the same positions. */
class PositionBoxesGoldenTest {
  private static final int[] MOST = {1, 2, 7, 64};

  static List<JsonNode> cases() throws IOException {
    return GoldenTest.casesOf(GoldenTest.POSITION_BOXES);
  }

  @ParameterizedTest(name = "{index}")
  @MethodSource("cases")
  void positionsAreTheSame(JsonNode golden) {
    List<KeyBox> boxes = boxes(golden.get("boxes"));
    QueryBoxes found = PositionBoxes.of(List.of(new PositionBoxes.Query(boxes, 1)), layout(golden).columns());
    int[][][] expected = MAPPER.convertValue(golden.get("positions"), int[][][].class);
    for (int box = 0; box < expected.length; box++) {
      for (int column = 0; column < found.lower().length; column++) {
        int[] actual = {found.lower()[column][box], found.upper()[column][box]};
        assertArrayEquals(expected[box][column], actual, golden.get("name").textValue());
      }
      assertEquals(found.lower().length, expected[box].length);
    }
  }

  @ParameterizedTest(name = "{index}")
  @MethodSource("cases")
  void whatIsSharedAndWhatCoversIsTheSame(JsonNode golden) {
    List<KeyBox> boxes = boxes(golden.get("boxes"));
    for (int box = 0; box + 1 < boxes.size(); box++) {
      JsonNode shared = golden.get("shared").get(box);
      assertEquals(shared.isNull() ? Optional.empty() : Optional.of(box(shared)), boxes.get(box).met(boxes.get(box + 1)));
    }
    for (int i = 0; i < MOST.length; i++) {
      assertEquals(boxes(golden.get("covers").get(i)), KeyBox.cover(boxes, MOST[i]));
    }
  }

  @Test
  void queriesThatWantNothingAreLeftOut() throws IOException {
    JsonNode golden = cases().get(3);
    List<KeyBox> boxes = boxes(golden.get("boxes")).subList(0, 3);
    List<PositionBoxes.Query> queries =
        List.of(
            new PositionBoxes.Query(List.of(), 9),
            new PositionBoxes.Query(boxes.subList(0, 2), 2.5),
            new PositionBoxes.Query(List.of(), 8),
            new PositionBoxes.Query(List.of(KeyBox.EVERYTHING), 0.5));
    QueryBoxes found = PositionBoxes.of(queries, layout(golden).columns());
    assertArrayEquals(new int[] {0, 0, 1}, found.query());
    assertArrayEquals(new double[] {2.5, 0.5}, found.weights());
    assertTrue(Arrays.stream(found.lower()).allMatch(column -> column[2] == 0));
  }

  private static Layout layout(JsonNode golden) {
    List<ClusteringColumn> columns = new ArrayList<>();
    List<KeyColumn> keys = new ArrayList<>();
    for (JsonNode column : golden.get("columns")) {
      columns.add(GoldenTest.column(column));
      keys.add(GoldenTest.keys(column.get("type").textValue(), column.get("values")));
    }
    List<PrefixOrder> leading = GoldenTest.orders(golden.get("leading"));
    int boundaries = golden.get("boundaries").intValue();
    return Layout.fit(
        columns, new Sample(keys), new LayoutRequest(4, BoxTree.KIND, Curve.ZORDER, leading, boundaries, 0.25, new double[0]));
  }

  static List<KeyBox> boxes(JsonNode golden) {
    return IntStream.range(0, golden.size()).mapToObj(i -> box(golden.get(i))).toList();
  }

  private static KeyBox box(JsonNode golden) {
    Map<List<String>, KeyRange> ranges = new HashMap<>();
    for (JsonNode each : golden) {
      List<String> name = Arrays.asList(MAPPER.convertValue(each.get(0), String[].class));
      ranges.put(name, new KeyRange(edge(each.get(1)), edge(each.get(2))));
    }
    return new KeyBox(ranges);
  }

  private static KeyEdge edge(JsonNode golden) {
    if (golden.size() == 2) {
      JsonNode key = golden.get(1);
      return key.isTextual() ? KeyEdge.before(HexFormat.of().parseHex(key.textValue())) : KeyEdge.before(key.longValue());
    }
    return List.of(KeyEdge.VALUES, KeyEdge.NAN, KeyEdge.NULL, KeyEdge.END).get(golden.get(0).intValue());
  }
}
