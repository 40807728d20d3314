package io.icebergzorder.spark.layout;

import io.icebergzorder.core.LaidOutSample;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.Reason;
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
 * @param costBefore the average cost of a filter today, in bytes; NaN if no sampled row has a value
 * @param costPredicted the predicted cost
 * @param gains whether filters are predicted to cost less, with losses of columns counted several times; true if unknown
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
    double costBefore,
    double costPredicted,
    boolean gains) {
  public Layout layout() {
    return sample.layout();
  }

  /** Whether a file may be far larger than was planned, because the layout has found fewer than were. */
  public boolean hasFewerFiles() {
    return layout().files() < group.expectedFiles();
  }

  /** Why it is left: it would not gain. */
  Reason whyLeft(String over) {
    return Reason.of(Reason.NO_GAIN, "before", (long) Math.rint(costBefore), "predicted", (long) Math.rint(costPredicted), "over", over);
  }

  /** The same group with the curve that orders the rows inside its files. */
  SampledGroup tightened() {
    LaidOutSample tightened = sample.with(layout().tightened(sample.fitted()));
    return new SampledGroup(
        group, tightened, today, planned, before, predicted, readBefore, readPredicted, costBefore, costPredicted, gains);
  }
}
