package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.icebergzorder.core.report.SnapshotFacts;
import io.icebergzorder.core.upkeep.RequestKey;
import io.icebergzorder.core.upkeep.Settled;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The golden file of what is settled, which pytest reads too: the engines know the rewrites of each other. */
class SettledGoldenTest {
  private static final JsonMapper MAPPER = new JsonMapper();

  @Test
  void keysAreTheSame() throws IOException {
    JsonNode keys = GoldenTest.read(GoldenTest.SETTLED).get("keys");
    assertEquals(2, keys.size());
    for (JsonNode golden : keys) {
      String key =
          RequestKey.of(
              golden.get("sort_order").textValue(),
              golden.get("where").textValue(),
              golden.get("spec").intValue(),
              golden.get("target").longValue(),
              texts(golden.get("options")),
              texts(golden.get("properties")));
      assertEquals(golden.get("key").textValue(), key);
    }
  }

  @Test
  void whatIsSettledIsTheSame() throws IOException {
    JsonNode histories = GoldenTest.read(GoldenTest.SETTLED).get("histories");
    assertEquals(11, histories.size());
    for (JsonNode golden : histories) {
      List<SnapshotFacts> snapshots = new ArrayList<>();
      golden.get("snapshots").forEach(each -> snapshots.add(new SnapshotFacts(each.get("id").longValue(), 0, "append", texts(each.get("summary")))));
      Optional<Set<Long>> expected =
          golden.get("newer").isNull()
              ? Optional.empty()
              : Optional.of(Set.copyOf(MAPPER.convertValue(golden.get("newer"), new TypeReference<List<Long>>() {})));
      assertEquals(expected, Settled.by("1f", snapshots).map(Settled::newer), golden.get("name").textValue());
    }
  }

  private static Map<String, String> texts(JsonNode node) {
    return MAPPER.convertValue(node, new TypeReference<Map<String, String>>() {});
  }
}
