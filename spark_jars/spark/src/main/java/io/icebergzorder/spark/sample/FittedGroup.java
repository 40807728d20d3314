package io.icebergzorder.spark.sample;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ScanMeasurement;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.spark.measure.BytesRead;
import io.icebergzorder.spark.measure.ScanMeans;
import io.icebergzorder.spark.plan.PlannedGroup;
import java.util.Map;

/** A file group with its layout, and what that is worth. */
public record FittedGroup(
    PlannedGroup group,
    ScanPrediction.SampledGroup sampled,
    ScanMeasurement.MeasuredGroup files,
    Map<String, Double> before,
    Map<String, Double> predicted,
    BytesRead readBefore,
    BytesRead readPredicted) {
  /** What filters read on average today. */
  double meanBefore(ScanMeans means) {
    return means.of(before, readBefore);
  }

  /** What filters are predicted to read on average. */
  double meanPredicted(ScanMeans means) {
    return means.of(predicted, readPredicted);
  }

  /** The layout. */
  public Layout layout() {
    return sampled.layout();
  }

  /** The rows whose values are looked for. */
  public Sample lookedFor() {
    return sampled.lookedFor();
  }

  /** The rows of the group, deleted ones included. */
  public long rows() {
    return sampled.rows();
  }
}
