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
      groups.add(new GroupKeys(keys, group.get("alone").booleanValue()));
    }
    MetricsCheck found = MetricsCheck.of(golden.get("type").textValue().equals("string"), golden.get("kept").intValue(), groups);
    JsonNode wanted = golden.get("wanted");
    MetricsCheck expected =
        new MetricsCheck(
            golden.get("pairs").longValue(),
            golden.get("separated").longValue(),
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
    assertFalse(keys.alone());
  }

  @Test
  void nullsDoNotHideThatAllKeysBeginAlike() {
    assertEquals(List.of(), keys("a".repeat(CUT), null).keys());
    assertTrue(keys("a".repeat(CUT), null).alone());
    assertFalse(keys("a".repeat(CUT - 1), null).alone());
  }

  @Test
  void columnThatIsLeftOutIsAloneIfItsKeyWasCut() {
    String cut = "é".repeat(CUT / 2);
    assertFalse(keys("a", "a").alone());
    assertTrue(keys(cut, cut).alone());
    assertEquals(List.of(), keys(cut).keys());
    assertFalse(keys(null, null).alone());
    assertFalse(keys().alone());
  }

  private static GroupKeys keys(String... values) {
    byte[][] keys = Stream.of(values).map(value -> value == null ? null : utf8(value)).toArray(byte[][]::new);
    byte[] states = new byte[keys.length];
    for (int row = 0; row < keys.length; row++) {
      states[row] = keys[row] == null ? KeyColumn.NULL : KeyColumn.VALUE;
    }
    Sample sample = new Sample(List.of(KeyColumn.ofBytes(keys, states)));
    LayoutRequest request = new LayoutRequest(1, BoxTree.KIND, Curve.ZORDER, List.of(), 9, 0.25, new double[] {1});
    Layout layout = Layout.fit(List.of(new ClusteringColumn(List.of("a"), "string")), sample, request);
    return GroupKeys.of(layout, sample, 0, CUT);
  }

  private static byte[] utf8(String value) {
    return value.getBytes(StandardCharsets.UTF_8);
  }
}
