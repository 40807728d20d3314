package io.icebergzorder.core.boxes;

import io.icebergzorder.core.KeyColumn;
import java.util.Arrays;
import java.util.Objects;

/**
 * A place among the keys of a column, with NaN and NULL behind all values, as buckets have them: before a key, before all values, before
 * NaN, before NULL, or behind everything.
 *
 * <pre>
 *   VALUES     before 3     before 7     NAN     NULL     END
 *      | ... 2     | 3 ... 6    | 7 ...   |  NaN   |  NULL  |
 * </pre>
 */
public final class KeyEdge implements Comparable<KeyEdge> {
  /** Before all values. */
  public static final KeyEdge VALUES = new KeyEdge(KeyColumn.VALUE, null, null);

  /** Before NaN. */
  public static final KeyEdge NAN = new KeyEdge(KeyColumn.NAN, null, null);

  /** Before NULL. */
  public static final KeyEdge NULL = new KeyEdge(KeyColumn.NULL, null, null);

  /** Behind everything. */
  public static final KeyEdge END = new KeyEdge(KeyColumn.NULL + 1, null, null);

  private final int state;
  private final Long number;
  private final byte[] bytes;

  private KeyEdge(int state, Long number, byte[] bytes) {
    this.state = state;
    this.number = number;
    this.bytes = bytes;
  }

  /** The edge before a key. */
  public static KeyEdge before(long key) {
    return new KeyEdge(KeyColumn.VALUE, key, null);
  }

  /** The edge before a key, which is not copied. */
  public static KeyEdge before(byte[] key) {
    return new KeyEdge(KeyColumn.VALUE, null, key);
  }

  /** The edge behind a key; before NULL if there is no greater key. */
  public static KeyEdge behind(long key) {
    return key == Long.MAX_VALUE ? NULL : before(key + 1);
  }

  /** The edge behind a key of bytes, of which the next is longer by a zero. */
  public static KeyEdge behind(byte[] key) {
    return before(Arrays.copyOf(key, key.length + 1));
  }

  /** {@link KeyColumn#VALUE}, {@link KeyColumn#NAN}, {@link KeyColumn#NULL}, or the number after it for the end. */
  public int state() {
    return state;
  }

  /** The key that it stands before, if that is a number; else null. */
  public Long number() {
    return number;
  }

  /** The key that it stands before, if that is bytes, not a copy; else null. */
  public byte[] bytes() {
    return bytes;
  }

  /** Whether it stands before a key. */
  public boolean hasKey() {
    return number != null || bytes != null;
  }

  @Override
  public int compareTo(KeyEdge other) {
    if (state != other.state) {
      return Integer.compare(state, other.state);
    }
    if (!hasKey() || !other.hasKey()) {
      return Boolean.compare(hasKey(), other.hasKey());
    }
    return number != null ? number.compareTo(other.number) : Arrays.compareUnsigned(bytes, other.bytes);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof KeyEdge edge
        && state == edge.state
        && Objects.equals(number, edge.number)
        && Arrays.equals(bytes, edge.bytes);
  }

  @Override
  public int hashCode() {
    return Objects.hash(state, number, Arrays.hashCode(bytes));
  }
}
