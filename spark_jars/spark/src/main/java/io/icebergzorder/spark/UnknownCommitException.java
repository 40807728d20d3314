package io.icebergzorder.spark;

/** Nobody knows whether a commit took place. Nothing was deleted, because the new files may be the table's. */
final class UnknownCommitException extends RuntimeException {
  private static final long serialVersionUID = 1;

  UnknownCommitException(String message, Throwable cause) {
    super(message, cause);
  }
}
