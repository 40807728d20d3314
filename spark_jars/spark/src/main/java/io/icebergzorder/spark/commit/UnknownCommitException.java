package io.icebergzorder.spark.commit;

/** Nobody knows whether a commit took place. Nothing was deleted, because the new files may be the table's. */
public final class UnknownCommitException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public UnknownCommitException(String message, Throwable cause) {
    super(message, cause);
  }
}
