package io.icebergzorder.spark.jobs;

import io.icebergzorder.spark.internals.Shared;
import java.io.Serializable;
import org.apache.spark.TaskContext;

/** Whose rows a task of a stage has: each of its partitions holds rows of one file group. */
public record StageGroups(Shared<int[]> groups) implements Serializable {
  /** The number of the group whose rows the running task has. */
  int ofTask() {
    TaskContext task = TaskContext.get();
    if (task == null) {
      throw new IllegalStateException("Cannot tell whose rows these are, because no task reads or writes them");
    }
    return groups.value()[task.partitionId()];
  }
}
