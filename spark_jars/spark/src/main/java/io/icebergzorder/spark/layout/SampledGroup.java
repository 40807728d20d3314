package io.icebergzorder.spark.layout;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.LaidOutSample;
import io.icebergzorder.core.metrics.ScanCost;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.layout.ScanFractions.TableReads;
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
 * @param costBefore the average cost of a filter in the group, in bytes, today; NaN if no sampled row has a value
 * @param costPredicted the predicted average cost
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
    double costPredicted) {
  public Layout layout() {
    return sample.layout();
  }

  /** Whether a file may be far larger than was planned, because the layout has found fewer than were. */
  public boolean hasFewerFiles() {
    return layout().files() < group.expectedFiles();
  }

  /** Whether filters are predicted to cost enough less; true if that is unknown. */
  boolean gains() {
    return Double.isNaN(costBefore) || ScanCost.isLess(costBefore, costPredicted);
  }

  /** The same group with the curve that orders the rows inside its files. */
  SampledGroup tightened() {
    LaidOutSample tightened = sample.with(layout().tightened(sample.fitted()));
    return new SampledGroup(group, tightened, today, planned, before, predicted, readBefore, readPredicted, costBefore, costPredicted);
  }
}
