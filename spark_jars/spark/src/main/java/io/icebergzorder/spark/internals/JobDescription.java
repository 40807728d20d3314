package io.icebergzorder.spark.internals;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * Names Spark jobs for the people who watch them. Only the description is set: the job group stays the caller's, so
 * that a client that cancels its group or its tag also cancels the rewrite.
 */
public final class JobDescription {
  private static final String PROPERTY = "spark.job.description";

  private final SparkContext context;

  public JobDescription(SparkSession session) {
    this.context = session.sparkContext();
  }

  public <T, E extends Exception> T during(String description, Action<T, E> action) throws E {
    String before = context.getLocalProperty(PROPERTY);
    context.setJobDescription(description);
    try {
      return action.run();
    } finally {
      context.setJobDescription(before);
    }
  }

  /** Something that starts jobs, and may throw whatever it throws. */
  public interface Action<T, E extends Exception> {
    T run() throws E;
  }
}
