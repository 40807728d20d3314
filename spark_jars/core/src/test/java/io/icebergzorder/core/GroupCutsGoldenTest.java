package io.icebergzorder.core;

import static io.icebergzorder.core.GoldenTest.MAPPER;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.icebergzorder.core.select.GroupCuts;
import io.icebergzorder.core.select.UpkeepRequest;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The golden file of file groups, which pytest reads too: both engines cut the same files alike. */
class GroupCutsGoldenTest {
  static List<JsonNode> cases() throws IOException {
    return GoldenTest.casesOf(GoldenTest.GROUP_CUTS);
  }

  @ParameterizedTest
  @MethodSource("cases")
  void groupsAreTheSame(JsonNode golden) {
    UpkeepRequest request = UpkeepGoldenTest.request(golden);
    List<GroupCuts.Group> found =
        GroupCuts.cut(
            ReportGoldenTest.files(golden),
            MAPPER.convertValue(golden.get("chosen"), int[].class),
            golden.get("most_bytes").longValue(),
            golden.get("most_files").longValue(),
            request.kept(),
            request.weights());
    int[][] expected = MAPPER.convertValue(golden.get("expected"), int[][].class);
    String name = golden.get("name") + " " + golden.get("most_bytes");
    assertArrayEquals(expected, found.stream().map(GroupCuts.Group::files).toArray(int[][]::new), name);
    int[][] extents = MAPPER.convertValue(golden.get("extents"), int[][].class);
    assertArrayEquals(extents, found.stream().map(GroupCuts.Group::extents).toArray(int[][]::new), name);
  }
}
