package io.icebergzorder.spark;

import java.util.function.Supplier;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * Names Spark jobs for the people who watch them. Only the description is set: the job group stays the caller's, so that a
 * client that cancels its group or its tag also cancels the rewrite.
 */
final class JobDescription {
  private static final String PROPERTY = "spark.job.description";

  private final SparkContext context;

  JobDescription(SparkSession session) {
    this.context = session.sparkContext();
  }

  <T> T during(String description, Supplier<T> work) {
    String before = context.getLocalProperty(PROPERTY);
    context.setJobDescription(description);
    try {
      return work.get();
    } finally {
      context.setJobDescription(before);
    }
  }
}
