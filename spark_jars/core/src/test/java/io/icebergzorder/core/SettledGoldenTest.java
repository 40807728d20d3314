package io.icebergzorder.core;

import static io.icebergzorder.core.GoldenTest.MAPPER;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import io.icebergzorder.core.metrics.SnapshotFacts;
import io.icebergzorder.core.select.SmallFileCompaction;
import io.icebergzorder.core.select.RequestKey;
import io.icebergzorder.core.select.UnchangedSince;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The golden file of what is settled, which pytest reads too: the engines know the rewrites of each other. */
class SettledGoldenTest {
  @Test
  void keysAreTheSame() throws IOException {
    JsonNode keys = GoldenTest.read(GoldenTest.SETTLED).get("keys");
    assertEquals(2, keys.size());
    for (JsonNode golden : keys) {
      String key =
          RequestKey.of(
              golden.get("sort_order").textValue(),
              golden.get("where").textValue(),
              golden.get("ids").get(0).intValue(),
              golden.get("ids").get(1).intValue(),
              golden.get("target").longValue(),
              texts(golden.get("options")),
              texts(golden.get("properties")));
      assertEquals(golden.get("key").textValue(), key);
    }
  }

  @Test
  void keysOfWorkloadsAreTheSame() throws IOException {
    JsonNode workloads = GoldenTest.read(GoldenTest.SETTLED).get("workloads");
    assertEquals(4, workloads.size());
    for (JsonNode golden : workloads) {
      List<RequestKey.WeightedFilter> queries = new ArrayList<>();
      golden.get("queries").forEach(each -> queries.add(new RequestKey.WeightedFilter(each.get(0).textValue(), each.get(1).doubleValue())));
      assertEquals(golden.get("key").textValue(), RequestKey.ofWorkload(queries));
    }
  }

  @Test
  void whatIsSettledIsTheSame() throws IOException {
    JsonNode document = GoldenTest.read(GoldenTest.SETTLED);
    List<List<Long>> partitions = MAPPER.convertValue(document.get("partitions"), new TypeReference<List<List<Long>>>() {});
    assertEquals(19, document.get("histories").size());
    for (JsonNode golden : document.get("histories")) {
      List<SnapshotFacts> snapshots = new ArrayList<>();
      golden
          .get("snapshots")
          .forEach(each -> snapshots.add(snapshot(each)));
      Optional<List<Boolean>> expected =
          Optional.ofNullable(MAPPER.convertValue(golden.get("settled"), new TypeReference<List<Boolean>>() {}));
      Optional<UnchangedSince> unchanged = UnchangedSince.rewritesBy("1f", snapshots);
      assertEquals(expected, unchanged.map(each -> partitions.stream().map(each::covers).toList()), golden.get("name").textValue());
      Optional<Set<Long>> unfinished = Optional.ofNullable(MAPPER.convertValue(golden.get("unfinished"), new TypeReference<Set<Long>>() {}));
      assertEquals(unfinished, unchanged.map(UnchangedSince::unfinished), golden.get("name").textValue());
    }
  }

  @Test
  void smallFilesToMergeAreTheSame() throws IOException {
    JsonNode document = GoldenTest.read(GoldenTest.SETTLED);
    JsonNode rewrites = document.get("rewrites");
    List<SnapshotFacts> snapshots = new ArrayList<>();
    rewrites.get("snapshots").forEach(each -> snapshots.add(snapshot(each)));
    Map<Long, String> found = MAPPER.convertValue(rewrites.get("found"), new TypeReference<Map<Long, String>>() {});
    long target = rewrites.get("target").longValue();
    assertEquals(found, SmallFileCompaction.rewritesTo(snapshots, target));
    assertEquals(10, document.get("small").size());
    for (JsonNode small : document.get("small")) {
      long[] sizes = MAPPER.convertValue(small.get("sizes"), long[].class);
      List<String> written = new ArrayList<>();
      small.get("rewrites").forEach(each -> written.add(each.asText(SmallFileCompaction.NONE)));
      boolean[] merged = MAPPER.convertValue(small.get("merged"), boolean[].class);
      assertArrayEquals(merged, SmallFileCompaction.toMerge(sizes, written), small.toString());
    }
  }

  @Test
  void summariesThatCannotBeReadAreNoLayouts() {
    for (String columns : List.of("", "a b", "zorder(", "`")) {
      SnapshotFacts found = new SnapshotFacts(1, 0, "replace", Map.of("zorder.columns", columns, "zorder.target-file-size", "1 option"));
      assertFalse(found.isLayout());
      assertFalse(found.isBy("zorder(a, b)"));
      assertEquals(0, found.targetFileSize());
    }
  }

  @Test
  void budgetsAreTheSame() throws IOException {
    JsonNode budgets = GoldenTest.read(GoldenTest.SETTLED).get("budgets");
    assertEquals(11, budgets.size());
    for (JsonNode golden : budgets) {
      List<SnapshotFacts> snapshots = new ArrayList<>();
      golden.get("snapshots").forEach(each -> snapshots.add(snapshot(each)));
      Map<Long, String> runs = MAPPER.convertValue(golden.get("runs"), new TypeReference<Map<Long, String>>() {});
      assertEquals(golden.get("budget").longValue(), SmallFileCompaction.rewriteBudget(runs, snapshots), golden.get("name").textValue());
    }
  }

  private static SnapshotFacts snapshot(JsonNode node) {
    return new SnapshotFacts(node.get("id").longValue(), 0, node.get("operation").textValue(), texts(node.get("summary")));
  }

  private static Map<String, String> texts(JsonNode node) {
    return MAPPER.convertValue(node, new TypeReference<Map<String, String>>() {});
  }
}
