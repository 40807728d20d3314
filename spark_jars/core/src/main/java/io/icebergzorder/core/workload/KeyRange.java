package io.icebergzorder.core.workload;

/** A range of keys of a column, from one edge up to another; empty unless the second edge is greater. */
public record KeyRange(KeyEdge start, KeyEdge stop) {
  /** All rows. */
  public static final KeyRange EVERYTHING = new KeyRange(KeyEdge.VALUES, KeyEdge.END);

  /** All but NULL. */
  public static final KeyRange NOT_NULL = new KeyRange(KeyEdge.VALUES, KeyEdge.NULL);

  /** NaN alone. */
  public static final KeyRange NANS = new KeyRange(KeyEdge.NAN, KeyEdge.NULL);

  /** NULL alone. */
  public static final KeyRange NULLS = new KeyRange(KeyEdge.NULL, KeyEdge.END);

  public boolean isEmpty() {
    return start.compareTo(stop) >= 0;
  }

  public KeyRange met(KeyRange other) {
    return new KeyRange(later(start, other.start), earlier(stop, other.stop));
  }

  /** The narrowest range that holds both, neither of them empty. */
  public KeyRange hull(KeyRange other) {
    return new KeyRange(earlier(start, other.start), later(stop, other.stop));
  }

  private static KeyEdge earlier(KeyEdge one, KeyEdge other) {
    return one.compareTo(other) <= 0 ? one : other;
  }

  private static KeyEdge later(KeyEdge one, KeyEdge other) {
    return one.compareTo(other) >= 0 ? one : other;
  }
}
