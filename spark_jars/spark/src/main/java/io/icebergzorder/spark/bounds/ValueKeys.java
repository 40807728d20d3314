package io.icebergzorder.spark.bounds;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.Keys.KeyDomain;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.ByteBuffers;
import org.apache.iceberg.util.UUIDUtil;

/** Turns Iceberg's values, from bounds and expressions, into keys, and keys into bounds. */
public final class ValueKeys {
  private static final int WIDE_DECIMAL_BITS = 127;

  private ValueKeys() {}

  /** The key of a value, which is not NaN, of a type whose keys are numbers. */
  public static long ofLong(Object value) {
    if (value instanceof Boolean flag) {
      return Keys.ofBoolean(flag);
    }
    if (value instanceof BigDecimal decimal) {
      return decimal.unscaledValue().longValueExact();
    }
    return value instanceof Double || value instanceof Float ? Keys.ofDouble(((Number) value).doubleValue()) : ((Number) value).longValue();
  }

  /** The key of a value of a type whose keys are bytes; of a text, the text or its bytes. */
  public static byte[] ofBytes(Object value) {
    if (value instanceof UUID uuid) {
      return Keys.ofUuid(uuid);
    }
    if (value instanceof CharSequence text) {
      return Keys.ofString(text.toString());
    }
    return value instanceof BigDecimal decimal
        ? Keys.ofWideDecimal(decimal.unscaledValue())
        : ByteBuffers.toByteArray((ByteBuffer) value).clone();
  }

  /** A key, in a row of the state {@link KeyColumn#VALUE}, as a bound of a column. */
  public static ByteBuffer bound(KeyColumn keys, int row, Type type) {
    boolean isLong = keys.domain() == KeyDomain.LONG;
    return Conversions.toByteBuffer(type, isLong ? value(keys.longKey(row), type) : value(keys.bytesKey(row), type));
  }

  private static Object value(long key, Type type) {
    return switch (type.typeId()) {
      case BOOLEAN -> key != 0;
      case INTEGER, DATE -> (int) key;
      case FLOAT -> (float) Keys.toDouble(key);
      case DOUBLE -> Keys.toDouble(key);
      case DECIMAL -> BigDecimal.valueOf(key, ((Types.DecimalType) type).scale());
      default -> key;
    };
  }

  private static Object value(byte[] key, Type type) {
    return switch (type.typeId()) {
      case STRING -> text(key);
      case UUID -> UUIDUtil.convert(key);
      case DECIMAL -> {
        BigInteger unscaled = new BigInteger(1, key).subtract(BigInteger.ONE.shiftLeft(WIDE_DECIMAL_BITS));
        yield new BigDecimal(unscaled, ((Types.DecimalType) type).scale());
      }
      default -> ByteBuffer.wrap(key);
    };
  }

  /** Half a character is none. */
  private static String text(byte[] key) {
    try {
      return StandardCharsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.IGNORE).decode(ByteBuffer.wrap(key)).toString();
    } catch (CharacterCodingException e) {
      throw new IllegalStateException(e);
    }
  }
}
