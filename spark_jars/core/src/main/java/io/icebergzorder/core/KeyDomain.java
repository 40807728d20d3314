package io.icebergzorder.core;

/** The two kinds of keys; {@link Keys} says which Iceberg type has which. */
public enum KeyDomain {
  /** Signed 64-bit integers in numeric order. */
  LONG,
  /** Byte strings in unsigned lexicographic order; what begins another sorts before it. */
  BYTES
}
