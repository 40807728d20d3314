package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.icebergzorder.core.report.NewFiles;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ScanPredictionTest {
  private static final List<ClusteringColumn> COLUMNS =
      List.of(new ClusteringColumn(List.of("a"), "long"), new ClusteringColumn(List.of("b"), "string"));
  private static final Sample NOTHING = new Sample(List.of(longs(new long[0]), texts(new long[0])));

  private static KeyColumn longs(long[] values) {
    byte[] states = new byte[values.length];
    for (int row = 0; row < states.length; row++) {
      states[row] = values[row] < 0 ? KeyColumn.NULL : KeyColumn.VALUE;
    }
    return KeyColumn.ofLongs(values, states);
  }

  private static KeyColumn texts(long[] values) {
    byte[][] keys = LongStream.of(values).mapToObj(value -> Keys.ofString("%08d".formatted(value))).toArray(byte[][]::new);
    return KeyColumn.ofBytes(keys, new byte[keys.length]);
  }

  private static Sample random(Random random, int rows) {
    return new Sample(
        List.of(
            longs(random.longs(rows, -100, 1000).toArray()), texts(random.longs(rows, 0, 5000).toArray())));
  }

  private static Layout layout(Sample sample, int files) {
    return Layout.fit(
        COLUMNS, sample, new LayoutRequest(files, BoxTree.KIND, Curve.ZORDER, List.of(), 4096, 0.25, new double[0]));
  }

  private static byte[] value(KeyColumn column, int row) {
    if (column.state(row) != KeyColumn.VALUE) {
      return null;
    }
    return column.domain() == KeyDomain.LONG ? Keys.ofString("%08d".formatted(column.longKey(row))) : column.bytesKey(row);
  }

  /** Looks at each file for each value. */
  private static double naive(List<ScanPrediction.SampledGroup> groups, int ordinal, UnaryOperator<byte[]> kept) {
    double all = groups.stream().mapToLong(ScanPrediction.SampledGroup::bytes).sum();
    double sum = 0;
    double weights = 0;
    for (ScanPrediction.SampledGroup asking : groups) {
      Sample asked = asking.heldOut().rows() > 0 ? asking.heldOut() : asking.fitted();
      for (int row = 0; row < asked.rows(); row++) {
        byte[] key = value(asked.columns().get(ordinal), row);
        if (key != null) {
          double weight = (double) asking.rows() / asked.rows();
          weights += weight;
          sum += weight * groups.stream().mapToDouble(group -> bytesRead(group, ordinal, kept.apply(key), kept)).sum();
        }
      }
    }
    return sum / weights / all;
  }

  private static double bytesRead(
      ScanPrediction.SampledGroup group, int ordinal, byte[] wanted, UnaryOperator<byte[]> kept) {
    double read = 0;
    double rows = group.fitted().rows() + group.heldOut().rows();
    Placement placement = group.layout().placement();
    for (int file = 0; file < group.layout().files(); file++) {
      int inFile = 0;
      byte[] low = null;
      byte[] high = null;
      for (Sample sample : List.of(group.fitted(), group.heldOut())) {
        long[] packed = group.layout().packed(sample);
        for (int row = 0; row < packed.length; row++) {
          if (placement.file(packed[row], 0) == file) {
            inFile++;
            byte[] key = value(sample.columns().get(ordinal), row);
            byte[] cut = key == null ? null : kept.apply(key);
            low = cut != null && (low == null || Arrays.compareUnsigned(cut, low) < 0) ? cut : low;
            high = cut != null && (high == null || Arrays.compareUnsigned(cut, high) > 0) ? cut : high;
          }
        }
      }
      if (low != null && Arrays.compareUnsigned(low, wanted) <= 0 && Arrays.compareUnsigned(wanted, high) <= 0) {
        read += group.bytes() * inFile / rows;
      }
    }
    return read;
  }

  private static double predicted(List<ScanPrediction.SampledGroup> groups, int ordinal, UnaryOperator<byte[]> kept) {
    return ScanMeasurement.of(NewFiles.measured(groups, COLUMNS), ordinal, kept);
  }

  @Test
  void itIsWhatANaiveLoopFinds() {
    Random random = new Random(1);
    for (int files : new int[] {1, 3, 16}) {
      Sample fitted = random(random, 500);
      Sample other = random(random, 200);
      // Every sampled row stands for whole bytes, so that no file is rounded.
      List<ScanPrediction.SampledGroup> groups =
          List.of(
              new ScanPrediction.SampledGroup(layout(fitted, files), fitted, random(random, 400), 9000, 1_000_800),
              new ScanPrediction.SampledGroup(layout(other, 4), other, NOTHING, 200, 50_000));
      for (int ordinal : new int[] {0, 1}) {
        UnaryOperator<byte[]> kept = ordinal == 0 ? key -> key : key -> Arrays.copyOf(key, 6);
        assertEquals(naive(groups, ordinal, kept), predicted(groups, ordinal, kept), 1e-9);
      }
    }
  }

  @Test
  void rowsThatTheLayoutHasSeenLookBetterThanOthers() {
    Random random = new Random(2);
    Sample fitted = random(random, 64);
    Layout layout = layout(fitted, 16);
    ScanPrediction.SampledGroup seen = new ScanPrediction.SampledGroup(layout, fitted, NOTHING, 100_000, 1_000);
    ScanPrediction.SampledGroup unseen =
        new ScanPrediction.SampledGroup(layout, fitted, random(random, 5_000), 100_000, 1_000);
    assertTrue(
        predicted(List.of(seen), 0, key -> key) < 0.8 * predicted(List.of(unseen), 0, key -> key));
  }

  @Test
  void filesSortedByOneColumnAreReadOneAtATime() {
    long[] values = IntStream.range(0, 1000).asLongStream().toArray();
    Sample sample = new Sample(List.of(longs(values), texts(new long[1000])));
    ScanPrediction.SampledGroup group =
        new ScanPrediction.SampledGroup(layout(sample, 10), sample, NOTHING, 1000, 5_000);
    assertEquals(0.1, predicted(List.of(group), 0, key -> key), 0.001);
    assertEquals(1.0, predicted(List.of(group), 1, key -> key), 1e-9);
  }

  @Test
  void aColumnWithoutAValueHasNoFraction() {
    long[] nulls = LongStream.generate(() -> -1).limit(50).toArray();
    Sample sample = new Sample(List.of(longs(nulls), texts(new long[50])));
    ScanPrediction.SampledGroup group = new ScanPrediction.SampledGroup(layout(sample, 2), sample, NOTHING, 50, 10);
    assertTrue(Double.isNaN(predicted(List.of(group), 0, key -> key)));
  }

  @Test
  void aGroupWithoutASampleIsRead() {
    Sample sample = random(new Random(3), 100);
    List<ScanPrediction.SampledGroup> groups =
        List.of(
            new ScanPrediction.SampledGroup(layout(sample, 4), sample, NOTHING, 100, 100),
            new ScanPrediction.SampledGroup(layout(NOTHING, 4), NOTHING, NOTHING, 1, 300));
    assertTrue(predicted(groups, 0, key -> key) > 0.75);
  }
}
