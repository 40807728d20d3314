package io.icebergzorder.core;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.icebergzorder.core.metrics.LaidOutSample;
import io.icebergzorder.core.metrics.ScanMeasurement;
import io.icebergzorder.core.metrics.ScanMeasurement.MeasuredFiles;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What no table of the tests of both engines has. */
class ScanMeasurementTest {
  private static final List<ClusteringColumn> COLUMNS = List.of(new ClusteringColumn(List.of("a"), "long"));
  private static final Sample NOTHING = longs(KeyColumn.VALUE);

  private static Sample longs(byte state, long... values) {
    byte[] states = new byte[values.length];
    Arrays.fill(states, state);
    return new Sample(List.of(KeyColumn.ofLongs(values, states)));
  }

  private static ScanMeasurement.FilterRead predicted(LaidOutSample... groups) {
    List<MeasuredFiles> files =
        Arrays.stream(groups).map(each -> new MeasuredFiles(each.newFiles(COLUMNS), each)).toList();
    return ScanMeasurement.of(files, 0, Beginning.WHOLE);
  }

  private static LaidOutSample group(Sample sample, long rows, long bytes) {
    LayoutRequest request = new LayoutRequest(4, BoxTree.KIND, Curve.ZORDER, List.of(), 4096, 0.25, new double[0]);
    Layout layout = Layout.fit(COLUMNS, sample, request);
    return new LaidOutSample(layout, sample, NOTHING, rows, bytes, layout.files());
  }

  @Test
  void aColumnWithoutAValueHasNoFraction() {
    assertNull(predicted(group(longs(KeyColumn.NULL, 0, 0), 50, 10)));
  }

  @Test
  void aGroupWithoutASampleIsRead() {
    Sample sample = longs(KeyColumn.VALUE, LongStream.range(0, 100).toArray());
    assertTrue(predicted(group(sample, 100, 100), group(NOTHING, 1, 300)).fraction() > 0.75);
  }
}
