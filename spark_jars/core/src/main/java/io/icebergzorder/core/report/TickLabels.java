package io.icebergzorder.core.report;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.KeyDomain;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.HexFormat;
import java.util.Locale;
import java.util.regex.Pattern;

/** Writes keys as people read the values, to the letter as {@code file_boxes.py} does. */
final class TickLabels {
  private static final int LONGEST = 24;
  private static final Pattern UNREADABLE = Pattern.compile("\uFFFD+");
  private static final MathContext SIX_DIGITS = new MathContext(6, RoundingMode.HALF_EVEN);
  private static final BigInteger TOP_BIT = BigInteger.ONE.shiftLeft(127);
  private static final long SECOND = 1_000_000;
  private static final long DAY = 86_400 * SECOND;

  /** The days that Python knows. */
  private static final long FIRST_DAY = LocalDate.of(1, 1, 1).toEpochDay();

  private static final long LAST_DAY = LocalDate.of(9999, 12, 31).toEpochDay();

  private TickLabels() {}

  /**
   * Writes the value of a row.
   *
   * @param keys the keys, in the state {@link KeyColumn#VALUE} in that row
   * @param type the type of the values
   */
  static String of(KeyColumn keys, int row, String type) {
    String text = keys.domain() == KeyDomain.LONG ? text(keys.longKey(row), type) : text(keys.bytesKey(row), type);
    boolean isShort = text.codePointCount(0, text.length()) <= LONGEST;
    return isShort ? text : text.substring(0, text.offsetByCodePoints(0, LONGEST)) + "…";
  }

  private static String text(byte[] key, String type) {
    if (type.startsWith("decimal")) {
      return decimal(new BigInteger(1, key).subtract(TOP_BIT), type);
    }
    if (!type.equals("string")) {
      return HexFormat.of().formatHex(key);
    }
    // Rows that are spread between bounds may end within a character; decoders differ in how many marks they leave.
    return UNREADABLE.matcher(new String(key, StandardCharsets.UTF_8)).replaceAll("\uFFFD");
  }

  private static String text(long key, String type) {
    if (type.startsWith("decimal")) {
      return decimal(BigInteger.valueOf(key), type);
    }
    return switch (type) {
      case "float", "double" -> sixDigits(Double.longBitsToDouble(key >= 0 ? key : key ^ Long.MAX_VALUE));
      case "date" -> isKnown(key) ? LocalDate.ofEpochDay(key).toString() : Long.toString(key);
      case "time" -> isKnown(Math.floorDiv(key, DAY)) ? clock(Math.floorMod(key, DAY)) : Long.toString(key);
      case "timestamp", "timestamptz" -> instant(key, key);
      case "timestamp_ns", "timestamptz_ns" -> instant(Math.floorDiv(key, 1_000L), key);
      default -> Long.toString(key);
    };
  }

  private static String decimal(BigInteger unscaled, String type) {
    int scale = Integer.parseInt(type.substring(type.lastIndexOf(',') + 1, type.length() - 1).strip());
    return new BigDecimal(unscaled, scale).toString();
  }

  /** As C and Python write {@code %.6g}, rounded from the exact value. */
  private static String sixDigits(double value) {
    if (Double.isInfinite(value)) {
      return value > 0 ? "inf" : "-inf";
    }
    if (value == 0) {
      return "0";
    }
    BigDecimal rounded = new BigDecimal(value).round(SIX_DIGITS);
    int exponent = rounded.precision() - rounded.scale() - 1;
    BigDecimal digits = rounded.stripTrailingZeros();
    if (exponent >= -4 && exponent < SIX_DIGITS.getPrecision()) {
      return digits.toPlainString();
    }
    String mantissa = digits.scaleByPowerOfTen(-exponent).toPlainString();
    return String.format(Locale.ROOT, "%se%s%02d", mantissa, exponent < 0 ? "-" : "+", Math.abs(exponent));
  }

  private static boolean isKnown(long day) {
    return day >= FIRST_DAY && day <= LAST_DAY;
  }

  private static String instant(long micros, long key) {
    long day = Math.floorDiv(micros, DAY);
    return isKnown(day) ? LocalDate.ofEpochDay(day) + " " + clock(Math.floorMod(micros, DAY)) : Long.toString(key);
  }

  private static String clock(long micros) {
    long seconds = micros / SECOND;
    String text = String.format(Locale.ROOT, "%02d:%02d:%02d", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    long rest = micros % SECOND;
    return rest == 0 ? text : String.format(Locale.ROOT, "%s.%06d", text, rest);
  }
}
