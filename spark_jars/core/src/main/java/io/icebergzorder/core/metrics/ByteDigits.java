package io.icebergzorder.core.metrics;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.BitSet;

/** Bytes as digits of a number, from the lowest byte that is met, as PostgreSQL's {@code convert_string_to_scalar} has them. */
record ByteDigits(int lowest, int base, int count) {
  private static final long MOST_APART = 1L << 48;
  private static final int PARTS = 48;

  /** Finds the digits of the ends of ranges, after a prefix of so many bytes that all share. */
  static ByteDigits of(byte[][] lower, byte[][] upper, int prefix) {
    BitSet found = new BitSet(1 << Byte.SIZE);
    for (byte[][] ends : new byte[][][] {lower, upper}) {
      for (byte[] value : ends) {
        for (int place = prefix; place < value.length; place++) {
          found.set(Byte.toUnsignedInt(value[place]));
        }
      }
    }
    int lowest = Math.max(0, found.nextSetBit(0));
    int highest = Math.max(0, found.length() - 1);
    int base = Math.max(2, highest - lowest + 1);
    int count = 1;
    for (long next = (long) base * base; next <= MOST_APART; next *= base) {
      count++;
    }
    return new ByteDigits(lowest, base, count);
  }

  /** How many bytes two values have in common at their beginnings. */
  static int commonPrefix(byte[] one, byte[] other) {
    int mismatch = Arrays.mismatch(one, other);
    return mismatch < 0 ? one.length : mismatch;
  }

  /** Goes a share of the way from one value to another that shares a prefix of so many bytes with it. */
  byte[] between(byte[] lower, byte[] upper, int prefix, double share) {
    if (Arrays.equals(lower, upper)) {
      return lower;
    }
    long first = number(lower, prefix);
    long number = first + (long) ((number(upper, prefix) - first) * share);
    byte[] found = Arrays.copyOf(lower, prefix + count);
    for (int place = found.length - 1; place >= prefix; place--) {
      found[place] = (byte) (lowest + Math.floorMod(number, (long) base));
      number = Math.floorDiv(number, (long) base);
    }
    byte[] notBelow = Arrays.compareUnsigned(found, lower) > 0 ? found : lower;
    return Arrays.compareUnsigned(upper, notBelow) < 0 ? upper : notBelow;
  }

  /** Goes a share of the way from one value to another, both of as many bytes, which are numbers without a sign. */
  static byte[] betweenNumbers(byte[] lower, byte[] upper, double share) {
    int width = Math.max(lower.length, upper.length);
    BigInteger first = new BigInteger(1, Arrays.copyOf(lower, width));
    BigInteger apart = new BigInteger(1, Arrays.copyOf(upper, width)).subtract(first);
    BigInteger parts = BigInteger.valueOf((long) (share * (1L << PARTS)));
    byte[] number = first.add(apart.multiply(parts).shiftRight(PARTS)).toByteArray();
    // There may be a leading zero for the sign, or fewer bytes than there are in all.
    byte[] found = new byte[width];
    int count = Math.min(width, number.length);
    System.arraycopy(number, number.length - count, found, width - count, count);
    return found;
  }

  private long number(byte[] text, int from) {
    long number = 0;
    for (int place = from; place < from + count; place++) {
      int digit = place < text.length ? Byte.toUnsignedInt(text[place]) - lowest : 0;
      number = number * base + Math.min(Math.max(digit, 0), base - 1);
    }
    return number;
  }
}
