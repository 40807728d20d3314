package io.icebergzorder.spark.internals;

/**
 * Counts the file groups that fail one after the other, each tried alone. Where ten of them fail alike, and none is
 * done meanwhile, others would fail, too: access is denied, or storage is gone.
 */
public final class FailureStreak {
  private static final int MOST = 10;

  private int length;
  private Throwable last;

  /** Counts a file group that was tried alone and has failed. Failures are alike whose innermost causes are of one class. */
  public synchronized void failed(Throwable failure) {
    boolean isAlike = last != null && Failures.root(last).getClass() == Failures.root(failure).getClass();
    length = isOver() ? MOST : isAlike ? length + 1 : 1;
    last = failure;
  }

  /** Begins anew, because file groups were done. */
  public synchronized void done() {
    length = isOver() ? MOST : 0;
  }

  /** Whether no other file group is to be tried. */
  public synchronized boolean isOver() {
    return length == MOST;
  }

  /** Why none is. */
  public synchronized RuntimeException why() {
    return new RuntimeException("Not tried, because " + MOST + " file groups in a row failed alike", last);
  }
}
