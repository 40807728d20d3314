package io.icebergzorder.spark.commit;

/** A commit with an unknown outcome. Nothing was deleted, because the new files may belong to the table. */
public final class UnknownCommitException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public UnknownCommitException(String message, Throwable cause) {
    super(message, cause);
  }
}
