package io.icebergzorder.core;

import static io.icebergzorder.core.GoldenTest.MAPPER;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.icebergzorder.core.metrics.ScanCost;
import java.io.IOException;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The golden file of the cost of filters, which pytest reads too: both engines size and judge files alike, bit for bit. */
class ScanCostGoldenTest {
  @Test
  void sizesByTheDataAreTheSame() throws IOException {
    JsonNode all = GoldenTest.read(GoldenTest.SCAN_COST);
    long[] sizes = MAPPER.convertValue(all.get("sizes"), long[].class);
    for (JsonNode golden : all.get("ideal_file_size")) {
      int columns = golden.get("columns").intValue();
      long openCost = golden.get("open_cost").longValue();
      long[] found = LongStream.of(sizes).map(size -> ScanCost.idealFileSize(size, columns, openCost)).toArray();
      long[] expected = MAPPER.convertValue(golden.get("expected"), long[].class);
      assertArrayEquals(expected, found, columns + " columns, open cost " + openCost);
    }
  }

  @Test
  void costsAreAveragedAlike() throws IOException {
    for (JsonNode golden : GoldenTest.read(GoldenTest.SCAN_COST).get("mean_cost")) {
      double found = ScanCost.mean(numbers(golden, "costs"), numbers(golden, "weights"));
      assertEquals(golden.get("expected").doubleValue(), found, golden.toString());
    }
  }

  private static double[] numbers(JsonNode golden, String name) {
    return MAPPER.convertValue(golden.get(name), double[].class);
  }

  @Test
  void openCostIsTheTablesOrTheDefault() {
    assertEquals(65_536, ScanCost.openCost(Map.of("read.split.open-file-cost", "65536")));
    assertEquals(1, ScanCost.openCost(Map.of("read.split.open-file-cost", "0")));
    assertEquals(4 << 20, ScanCost.openCost(Map.of("read.split.open-file-cost", "4m")));
    assertEquals(4 << 20, ScanCost.openCost(Map.of()));
  }
}
