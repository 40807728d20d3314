package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.icebergzorder.core.MetricsCheck.GroupKeys;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Both engines judge metrics modes alike. */
class MetricsCheckTest {
  @ParameterizedTest(name = "{index}")
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
    return GoldenTest.casesOf(GoldenTest.METRICS_CHECK);
  }

  @Test
  void isEnoughFromNinetyFivePercentOn() {
    assertTrue(new MetricsCheck(20, 19, OptionalInt.empty()).isEnough());
    assertFalse(new MetricsCheck(2000, 1899, OptionalInt.empty()).isEnough());
    assertTrue(new MetricsCheck(0, 0, OptionalInt.empty()).isEnough());
    assertEquals(94, new MetricsCheck(2000, 1899, OptionalInt.empty()).share());
  }
}
