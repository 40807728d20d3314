package io.icebergzorder.spark.internals;

import org.apache.spark.sql.SparkSession;

/** The session of a rewrite: a copy of the caller's, with settings and one {@link SessionCatalog} of its own. */
public final class RewriteSession implements AutoCloseable {
  private final SparkSession spark;
  private final String catalog = SessionCatalog.uniqueName();

  public RewriteSession(SparkSession session) {
    spark = SparkInternals.line().cloneSession(session);
    spark.conf().set(setting(), SessionCatalog.class.getName());
    // The number of output partitions is the layout's affair, not the adaptive optimiser's.
    spark.conf().set("spark.sql.adaptive.enabled", "false");
    // Each delete file is read by few tasks, once: executors need not keep them (as Iceberg's own action has it).
    spark.conf().set("spark.sql.iceberg.executor-cache.delete-files.enabled", "false");
    // A task that ends of its own accord deletes what it has written; one that is interrupted as it opens a file cannot.
    spark.conf().set("spark.sql.execution.interruptOnCancel", "false");
  }

  /** Has Iceberg use its row readers from here on. */
  public void disableVectorizedReads() {
    spark.conf().set("spark.sql.iceberg.vectorization.enabled", "false");
  }

  public SparkSession spark() {
    return spark;
  }

  public String nameOf(String registered) {
    return catalog + "." + registered;
  }

  /** Something that starts jobs, and may throw whatever it throws. */
  public interface Action<T, E extends Exception> {
    T run() throws E;
  }

  /** Names Spark jobs for the people who watch them; their group stays the caller's, who may cancel them by it. */
  public <T, E extends Exception> T describing(String description, Action<T, E> action) throws E {
    String before = spark.sparkContext().getLocalProperty("spark.job.description");
    spark.sparkContext().setJobDescription(description);
    try {
      return action.run();
    } finally {
      spark.sparkContext().setJobDescription(before);
    }
  }

  @Override
  public void close() {
    // The catalog that Spark has loaded goes with the copied session, which nothing refers to after the rewrite.
    spark.conf().unset(setting());
  }

  private String setting() {
    return "spark.sql.catalog." + catalog;
  }
}
