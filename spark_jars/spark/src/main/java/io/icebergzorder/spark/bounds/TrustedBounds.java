package io.icebergzorder.spark.bounds;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The bounds of one column in one data file, if every value of the file's rows lies between them. They, and what is compared with them, are numbers,
 * unscaled decimals or text, ordered as Spark orders the values.
 */
public record TrustedBounds(Comparable<Object> lower, Comparable<Object> upper) {
  /** Microseconds of 8.9 years. Timestamps nearer to 1970 may be milliseconds of an imported file, as bounds or as Spark reads them. */
  private static final long MAY_BE_MILLISECONDS = 1L << 48;

  /** Microseconds of 9,134 years: nanoseconds from 1979 on. */
  private static final long MAY_BE_NANOSECONDS = 1L << 58;

  /** From here on, the specification reserves field ids for metadata columns. */
  private static final int FIRST_RESERVED_ID = Integer.MAX_VALUE - 200;

  /**
   * Whether bounds of a column are ordered as Spark compares its values. Spark normalizes floats and doubles in joins, so they are no
   * columns. Nor are metadata columns: a row's id or sequence number that is not in the file is inherited, and not within its bounds.
   */
  public static boolean serves(Types.NestedField field) {
    return field.fieldId() < FIRST_RESERVED_ID
        && switch (field.type().typeId()) {
          case INTEGER, LONG, DATE, TIMESTAMP, DECIMAL, STRING -> true;
          default -> false;
        };
  }

  /**
   * The bounds of a file; null if one is missing, if one cannot be what it seems, or if they are inverted, and of files without split
   * offsets. Those were imported: Iceberg takes their bounds from the footer as they are there, in milliseconds, of another scale, or of
   * some row groups only. Writers of Iceberg and PyIceberg set the offsets. Nor are bounds of text in several row groups trusted: Arrow
   * leaves them out for a row group with a long text, and PyIceberg then takes those of the others.
   */
  public static TrustedBounds from(DataFile file, Types.NestedField field) {
    ByteBuffer least = bound(file.lowerBounds(), field);
    ByteBuffer greatest = bound(file.upperBounds(), field);
    List<Long> rowGroups = file.splitOffsets();
    boolean isWhole = rowGroups != null && (rowGroups.size() == 1 || field.type().typeId() != Type.TypeID.STRING);
    if (least == null || greatest == null || !greatest.hasRemaining() || !isWhole) {
      return null;
    }
    Comparable<Object> lower = value(field.type(), least);
    Comparable<Object> upper = value(field.type(), greatest);
    return lower == null || upper == null || lower.compareTo(upper) > 0 ? null : new TrustedBounds(lower, upper);
  }

  /** A value as Spark has it inside, in the form of bounds. */
  @SuppressWarnings("unchecked")
  public static Comparable<Object> key(Type type, Object key) {
    Object value =
        type instanceof Types.DecimalType decimal ? ((Decimal) key).toJavaBigDecimal().setScale(decimal.scale()).unscaledValue() : key;
    return (Comparable<Object>) (Object) (value instanceof Integer || value instanceof Long ? ((Number) value).longValue() : value);
  }

  /** Whether a value, which is in the form of bounds, lies between them. */
  public boolean contain(Comparable<Object> value) {
    return lower.compareTo(value) <= 0 && value.compareTo(upper) <= 0;
  }

  private static ByteBuffer bound(Map<Integer, ByteBuffer> bounds, Types.NestedField field) {
    ByteBuffer bound = bounds == null ? null : bounds.get(field.fieldId());
    return bound == null ? null : bound.duplicate().order(ByteOrder.LITTLE_ENDIAN);
  }

  @SuppressWarnings("unchecked")
  private static Comparable<Object> value(Type type, ByteBuffer bound) {
    int length = bound.remaining();
    Object value =
        switch (type.typeId()) {
          case INTEGER, DATE -> length == 4 ? (Long) (long) bound.getInt() : null;
          // Files from before a column was promoted have bounds of four bytes.
          case LONG -> length == 4 ? (Long) (long) bound.getInt() : length == 8 ? (Long) bound.getLong() : null;
          case TIMESTAMP -> length == 8 ? timestamp(bound.getLong()) : null;
          case DECIMAL -> length == 0 ? null : new BigInteger(bytes(bound));
          case STRING -> text(bound);
          default -> null;
        };
    return (Comparable<Object>) value;
  }

  private static Long timestamp(long micros) {
    return mayBeOfOtherUnit(micros) ? null : (Long) micros;
  }

  /** Whether a timestamp may be a number of milliseconds or nanoseconds that is taken for microseconds. */
  public static boolean mayBeOfOtherUnit(long micros) {
    long distance = Math.abs(micros);
    return distance < MAY_BE_MILLISECONDS || distance >= MAY_BE_NANOSECONDS;
  }

  /**
   * Iceberg writes U+FFFD for bytes that are not UTF-8, and a file's rows may then lie outside of its bounds. If it cuts an upper bound
   * behind this character, it writes the next one, U+FFFE.
   */
  private static UTF8String text(ByteBuffer bound) {
    try {
      // A new decoder reports what is malformed.
      String text = StandardCharsets.UTF_8.newDecoder().decode(bound.duplicate()).toString();
      return text.indexOf('\uFFFD') < 0 && text.indexOf('\uFFFE') < 0 ? UTF8String.fromBytes(bytes(bound)) : null;
    } catch (CharacterCodingException e) {
      return null;
    }
  }

  private static byte[] bytes(ByteBuffer bound) {
    byte[] bytes = new byte[bound.remaining()];
    bound.get(bytes);
    return bytes;
  }
}
