package io.icebergzorder.spark.internals;

import java.util.regex.Pattern;
import org.apache.spark.SparkException;

/** Messages and causes of failures. */
public final class Failures {
  // Spark 3.5 gives a cancellation no error class: its message, which begins alike on every line of Spark, is what all have.
  private static final Pattern JOB_CANCELLED = Pattern.compile("(\\[SPARK_JOB_CANCELLED] )?Job \\d+ cancelled.*", Pattern.DOTALL);

  /** Counts file groups that fail one after the other: after ten that fail alike, storage is gone, or access is denied. */
  public static final class FailureStreak {
    private static final int MOST = 10;

    private int length;
    private Throwable last;

    /** Counts the failure of a file group that was tried alone. Failures are alike if their innermost causes have the same class. */
    public synchronized void failed(Throwable failure) {
      boolean isAlike = last != null && Failures.root(last).getClass() == Failures.root(failure).getClass();
      length = isOver() ? MOST : isAlike ? length + 1 : 1;
      last = failure;
    }

    public synchronized void done() {
      length = isOver() ? MOST : 0;
    }

    public synchronized boolean isOver() {
      return length == MOST;
    }

    public synchronized RuntimeException why() {
      return new RuntimeException("Not tried, because " + MOST + " file groups in a row failed alike", last);
    }
  }

  private Failures() {}

  /** The message of the innermost cause, with its class if it is an Error or has no message. */
  public static String rootMessage(Throwable failure) {
    Throwable cause = root(failure);
    return cause.getMessage() == null || cause instanceof Error ? cause.toString() : cause.getMessage();
  }

  /** A text, without what exceeds so many characters. */
  public static String shortened(String text, int most) {
    return text.length() <= most ? text : text.substring(0, most) + "...";
  }

  static Throwable root(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  /** Whether the failure is the cancellation of a job. */
  public static boolean isCancellation(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof SparkException && cause.getMessage() != null && JOB_CANCELLED.matcher(cause.getMessage()).matches()) {
        return true;
      }
    }
    return false;
  }
}
