package io.icebergzorder.spark.run;

import io.icebergzorder.spark.internals.Shared;
import java.io.Serializable;
import org.apache.spark.TaskContext;

/** The value of a file group that functions need in a task: each partition of a stage holds rows of one group. */
public final class OfGroup<T extends Serializable> implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Shared<int[]> groups;
  private final Shared<T> values;

  /** Found once for each task, for it is asked for by each row. */
  private transient T value;

  /** Takes by partition the number of its group, and the values of all groups of the job. */
  public OfGroup(Shared<int[]> groups, Shared<T> values) {
    this.groups = groups;
    this.values = values;
  }

  /** The value of the group of this task, which all tasks on an executor share: do not change it. */
  public T value() {
    if (value == null) {
      TaskContext task = TaskContext.get();
      if (task == null) {
        // Spark would find the value of an expression on the driver.
        throw new IllegalStateException("Cannot tell whose rows these are, because no task reads or writes them");
      }
      value = values.value(groups.value()[task.partitionId()]);
    }
    return value;
  }
}
