package io.icebergzorder.core;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Order-preserving keys: two values of a column compare as their keys do, which is the order in which Iceberg compares its lower/upper
 * bounds for that type. The table of all types is in Python's {@code layout/keys.py}.
 */
public final class Keys {
  /** The greatest precision of a decimal whose unscaled values all fit in a long. */
  public static final int MAX_LONG_PRECISION = 18;

  private static final int WIDE_DECIMAL_BYTES = 16;

  /** What Parquet's writers keep of a value in the index of a file's pages by default. */
  private static final int PAGE_INDEX_BYTES = 64;

  private static final int CHARACTER_BYTES = 4;

  /** Bytes of one column's keys in a sample, about: 128 MiB. */
  private static final long SAMPLE_BYTES = 1L << 27;

  private static final Set<String> NUMBERS =
      Set.of(
          "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns");

  private static final Set<String> BYTES = Set.of("string", "uuid", "binary");
  private static final Pattern DECIMAL = Pattern.compile("decimal\\((\\d{1,2}), ?\\d+\\)");
  private static final Pattern FIXED = Pattern.compile("fixed\\[\\d+]");

  /** The two kinds of keys; {@link Keys} says which Iceberg type has which. */
  public enum KeyDomain {
    /** Signed 64-bit integers in numeric order. */
    LONG,
    /** Byte strings in unsigned lexicographic order; what begins another sorts before it. */
    BYTES
  }

  private Keys() {}

  /** The domain of the keys of a type, which is named as Iceberg's {@code Type.toString()} does; refused if it has none. */
  public static KeyDomain domain(String icebergType) {
    return find(icebergType)
        .orElseThrow(() ->
            new IllegalArgumentException("Cannot cluster by a column of type '%s', because %s".formatted(icebergType, NO_ORDER)));
  }

  /** Why a type has no keys; the end of an error message. */
  static final String NO_ORDER = "Iceberg keeps no comparable lower/upper bounds for this type";

  /** As {@link #domain}, but empty instead of an exception. */
  static Optional<KeyDomain> find(String icebergType) {
    Matcher decimal = DECIMAL.matcher(icebergType);
    boolean isDecimal = decimal.matches();
    boolean isWide = isDecimal && Integer.parseInt(decimal.group(1)) > MAX_LONG_PRECISION;
    if (isDecimal && !isWide || NUMBERS.contains(icebergType)) {
      return Optional.of(KeyDomain.LONG);
    }
    boolean isOfBytes = isWide || BYTES.contains(icebergType) || FIXED.matcher(icebergType).matches();
    return isOfBytes ? Optional.of(KeyDomain.BYTES) : Optional.empty();
  }

  public static long ofBoolean(boolean value) {
    return value ? 1 : 0;
  }

  /** The key of a double, or of a float widened to double; NaN has none. */
  public static long ofDouble(double value) {
    if (Double.isNaN(value)) {
      throw new IllegalArgumentException("Cannot make a key of NaN, because it is above every key: its state is KeyColumn.NAN");
    }
    // -0.0 + 0.0 is 0.0, and adding 0.0 changes no other value
    long bits = Double.doubleToRawLongBits(value + 0.0);
    // bits of negative doubles grow with the magnitude: flipping all but the sign turns them around
    return bits >= 0 ? bits : bits ^ Long.MAX_VALUE;
  }

  /** The double of such a key. */
  public static double toDouble(long key) {
    return Double.longBitsToDouble(key >= 0 ? key : key ^ Long.MAX_VALUE);
  }

  /** The key of a decimal whose precision is above {@link #MAX_LONG_PRECISION}. */
  public static byte[] ofWideDecimal(BigInteger unscaled) {
    if (unscaled.bitLength() >= WIDE_DECIMAL_BYTES * Byte.SIZE) {
      throw new IllegalArgumentException(
          "Cannot make a key of the unscaled decimal %s, because it does not fit in 16 bytes"
              .formatted(unscaled));
    }
    ByteBuffer key = ByteBuffer.allocate(WIDE_DECIMAL_BYTES);
    // the top bit is flipped so that negative values come first in unsigned order
    key.putLong(unscaled.shiftRight(Long.SIZE).longValue() ^ Long.MIN_VALUE);
    key.putLong(unscaled.longValue());
    return key.array();
  }

  public static byte[] ofString(String value) {
    return value.getBytes(StandardCharsets.UTF_8);
  }

  /** The bytes to which keys of a string, binary or fixed column are cut in a sample: Python's {@code sampled_bytes} tells why. */
  public static int sampledBytes(OptionalInt kept, long rows) {
    long ofBounds = kept.isPresent() ? CHARACTER_BYTES * (kept.getAsInt() + 1L) : Integer.MAX_VALUE;
    return (int) Math.max(PAGE_INDEX_BYTES, Math.min(ofBounds, SAMPLE_BYTES / rows));
  }

  /** A key as a sample has it: cut, with the tail after it if something was cut off. */
  public static byte[] withTail(byte[] key, int length) {
    if (key.length <= length) {
      return key;
    }
    return ByteBuffer.allocate(length + Long.BYTES).put(key, 0, length).putLong(hash(key)).array();
  }

  /**
   * What tells sampled keys apart that were cut to the same bytes: 0 if this one was not cut, else a number by which equal values are
   * known.
   */
  public static long tail(byte[] sampled, int length) {
    return sampled.length <= length ? 0 : ByteBuffer.wrap(sampled, length, Long.BYTES).getLong();
  }

  /** FNV-1a of 64 bits: G. Fowler, L. C. Noll and K.-P. Vo, 1991. Odd, so that it is never 0. */
  private static long hash(byte[] key) {
    long hash = 0xcbf29ce484222325L;
    for (byte each : key) {
      hash = (hash ^ (each & 0xff)) * 0x100000001b3L;
    }
    return hash | 1;
  }

  public static byte[] ofUuid(UUID value) {
    return ByteBuffer.allocate(2 * Long.BYTES).putLong(value.getMostSignificantBits()).putLong(value.getLeastSignificantBits()).array();
  }
}
