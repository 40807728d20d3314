package io.icebergzorder.spark.internals;

/** Counts file groups that fail one after the other: after ten that fail alike, storage is gone, or access is denied. */
public final class FailureStreak {
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
