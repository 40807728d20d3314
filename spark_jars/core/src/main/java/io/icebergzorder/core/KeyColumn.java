package io.icebergzorder.core;

import java.util.Arrays;

/**
 * The keys of one clustering column: for every row a state, and a key if the state is
 * {@link #VALUE}.
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
    checkStates(keys.length, states);
    return new KeyColumn(KeyDomain.LONG, keys, null, states);
  }

  /** A column of the domain {@link KeyDomain#BYTES}. */
  public static KeyColumn ofBytes(byte[][] keys, byte[] states) {
    checkStates(keys.length, states);
    for (int row = 0; row < keys.length; row++) {
      if (keys[row] == null && states[row] == VALUE) {
        throw new IllegalArgumentException(
            "Cannot build a key column, because row %d has the state VALUE and no key"
                .formatted(row));
      }
    }
    return new KeyColumn(KeyDomain.BYTES, null, keys, states);
  }

  private static void checkStates(int rows, byte[] states) {
    if (states.length != rows) {
      throw new IllegalArgumentException(
          "Cannot build a key column, because it has %d keys and %d states"
              .formatted(rows, states.length));
    }
    for (byte state : states) {
      if (state < VALUE || state > NULL) {
        throw new IllegalArgumentException(
            "Cannot build a key column, because a state must be in [0, 2] and one is " + state);
      }
    }
  }

  /** The number of rows. */
  public int size() {
    return states.length;
  }

  /** The domain of the keys. */
  public KeyDomain domain() {
    return domain;
  }

  /** The state of a row: {@link #VALUE}, {@link #NAN} or {@link #NULL}. */
  public byte state(int row) {
    return states[row];
  }

  /** The key of a row in state {@link #VALUE} of a column of longs. */
  public long longKey(int row) {
    return longKeys[row];
  }

  /** The key of a row in state {@link #VALUE} of a column of bytes; not a copy. */
  public byte[] bytesKey(int row) {
    return bytesKeys[row];
  }

  /** Takes rows by their places. */
  public KeyColumn take(int[] rows) {
    byte[] taken = new byte[rows.length];
    for (int row = 0; row < rows.length; row++) {
      taken[row] = states[rows[row]];
    }
    return domain == KeyDomain.LONG
        ? ofLongs(Arrays.stream(rows).mapToLong(row -> longKeys[row]).toArray(), taken)
        : ofBytes(Arrays.stream(rows).mapToObj(row -> bytesKeys[row]).toArray(byte[][]::new), taken);
  }

  /** The number of rows in a state. */
  int count(byte state) {
    int count = 0;
    for (byte other : states) {
      if (other == state) {
        count++;
      }
    }
    return count;
  }
}
