package io.icebergzorder.spark.layout;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.ScanMeasurement;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.plan.FileGroup;
import java.util.Map;

/**
 * A file group with its layout and predictions.
 *
 * @param sampled its sampled rows, and the layout that was fitted to them
 * @param files its files of today
 * @param before by column name, the scan fraction of {@code column = value} among these files
 * @param predicted by column name, the one that the new files are predicted to have
 * @param readBefore what the queries of a workload read of these files
 * @param readPredicted what they are predicted to read of the new ones
 * @param meanBefore what filters read on average today
 * @param meanPredicted what they are predicted to read on average
 */
public record SampledGroup(
    FileGroup group,
    ScanPrediction.GroupSample sampled,
    ScanMeasurement.MeasuredGroup files,
    Map<String, Double> before,
    Map<String, Double> predicted,
    BytesRead readBefore,
    BytesRead readPredicted,
    double meanBefore,
    double meanPredicted) {
  public Layout layout() {
    return sampled.layout();
  }
}
