package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.core.upkeep.Region;
import io.icebergzorder.core.upkeep.RegionSizes;
import io.icebergzorder.core.upkeep.Regions;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The golden file of regions, which pytest reads too: both engines cut the same files alike, bit for bit. */
class RegionsGoldenTest {
  private static final JsonMapper MAPPER = new JsonMapper();

  static List<JsonNode> cases() throws IOException {
    List<JsonNode> cases = new ArrayList<>();
    GoldenTest.read(GoldenTest.REGIONS).get("cases").forEach(cases::add);
    assertTrue(cases.size() > 100);
    return cases;
  }

  @ParameterizedTest(name = "{index}")
  @MethodSource("cases")
  void regionsAreTheSame(JsonNode golden) {
    String name = golden.get("name").textValue() + " " + golden.get("bound") + " " + golden.get("is_across");
    DataFiles files = ReportGoldenTest.files(golden);
    RegionSizes sizes =
        new RegionSizes(
            golden.get("bound").longValue(), golden.get("least").longValue(), golden.get("is_across").booleanValue());
    Regions found = Regions.cut(files, golden.get("spread").intValue(), sizes, UpkeepGoldenTest.request(golden));
    JsonNode expected = golden.get("expected");
    assertEquals(expected.get("regions").size(), found.regions().size(), name);
    for (int place = 0; place < found.regions().size(); place++) {
      JsonNode region = expected.get("regions").get(place);
      Region each = found.regions().get(place);
      assertArrayEquals(MAPPER.convertValue(region.get("files"), int[].class), each.files(), name);
      assertEquals(region.get("is_clean").booleanValue(), each.isClean(), name);
      assertArrayEquals(MAPPER.convertValue(region.get("spans"), double[].class), each.spans(), name);
    }
    assertEquals(number(expected.get("expected")), found.expected(), name);
    assertEquals(number(expected.get("in_one")), found.inOne(), name);
  }

  private static OptionalDouble number(JsonNode value) {
    return value.isNull() ? OptionalDouble.empty() : OptionalDouble.of(value.doubleValue());
  }
}
