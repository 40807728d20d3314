package io.icebergzorder.spark.layout;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.Keys.KeyDomain;
import io.icebergzorder.spark.internals.ColumnFunction;
import java.util.UUID;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** The functions from a column's values to their keys. */
public final class KeyFunctions {
  /** What stands for NaN, which has no key: it lies above that of infinity. */
  static final long NAN = Long.MAX_VALUE;

  private KeyFunctions() {}

  /** The function from a column's value to its key: a long, or bytes, see {@link Keys#withTail}. */
  static ColumnFunction<?> key(ClusteringColumn column, DataType type, int length) {
    if (column.domain() == KeyDomain.LONG) {
      return new LongKey(type);
    }
    return column.type().equals("uuid") ? new UuidKey(type) : new BytesKey(type, length);
  }

  public static byte[] ofWideDecimal(Decimal value) {
    return Keys.ofWideDecimal(value.toJavaBigDecimal().unscaledValue());
  }

  /** Value to long key. Spark wants each {@code invoke} in the class itself. */
  public static final class LongKey extends ColumnFunction<Long> {
    LongKey(DataType type) {
      super(DataTypes.LongType, type);
    }

    public long invoke(long value) {
      return value;
    }

    public long invoke(int value) {
      return value;
    }

    public long invoke(boolean value) {
      return Keys.ofBoolean(value);
    }

    public long invoke(float value) {
      return invoke((double) value);
    }

    public long invoke(double value) {
      return Double.isNaN(value) ? NAN : Keys.ofDouble(value);
    }

    public Long invoke(Decimal value) {
      return value == null ? null : (Long) value.toUnscaledLong();
    }
  }

  /** Value to bytes key, cut, with its tail. */
  public static final class BytesKey extends ColumnFunction<byte[]> {
    private final int length;

    BytesKey(DataType type, int length) {
      super(DataTypes.BinaryType, type);
      this.length = length;
    }

    public byte[] invoke(UTF8String value) {
      return value == null ? null : invoke(value.getBytes());
    }

    public byte[] invoke(byte[] value) {
      // Of bytes, not of characters: the beginnings of two values of any bytes are in the order of the values.
      return value == null ? null : Keys.withTail(value, length);
    }

    public byte[] invoke(Decimal value) {
      return value == null ? null : ofWideDecimal(value);
    }
  }

  public static final class UuidKey extends ColumnFunction<byte[]> {
    UuidKey(DataType type) {
      super(DataTypes.BinaryType, type);
    }

    public byte[] invoke(UTF8String value) {
      return value == null ? null : Keys.ofUuid(UUID.fromString(value.toString()));
    }
  }
}
