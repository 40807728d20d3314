package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The laws of the curve on whole grids; the golden files hold it to Python's. */
class HilbertCurveTest {
  @FunctionalInterface
  private interface Encoder {
    long index(int[] positions, int bits);
  }

  private static long zorder(int[] positions, int bits) {
    ZOrderCurve curve = new ZOrderCurve(positions.length);
    return IntStream.range(0, positions.length).mapToLong(c -> curve.share(positions[c], c)).reduce(0, (a, b) -> a | b);
  }

  private static long hilbert(int[] positions, int bits) {
    return HilbertCurve.of(positions.length).index(zorder(positions, bits), bits);
  }

  private static List<String> brokenLaws(Encoder encoder, int columns, int bits) {
    int count = 1 << columns * bits;
    int[][] points = new int[count][];
    List<String> broken = new ArrayList<>();
    boolean bijection = true;
    for (int point = 0; point < count; point++) {
      int number = point;
      int[] positions = IntStream.range(0, columns).map(c -> number >> c * bits & (1 << bits) - 1).toArray();
      long index = encoder.index(positions, bits);
      bijection &= index >= 0 && index < count && points[(int) index] == null;
      if (index >= 0 && index < count) {
        points[(int) index] = positions;
      }
    }
    if (!bijection) {
      return List.of("bijection");
    }
    if (Arrays.stream(points[0]).sum() != 0) {
      broken.add("origin");
    }
    for (int i = 1; i < count; i++) {
      int[] before = points[i - 1];
      int[] here = points[i];
      if (IntStream.range(0, columns).map(c -> Math.abs(here[c] - before[c])).sum() != 1) {
        broken.add("neighbours");
        break;
      }
    }
    return broken;
  }

  @ParameterizedTest
  @CsvSource({"1,1", "1,8", "2,1", "2,2", "2,6", "3,1", "3,4", "4,3", "5,2", "6,2", "7,1", "7,2", "8,1", "8,2"})
  void itsLawsHold(int columns, int bits) {
    assertEquals(List.of(), brokenLaws(HilbertCurveTest::hilbert, columns, bits));
  }

  @Test
  void aWrongEncoderIsNoticed() {
    assertEquals(List.of("neighbours"), brokenLaws(HilbertCurveTest::zorder, 2, 3));
    assertEquals(List.of("bijection"), brokenLaws((positions, bits) -> hilbert(positions, bits) | 1, 2, 3));
    assertEquals(List.of("origin"), brokenLaws((positions, bits) -> 63 - hilbert(positions, bits), 2, 3));
  }

  @ParameterizedTest
  @CsvSource({"1,16", "2,16", "3,16", "4,15", "5,12", "6,10", "7,9", "8,7"})
  void theTopBitIsUsedAndTheSignIsNot(int columns, int bits) {
    long last = (1L << columns * bits - 1) - 1 + (1L << columns * bits - 1);
    long highest = 0;
    for (int corner = 0; corner < 1 << columns; corner++) {
      int of = corner;
      int[] positions = IntStream.range(0, columns).map(c -> (of >> c & 1) * ((1 << bits) - 1)).toArray();
      long index = hilbert(positions, bits);
      assertEquals(index, index & last);
      highest = Math.max(highest, index);
    }
    assertEquals(last, highest);
  }
}
