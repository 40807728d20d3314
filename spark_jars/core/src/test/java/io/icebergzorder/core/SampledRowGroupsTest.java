package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.icebergzorder.core.SampledRowGroups.RowGroup;
import io.icebergzorder.core.SampledRowGroups.SampledFile;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Both engines read the same row groups for a sample. */
class SampledRowGroupsTest {
  private static final int ROWS = 200;

  @ParameterizedTest(name = "{index}")
  @MethodSource("cases")
  void rowGroupsAreTheSame(JsonNode golden) {
    List<SampledFile> files = files(golden.get("files"));
    for (JsonNode asked : golden.get("asked")) {
      Optional<List<List<RowGroup>>> read =
          SampledRowGroups.of(
              files,
              asked.get("rows").longValue(),
              asked.get("output_files").longValue(),
              asked.get("seed").longValue(),
              asked.get("are_clusters").booleanValue());
      JsonNode found = read.map(SampledRowGroupsTest::node).orElse(JsonNodeFactory.instance.nullNode());
      assertEquals(asked.get("read").toString(), found.toString());
    }
  }

  private static JsonNode node(List<List<RowGroup>> read) {
    ArrayNode node = JsonNodeFactory.instance.arrayNode();
    for (List<RowGroup> ofFile : read) {
      ArrayNode inFile = node.addArray();
      for (RowGroup each : ofFile) {
        inFile
            .addArray()
            .add(each.number())
            .add(each.range().start())
            .add(each.range().end())
            .add(each.firstPosition())
            .add(each.sampledRows())
            .add(each.rows());
      }
    }
    return node;
  }

  private static List<SampledFile> files(JsonNode golden) {
    List<SampledFile> files = new ArrayList<>();
    for (JsonNode file : golden) {
      List<Long> offsets = new ArrayList<>();
      file.get(4).forEach(offset -> offsets.add(offset.longValue()));
      files.add(
          new SampledFile(
              file.get(0).textValue(),
              file.get(1).longValue(),
              file.get(2).longValue(),
              file.get(3).longValue(),
              offsets));
    }
    return files;
  }

  static List<JsonNode> cases() throws IOException {
    return GoldenTest.casesOf(GoldenTest.SAMPLED_ROW_GROUPS);
  }

  @Test
  void effectIsLargeWhereRowGroupsAreClusters() {
    int[] alike = IntStream.range(0, ROWS).map(row -> row % 2).toArray();
    int[] apart = IntStream.range(0, ROWS).map(row -> row / (ROWS / 2)).toArray();
    assertEquals(-0.01, SampledRowGroups.effect(alike, apart, 2));
    assertEquals(0.49, SampledRowGroups.effect(apart, apart, 2));
    // Of four row groups the second and the third go to one file, the others to another.
    int[] rowGroups = IntStream.range(0, ROWS).map(row -> row / (ROWS / 4)).toArray();
    int[] files = IntStream.of(rowGroups).map(rowGroup -> (rowGroup + 1) / 2 % 2).toArray();
    assertEquals((4 * 50.0 * 50 - 2 * ROWS) * 2 / (2.0 * ROWS * ROWS), SampledRowGroups.effect(files, rowGroups, 2));
  }
}
