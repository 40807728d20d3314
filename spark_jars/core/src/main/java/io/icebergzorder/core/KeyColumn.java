package io.icebergzorder.core;

import io.icebergzorder.core.Keys.KeyDomain;
import java.util.Arrays;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * The keys of one clustering column: for every row a state, and a key if the state is {@link #VALUE}.
 *
 * <p>The arrays are kept, not copied, because a sample may hold a million rows. Do not change them.
 */
public final class KeyColumn {
  /** State of a row that has a key. */
  public static final byte VALUE = 0;

  /** State of a row whose float or double is NaN: above every value. */
  public static final byte NAN = 1;

  /** State of a row without a value: above NaN. */
  public static final byte NULL = 2;

  private final KeyDomain domain;
  private final long[] longKeys;
  private final byte[][] bytesKeys;
  private final byte[] states;

  private KeyColumn(KeyDomain domain, long[] longKeys, byte[][] bytesKeys, byte[] states) {
    this.domain = domain;
    this.longKeys = longKeys;
    this.bytesKeys = bytesKeys;
    this.states = states;
  }

  public static KeyColumn ofLongs(long[] keys, byte[] states) {
    return new KeyColumn(KeyDomain.LONG, keys, null, states);
  }

  /** Keys may be null where there is no value. */
  public static KeyColumn ofBytes(byte[][] keys, byte[] states) {
    return new KeyColumn(KeyDomain.BYTES, null, keys, states);
  }

  public int size() {
    return states.length;
  }

  public KeyDomain domain() {
    return domain;
  }

  public byte state(int row) {
    return states[row];
  }

  public long longKey(int row) {
    return longKeys[row];
  }

  public byte[] bytesKey(int row) {
    return bytesKeys[row];
  }

  public KeyColumn take(int[] rows) {
    byte[] taken = new byte[rows.length];
    for (int row = 0; row < rows.length; row++) {
      taken[row] = states[rows[row]];
    }
    return domain == KeyDomain.LONG
        ? ofLongs(Arrays.stream(rows).mapToLong(row -> longKeys[row]).toArray(), taken)
        : ofBytes(Arrays.stream(rows).mapToObj(row -> bytesKeys[row]).toArray(byte[][]::new), taken);
  }

  /** These rows, and then those of another column of the domain. */
  public KeyColumn and(KeyColumn other) {
    byte[] joined = Arrays.copyOf(states, states.length + other.states.length);
    System.arraycopy(other.states, 0, joined, states.length, other.states.length);
    return domain == KeyDomain.LONG
        ? ofLongs(LongStream.concat(Arrays.stream(longKeys), Arrays.stream(other.longKeys)).toArray(), joined)
        : ofBytes(Stream.concat(Arrays.stream(bytesKeys), Arrays.stream(other.bytesKeys)).toArray(byte[][]::new), joined);
  }

  /** The same rows; of keys of bytes, what is within a length. */
  public KeyColumn cut(int length) {
    return domain == KeyDomain.LONG
        ? this
        : ofBytes(
            Arrays.stream(bytesKeys)
                .map(key -> key == null || key.length <= length ? key : Arrays.copyOf(key, length))
                .toArray(byte[][]::new),
            states);
  }

  /** Compares the keys of two rows. */
  public int compare(int row, int other) {
    return domain == KeyDomain.LONG
        ? Long.compare(longKeys[row], longKeys[other])
        : Arrays.compareUnsigned(bytesKeys[row], bytesKeys[other]);
  }

  /** Whether two rows show the same: one key, NaN, or NULL. */
  boolean isSame(int row, int other) {
    return states[row] == states[other] && (states[row] != VALUE || compare(row, other) == 0);
  }
}
