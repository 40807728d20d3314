package io.icebergzorder.spark.bounds;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.KeyDomain;
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

/** Keys as bounds: what {@link BoundKeys} reads, the other way round. */
public final class KeyBounds {
  private static final int WIDE_DECIMAL_BITS = 127;

  private KeyBounds() {}

  /** Writes a key as a bound, as Iceberg serialises single values. */
  public static ByteBuffer bound(KeyColumn keys, int row, Type type) {
    return Conversions.toByteBuffer(type, keys.domain() == KeyDomain.LONG ? value(keys.longKey(row), type) : value(keys.bytesKey(row), type));
  }

  private static Object value(long key, Type type) {
    return switch (type.typeId()) {
      case BOOLEAN -> key != 0;
      case INTEGER, DATE -> (int) key;
      case FLOAT -> (float) ofKey(key);
      case DOUBLE -> ofKey(key);
      case DECIMAL -> BigDecimal.valueOf(key, ((Types.DecimalType) type).scale());
      default -> key;
    };
  }

  private static double ofKey(long key) {
    return Double.longBitsToDouble(key >= 0 ? key : key ^ Long.MAX_VALUE);
  }

  private static Object value(byte[] key, Type type) {
    return switch (type.typeId()) {
      case STRING -> text(key);
      case UUID -> new UUID(ByteBuffer.wrap(key).getLong(), ByteBuffer.wrap(key).getLong(Long.BYTES));
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
      return StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.IGNORE)
          .onUnmappableCharacter(CodingErrorAction.IGNORE)
          .decode(ByteBuffer.wrap(key))
          .toString();
    } catch (CharacterCodingException e) {
      throw new IllegalStateException("Cannot decode a key, because Java fails where it was told not to", e);
    }
  }
}
