package io.icebergzorder.spark.jobs;

import io.icebergzorder.core.Layout;
import io.icebergzorder.spark.plan.PlannedGroup;
import org.apache.iceberg.actions.RewriteFileGroup;

/** A file group that is to be rewritten, and the layout by which it is. */
public record LaidOutGroup(RewriteFileGroup group, Layout layout) {
  /** Whether its rows may go to more than one partition of the table. */
  public boolean changesSpec() {
    return PlannedGroup.changesSpec(group);
  }

  /** Whether a file may be far larger than was planned, because the layout has found fewer than were. */
  public boolean hasFewerFiles() {
    return layout.files() < group.expectedOutputFiles();
  }

  /** Whether all of its rows go to one file. */
  boolean isOneFile() {
    return layout.files() == 1 && group.expectedOutputFiles() == 1 && !changesSpec();
  }
}
