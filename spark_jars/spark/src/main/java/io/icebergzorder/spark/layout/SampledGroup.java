package io.icebergzorder.spark.layout;

import io.icebergzorder.core.LaidOutSample;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.plan.FileGroup;

/**
 * A file group with its layout and predictions.
 *
 * @param sample its sampled rows, and the layout that was fitted to them
 * @param today its current files
 * @param planned the predicted files of the layout, without the bounds that they will not keep
 * @param before the reads of filters on the current files
 * @param predicted the predicted reads on the planned files
 * @param readBefore the reads of a workload's queries on the current files
 * @param readPredicted the predicted reads on the planned files
 * @param costs the average cost of a filter in the group
 */
public record SampledGroup(
    FileGroup group,
    LaidOutSample sample,
    BoundedFiles today,
    BoundedFiles planned,
    TableReads before,
    TableReads predicted,
    BytesRead readBefore,
    BytesRead readPredicted,
    ScanFractions.Costs costs) {
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
    return new SampledGroup(group, tightened, today, planned, before, predicted, readBefore, readPredicted, costs);
  }
}
