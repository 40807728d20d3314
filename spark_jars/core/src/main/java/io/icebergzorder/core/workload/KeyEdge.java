package io.icebergzorder.core.workload;

import io.icebergzorder.core.KeyColumn;
import java.util.Arrays;
import java.util.Objects;

/**
 * A place among the keys of a column, with NaN and NULL after all values, as in buckets: before a key, before all values, before NaN, before
 * NULL, or at the end.
 *
 * <pre>
 *   VALUES     before 3     before 7     NAN     NULL     END
 *      | ... 2     | 3 ... 6    | 7 ...   |  NaN   |  NULL  |
 * </pre>
 *
 * @param state {@link KeyColumn#VALUE}, {@link KeyColumn#NAN}, {@link KeyColumn#NULL}, or the number after it for the end
 * @param number the key that it stands before, if that is a number; else null
 * @param bytes the key that it stands before, if that is bytes; else null
 */
public record KeyEdge(int state, Long number, byte[] bytes) implements Comparable<KeyEdge> {
  public static final KeyEdge VALUES = new KeyEdge(KeyColumn.VALUE, null, null);

  public static final KeyEdge NAN = new KeyEdge(KeyColumn.NAN, null, null);

  public static final KeyEdge NULL = new KeyEdge(KeyColumn.NULL, null, null);

  public static final KeyEdge END = new KeyEdge(KeyColumn.NULL + 1, null, null);

  public static KeyEdge before(long key) {
    return new KeyEdge(KeyColumn.VALUE, key, null);
  }

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
    return other instanceof KeyEdge edge && compareTo(edge) == 0;
  }

  @Override
  public int hashCode() {
    return Objects.hash(state, number, Arrays.hashCode(bytes));
  }
}
