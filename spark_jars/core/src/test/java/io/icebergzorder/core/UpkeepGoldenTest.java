package io.icebergzorder.core;

import static io.icebergzorder.core.GoldenTest.MAPPER;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.FileSizes;
import io.icebergzorder.core.select.Gain;
import io.icebergzorder.core.select.UpkeepRequest;
import io.icebergzorder.core.select.UpkeepRequest.AskedQueries;
import io.icebergzorder.core.workload.KeyBox;
import io.icebergzorder.core.workload.PositionBoxes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The golden file of upkeep, which pytest reads too: both engines choose the same of the same files, bit for bit. */
class UpkeepGoldenTest {
  static List<JsonNode> cases() throws IOException {
    List<JsonNode> cases = GoldenTest.casesOf(GoldenTest.UPKEEP);
    cases.addAll(GoldenTest.casesOf(GoldenTest.UPKEEP_QUERIES));
    return cases;
  }

  @ParameterizedTest
  @MethodSource("cases")
  void choiceIsTheSame(JsonNode golden) {
    String name = golden.get("name").textValue();
    JsonNode expected = golden.get("expected");
    BoundedFiles files = ReportGoldenTest.files(golden);
    boolean[] calledFor = ReportGoldenTest.flags(golden.get("called_for"), files.count());
    boolean[] mustRewrite = ReportGoldenTest.flags(golden.get("due"), files.count());
    long budget = golden.get("budget").longValue();
    Gain.Choice choice = Gain.choose(files, calledFor, mustRewrite, budget, golden.get("spread").intValue(), request(golden));
    assertArrayEquals(MAPPER.convertValue(expected.get("files"), int[].class), choice.files(), name);
    assertEquals(expected.get("today").doubleValue(), choice.today(), name);
    assertEquals(expected.get("expected").doubleValue(), choice.expected(), name);
    assertEquals(expected.get("attainable").doubleValue(), choice.attainable(), name);
    assertEquals(expected.get("is_within").booleanValue(), choice.isWithin(), name);
    assertEquals(expected.get("uses_smaller_target").booleanValue(), choice.usesSmallerTarget(), name);
    assertArrayEquals(MAPPER.convertValue(expected.get("extents"), int[].class), choice.extents(), name);
  }

  static UpkeepRequest request(JsonNode golden) {
    List<Beginning> kept = new ArrayList<>();
    for (int place = 0; place < golden.get("kept").size(); place++) {
      JsonNode length = golden.get("kept").get(place);
      boolean isText = golden.get("columns").get(place).get("type").textValue().equals("string");
      kept.add(length.isNull() ? Beginning.WHOLE : new Beginning(length.intValue(), isText));
    }
    long target = golden.get("target").longValue();
    return new UpkeepRequest(
        golden.get("max_scan_ratio").doubleValue(),
        golden.get("spare_files").intValue(),
        new FileSizes(target, 0, target, 1),
        ReportGoldenTest.layout(golden.get("layout")),
        kept,
        MAPPER.convertValue(golden.get("weights"), double[].class),
        golden.get("open_cost").longValue(),
        Optional.ofNullable(golden.get("queries")).map(UpkeepGoldenTest::queries));
  }

  private static AskedQueries queries(JsonNode golden) {
    List<PositionBoxes.Query> queries = new ArrayList<>();
    for (int place = 0; place < golden.get("boxes").size(); place++) {
      if (golden.get("may_find").get(place).booleanValue()) {
        List<KeyBox> boxes = PositionBoxesGoldenTest.boxes(golden.get("boxes").get(place));
        queries.add(new PositionBoxes.Query(boxes, golden.get("weights").get(place).doubleValue()));
      }
    }
    return new AskedQueries(queries, golden.get("weight").doubleValue(), golden.get("share").doubleValue());
  }

  @Test
  void rowsAreSharedOut() {
    assertArrayEquals(new int[] {2_000, 12_800}, Gain.rowsToSpread(new int[] {1, 64}));
    int[] many = new int[1_000];
    Arrays.fill(many, 64);
    assertEquals(500, Gain.rowsToSpread(many)[0]);
    assertArrayEquals(new int[] {40_000}, Gain.rowsToSpread(new int[] {100_000}));
  }
}
