package io.icebergzorder.core;

import java.util.Arrays;
import java.util.Random;

/** Seeded random columns: few or many distinct keys, skewed, with NaN and NULL, of both domains. */
final class RandomKeys {
  private final Random random;

  RandomKeys(long seed) {
    this.random = new Random(seed);
  }

  KeyColumn column(KeyDomain domain, int rows) {
    int distinct = 1 + random.nextInt(random.nextBoolean() ? 6 : 200);
    boolean skewed = random.nextBoolean();
    int special = random.nextInt(4);
    long[] keys = new long[rows];
    byte[] states = new byte[rows];
    for (int row = 0; row < rows; row++) {
      keys[row] = random.nextInt(skewed && random.nextInt(3) > 0 ? 1 : distinct);
      states[row] = (byte) (random.nextInt(4) < special ? random.nextInt(3) : 0);
    }
    if (domain == KeyDomain.LONG) {
      long step = random.nextBoolean() ? 1 : Long.MAX_VALUE / 100;
      for (int row = 0; row < rows; row++) {
        keys[row] = (keys[row] - distinct / 2) * step;
      }
      return KeyColumn.ofLongs(keys, states);
    }
    byte[][] bytes = new byte[rows][];
    for (int row = 0; row < rows; row++) {
      bytes[row] = states[row] == KeyColumn.VALUE ? bytes((int) keys[row]) : null;
    }
    return KeyColumn.ofBytes(bytes, states);
  }

  /** Another key for every number, many a prefix of others, with bytes on both sides of 0x80. */
  private static byte[] bytes(int number) {
    byte[] key = new byte[number % 5 + 1];
    Arrays.fill(key, (byte) (number / 5 * 37));
    return key;
  }

  int between(int least, int most) {
    return least + random.nextInt(most - least + 1);
  }

  long nonNegativeLong() {
    return random.nextLong() & Long.MAX_VALUE;
  }
}
