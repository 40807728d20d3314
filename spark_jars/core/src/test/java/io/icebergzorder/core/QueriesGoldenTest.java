package io.icebergzorder.core;

import static io.icebergzorder.core.GoldenTest.MAPPER;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The golden file of cuts from a workload, which pytest reads too: both engines grow the same trees, bit for bit. */
class QueriesGoldenTest {
  static List<JsonNode> cases() throws IOException {
    return GoldenTest.casesOf(GoldenTest.QUERIES);
  }

  @ParameterizedTest(name = "{index}")
  @MethodSource("cases")
  void treeIsTheSame(JsonNode golden) {
    int[][] positions = of(golden, "positions", int[][].class);
    BoxTree tree =
        BoxTreeGrower.grow(
            positions,
            positions[0].length,
            golden.get("bits").intValue(),
            golden.get("files").intValue(),
            golden.get("tolerance").doubleValue(),
            of(golden, "weights", double[].class),
            golden.get("leading").intValue(),
            workload(golden),
            golden.get("share").doubleValue());
    ArrayNode nodes = MAPPER.createArrayNode();
    tree.nodes().forEach(node -> nodes.add(node(node)));
    assertEquals(golden.get("nodes").toString(), nodes.toString(), golden.get("name").textValue());
  }

  private static QueryBoxes workload(JsonNode golden) {
    return new QueryBoxes(
        of(golden, "lower", int[][].class),
        of(golden, "upper", int[][].class),
        of(golden, "query", int[].class),
        of(golden, "asked", double[].class));
  }

  private static <T> T of(JsonNode golden, String name, Class<T> type) {
    return MAPPER.convertValue(golden.get(name), type);
  }

  private static JsonNode node(BoxTree.Node node) {
    if (node instanceof BoxTree.Split split) {
      return MAPPER.valueToTree(List.of(split.column(), split.start()));
    }
    BoxTree.Leaf leaf = (BoxTree.Leaf) node;
    return MAPPER.valueToTree(List.of(leaf.files(), leaf.lower(), leaf.upper()));
  }
}
