package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The golden file of cuts from a workload, which pytest reads too: both engines grow the same trees, bit for bit. */
class QueriesGoldenTest {
  private static final JsonMapper MAPPER = new JsonMapper();

  static List<JsonNode> cases() throws IOException {
    List<JsonNode> cases = new ArrayList<>();
    GoldenTest.read(GoldenTest.QUERIES).get("cases").forEach(cases::add);
    assertTrue(cases.size() > 60);
    return cases;
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

  @Test
  void aLayoutIsFittedToQueriesOfItsColumns() {
    Random random = new Random(1);
    long[] constant = new long[2_000];
    long[] one = random.longs(2_000, 0, 1_000).toArray();
    long[] other = random.longs(2_000, 0, 1_000).toArray();
    Sample sample = new Sample(List.of(longs(constant), longs(one), longs(other)));
    List<ClusteringColumn> columns =
        Stream.of("x", "y", "z").map(name -> new ClusteringColumn(List.of(name), "long")).toList();
    LayoutRequest request = new LayoutRequest(10, BoxTree.KIND, Curve.ZORDER, List.of(), 4096, 0.5, new double[0]);
    Function<Layout, QueryBoxes> workload =
        uncut -> {
          assertEquals(List.of("y", "z"), uncut.columns().stream().map(each -> each.column().name()).toList());
          int[] positions = uncut.columns().get(1).positions();
          int[] low = {positions[100]};
          int[] high = {positions[199]};
          return new QueryBoxes(new int[][] {{0}, low}, new int[][] {{65_535}, high}, new int[1], new double[] {1});
        };
    BoxTree tree = (BoxTree) Layout.fit(columns, sample, request, workload, 1).cuts();
    long splits = tree.nodes().stream().filter(node -> node instanceof BoxTree.Split split && split.column() == 1).count();
    assertTrue(splits >= 2);
    String plain = Layout.fit(columns, sample, request).toJson();
    assertEquals(plain, Layout.fit(columns, sample, request, uncut -> null, 1).toJson());
  }

  private static KeyColumn longs(long[] keys) {
    return KeyColumn.ofLongs(keys, new byte[keys.length]);
  }
}
