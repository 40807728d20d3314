package io.icebergzorder.spark.layout;

import io.icebergzorder.core.LaidOutSample;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.plan.FileGroup;
import java.util.Map;

/**
 * A file group with its layout and predictions.
 *
 * @param sample its sampled rows, and the layout that was fitted to them
 * @param today its files of today
 * @param planned the files that the layout is predicted to make, without the bounds that they will not keep
 * @param before by column name, the scan fraction of {@code column = value} among the files of today
 * @param predicted by column name, the one among the planned files
 * @param readBefore what the queries of a workload read of the files of today
 * @param readPredicted what they are predicted to read of the planned ones
 * @param meanBefore what filters read on average today
 * @param meanPredicted what they are predicted to read on average
 */
public record SampledGroup(
    FileGroup group,
    LaidOutSample sample,
    BoundedFiles today,
    BoundedFiles planned,
    Map<String, Double> before,
    Map<String, Double> predicted,
    BytesRead readBefore,
    BytesRead readPredicted,
    double meanBefore,
    double meanPredicted) {
  public Layout layout() {
    return sample.layout();
  }

  /** Whether a file may be far larger than was planned, because the layout has found fewer than were. */
  public boolean hasFewerFiles() {
    return layout().files() < group.expectedFiles();
  }

  /** The same group with the curve that orders the rows inside its files. */
  SampledGroup tightened() {
    LaidOutSample tightened = sample.with(layout().tightened(sample.fitted()));
    return new SampledGroup(
        group, tightened, today, planned, before, predicted, readBefore, readPredicted, meanBefore, meanPredicted);
  }
}
