package io.icebergzorder.spark.bounds;

import io.icebergzorder.core.Keys;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.UUID;
import org.apache.iceberg.util.ByteBuffers;

/** The keys of values as Iceberg has them in bounds and in expressions. */
public final class ValueKeys {
  private ValueKeys() {}

  /** The key of a value, which is not NaN, of a type whose keys are numbers. */
  public static long ofLong(Object value) {
    if (value instanceof Boolean flag) {
      return Keys.ofBoolean(flag);
    }
    if (value instanceof BigDecimal decimal) {
      return decimal.unscaledValue().longValueExact();
    }
    return value instanceof Double || value instanceof Float
        ? Keys.ofDouble(((Number) value).doubleValue())
        : ((Number) value).longValue();
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
}
