package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.LongFunction;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ScanMeasurementTest {
  private static final long NONE = -1;

  private static KeyColumn longs(long... values) {
    return KeyColumn.ofLongs(values, states(values));
  }

  private static KeyColumn texts(long[] values, LongFunction<String> text) {
    byte[][] keys = LongStream.of(values).mapToObj(value -> value == NONE ? null : Keys.ofString(text.apply(value))).toArray(byte[][]::new);
    return KeyColumn.ofBytes(keys, states(values));
  }

  private static byte[] states(long[] values) {
    byte[] states = new byte[values.length];
    for (int row = 0; row < states.length; row++) {
      states[row] = values[row] == NONE ? KeyColumn.NULL : KeyColumn.VALUE;
    }
    return states;
  }

  private static String text(long value) {
    return "%05d".formatted(value);
  }

  private static ScanMeasurement.Bounds bounds(KeyColumn lower, KeyColumn upper) {
    boolean[] hasValues = new boolean[lower.size()];
    Arrays.fill(hasValues, true);
    return new ScanMeasurement.Bounds(lower, upper, hasValues);
  }

  /** A group of files, some without bounds, some without values, with the numbers that its keys are made of. */
  private record RandomGroup(
      long[] values, long rows, long[] bytes, long[] lower, long[] upper, boolean[] hasValues) {
    static RandomGroup of(Random random, int rows, int files) {
      long[] lower = new long[files];
      long[] upper = new long[files];
      boolean[] hasValues = new boolean[files];
      for (int file = 0; file < files; file++) {
        lower[file] = random.nextInt(8) == 0 ? NONE : random.nextInt(400);
        upper[file] = random.nextInt(8) == 0 ? NONE : Math.max(0, lower[file]) + random.nextInt(200);
        hasValues[file] = random.nextInt(8) > 0;
      }
      return new RandomGroup(
          random.longs(rows, NONE, 500).toArray(),
          rows * (1 + random.nextInt(9)),
          random.longs(files, 0, 1_000).toArray(),
          lower,
          upper,
          hasValues);
    }

    ScanMeasurement.MeasuredGroup measured() {
      return new ScanMeasurement.MeasuredGroup(
          new Sample(List.of(longs(values), texts(values, ScanMeasurementTest::text))),
          rows,
          bytes,
          List.of(
              new ScanMeasurement.Bounds(longs(lower), longs(upper), hasValues),
              // Cut to four digits: below the least value, and above the greatest.
              new ScanMeasurement.Bounds(
                  texts(lower, value -> text(value).substring(0, 4)),
                  texts(upper, value -> text(value).substring(0, 4) + ":"),
                  hasValues)));
    }

    double read(long value, boolean isCut) {
      double read = 0;
      for (int file = 0; file < bytes.length; file++) {
        long low = isCut ? lower[file] / 10 * 10 : lower[file];
        long high = isCut ? upper[file] / 10 * 10 + 9 : upper[file];
        boolean isRuledOut =
            !hasValues[file] || (lower[file] != NONE && upper[file] != NONE && (value < low || value > high));
        read += isRuledOut ? 0 : bytes[file];
      }
      return read;
    }
  }

  private static double naive(List<RandomGroup> groups, boolean isCut) {
    double all = groups.stream().flatMapToLong(group -> LongStream.of(group.bytes())).sum();
    double sum = 0;
    double weights = 0;
    for (RandomGroup asking : groups) {
      double weight = (double) asking.rows() / asking.values().length;
      for (long value : asking.values()) {
        if (value != NONE) {
          sum += weight * groups.stream().mapToDouble(group -> group.read(value, isCut)).sum();
          weights += weight;
        }
      }
    }
    return sum / weights / all;
  }

  @Test
  void itIsWhatANaiveLoopFinds() {
    Random random = new Random(1);
    for (int round = 0; round < 50; round++) {
      List<RandomGroup> groups = new ArrayList<>();
      for (int group = 0; group <= random.nextInt(4); group++) {
        groups.add(RandomGroup.of(random, 1 + random.nextInt(60), 1 + random.nextInt(20)));
      }
      List<ScanMeasurement.MeasuredGroup> measured = groups.stream().map(RandomGroup::measured).toList();
      assertEquals(naive(groups, false), ScanMeasurement.of(measured, 0), 1e-9);
      assertEquals(naive(groups, true), ScanMeasurement.of(measured, 1), 1e-9);
    }
  }

  @Test
  void itIsWhatWasPredictedOfFilesThatFollowTheSample() {
    long[] values = LongStream.range(0, 1_000).toArray();
    Sample sample = new Sample(List.of(longs(values)));
    ScanMeasurement.MeasuredGroup group =
        new ScanMeasurement.MeasuredGroup(
            sample, 1_000, new long[] {500, 500}, List.of(bounds(longs(0, 500), longs(499, 999))));
    assertEquals(0.5, ScanMeasurement.of(List.of(group), 0), 1e-12);
  }

  @Test
  void aColumnWithoutAValueHasNoFraction() {
    ScanMeasurement.MeasuredGroup group =
        new ScanMeasurement.MeasuredGroup(
            new Sample(List.of(longs(NONE, NONE))), 2, new long[] {5}, List.of(bounds(longs(1), longs(2))));
    assertTrue(Double.isNaN(ScanMeasurement.of(List.of(group), 0)));
  }
}
