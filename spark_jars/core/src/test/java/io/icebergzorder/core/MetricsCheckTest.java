package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.icebergzorder.core.MetricsCheck.GroupKeys;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Both engines judge metrics modes alike. */
class MetricsCheckTest {
  private static final int CUT = 68;

  @ParameterizedTest
  @MethodSource("cases")
  void judgementIsTheSame(JsonNode golden) {
    List<GroupKeys> groups = new ArrayList<>();
    for (JsonNode group : golden.get("groups")) {
      List<byte[]> keys = new ArrayList<>();
      group.get("keys").forEach(key -> keys.add(HexFormat.of().parseHex(key.textValue())));
      List<Long> rows = new ArrayList<>();
      group.get("rows").forEach(count -> rows.add(count.longValue()));
      groups.add(new GroupKeys(keys, rows, group.get("unseen").longValue()));
    }
    MetricsCheck found = MetricsCheck.of(golden.get("type").textValue().equals("string"), golden.get("kept").intValue(), groups);
    JsonNode wanted = golden.get("wanted");
    MetricsCheck expected =
        new MetricsCheck(
            golden.get("rows").longValue(),
            golden.get("apart").longValue(),
            wanted.isNull() ? OptionalInt.empty() : OptionalInt.of(wanted.intValue()));
    assertEquals(expected, found, golden.get("name").textValue());
  }

  static List<JsonNode> cases() throws IOException {
    List<JsonNode> cases = new ArrayList<>();
    GoldenTest.read(GoldenTest.METRICS_CHECK).get("cases").forEach(cases::add);
    assertTrue(cases.size() > 10);
    return cases;
  }

  @Test
  void isEnoughFromNinetyFivePercentOn() {
    assertTrue(new MetricsCheck(20, 19, OptionalInt.empty()).isEnough());
    assertFalse(new MetricsCheck(2000, 1899, OptionalInt.empty()).isEnough());
    assertTrue(new MetricsCheck(0, 0, OptionalInt.empty()).isEnough());
    assertEquals(94, new MetricsCheck(2000, 1899, OptionalInt.empty()).share());
  }

  @Test
  void keysAreTheSmallestAndTheBoundariesAboveIt() {
    GroupKeys keys = keys("b", null, "a", "c", "b");
    assertArrayEquals(new byte[][] {utf8("a"), utf8("b"), utf8("c")}, keys.keys().toArray(byte[][]::new));
    assertEquals(List.of(1L, 2L, 1L), keys.rows());
    assertEquals(0, keys.unseen());
  }

  @Test
  void nullsDoNotHideThatAllKeysBeginAlike() {
    String cut = "a".repeat(CUT);
    GroupKeys keys = keys(cut + "1", cut + "2", null, cut + "1", cut);
    assertArrayEquals(new byte[][] {utf8(cut)}, keys.keys().toArray(byte[][]::new));
    // The one that was not cut has the same key, and is one value more.
    assertEquals(List.of(2L), keys.rows());
    assertEquals(2, keys.unseen());
    assertEquals(List.of(3L), keys(cut, cut, cut).rows());
    assertEquals(List.of(2L), keys(cut + "1", cut + "2", null, cut + "1").rows());
    assertEquals(1, keys(cut + "1", cut + "2", null, cut + "1").unseen());
  }

  @Test
  void valuesThatAreCutToOneKeyAreUnseenButForTheMostFrequent() {
    String cut = "é".repeat(CUT / 2);
    GroupKeys keys = keys(cut + "1", cut + "2", cut + "2", "b", "b", "a");
    assertEquals(List.of(1L, 2L, 2L), keys.rows());
    assertEquals(1, keys.unseen());
  }

  @Test
  void constantIsSeenHoweverLongItIs() {
    String cut = "é".repeat(CUT);
    assertEquals(new GroupKeys(List.of(), List.of(), 0), keys(null, null));
    assertEquals(new GroupKeys(List.of(), List.of(), 0), keys());
    assertEquals(List.of(3L), keys(cut, cut, cut).rows());
    assertEquals(0, keys(cut, cut, cut).unseen());
  }

  private static GroupKeys keys(String... values) {
    byte[][] sampled = Stream.of(values).map(value -> value == null ? null : Keys.withTail(utf8(value), CUT)).toArray(byte[][]::new);
    byte[][] keys = new byte[sampled.length][];
    byte[] states = new byte[keys.length];
    long[] tails = new long[keys.length];
    for (int row = 0; row < keys.length; row++) {
      states[row] = sampled[row] == null ? KeyColumn.NULL : KeyColumn.VALUE;
      tails[row] = sampled[row] == null ? 0 : Keys.tail(sampled[row], CUT);
      keys[row] = tails[row] == 0 ? sampled[row] : Arrays.copyOf(sampled[row], CUT);
    }
    Sample sample = new Sample(List.of(KeyColumn.ofBytes(keys, states)));
    LayoutRequest request = new LayoutRequest(1, BoxTree.KIND, Curve.ZORDER, List.of(), 9, 0.25, new double[] {1});
    Layout layout = Layout.fit(List.of(new ClusteringColumn(List.of("a"), "string")), sample, request);
    return GroupKeys.of(layout, sample, 0, tails);
  }

  private static byte[] utf8(String value) {
    return value.getBytes(StandardCharsets.UTF_8);
  }
}
