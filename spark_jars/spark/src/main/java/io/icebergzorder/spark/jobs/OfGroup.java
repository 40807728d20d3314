package io.icebergzorder.spark.jobs;

import io.icebergzorder.spark.internals.Shared;
import java.io.Serializable;

/** What functions need of the file group whose rows their task has. */
public final class OfGroup<T extends Serializable> implements Serializable {
  private static final long serialVersionUID = 1L;

  private final StageGroups stage;
  private final Shared<T> values;

  /** Found once for each task, for it is asked for by each row. */
  private transient T value;

  /** Takes the values of all groups of the job. */
  public OfGroup(StageGroups stage, Shared<T> values) {
    this.stage = stage;
    this.values = values;
  }

  /** The value of the group of this task, which all tasks on an executor share: do not change it. */
  public T value() {
    if (value == null) {
      value = values.value(stage.ofTask());
    }
    return value;
  }
}
