package io.icebergzorder.spark;

import io.icebergzorder.core.BytesBoundaries;
import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.LayoutColumn;
import io.icebergzorder.core.LongBoundaries;
import io.icebergzorder.core.Placement;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.UUID;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The functions that rows pass through: value to key (for the sample), value to its packed position (for every row).
 *
 * <p>Each function has an {@code invoke} for every Java type that Spark may hand it; Spark looks up the one that matches
 * {@link ScalarFunction#inputTypes()} and calls it directly. For a NULL of a primitive type Spark does not call at all
 * and returns NULL, so callers coalesce with {@link #packedOfNull}. The classes are public because the code
 * that Spark generates calls them.
 */
public final class ColumnFunctions {
  private ColumnFunctions() {}

  /** The function from a column's value to its key: a long, or bytes. */
  static ScalarFunction<?> key(ClusteringColumn column, DataType type) {
    if (column.domain() == KeyDomain.LONG) {
      return new LongKey(type);
    }
    return isUuid(column) ? new UuidKey(type) : new BytesKey(type);
  }

  /** The function from a column's value to its position, at the column's place in a packed row. */
  static ScalarFunction<Long> packed(LayoutColumn column, DataType type) {
    if (column.boundaries() instanceof LongBoundaries boundaries) {
      return new LongPosition(type, boundaries, column.packed());
    }
    BytesBoundaries boundaries = (BytesBoundaries) column.boundaries();
    return DataTypes.StringType.equals(type)
        ? new TextPosition(type, texts(column.column(), boundaries), column.packed())
        : new BytesPosition(type, boundaries, column.packed());
  }

  /** The packed position of a NULL. */
  static long packedOfNull(LayoutColumn column) {
    return column.packed()[column.boundaries().nullBucket()];
  }

  private static boolean isUuid(ClusteringColumn column) {
    return column.type().equals("uuid");
  }

  /** Spark shows a UUID as its text, whose order is that of its bytes; comparing texts saves parsing each row. */
  private static UTF8String[] texts(ClusteringColumn column, BytesBoundaries boundaries) {
    return Arrays.stream(boundaries.values())
        .map(key -> isUuid(column) ? UTF8String.fromString(uuidText(key)) : UTF8String.fromBytes(key))
        .toArray(UTF8String[]::new);
  }

  /** What all functions share: one argument of a given type. */
  public abstract static class Function<R> implements ScalarFunction<R> {
    private final DataType inputType;
    private final DataType resultType;

    Function(DataType inputType, DataType resultType) {
      this.inputType = inputType;
      this.resultType = resultType;
    }

    @Override
    public DataType[] inputTypes() {
      return new DataType[] {inputType};
    }

    @Override
    public DataType resultType() {
      return resultType;
    }

    @Override
    public String name() {
      return "iceberg_zorder_" + getClass().getSimpleName();
    }

    /** Two functions are never the same to Spark, whatever their names: each holds boundaries of its own. */
    @Override
    public String canonicalName() {
      return name() + "@" + System.identityHashCode(this);
    }
  }

  /** Value to long key. A NaN has none: the caller asks for it apart. */
  public static final class LongKey extends Function<Long> {
    LongKey(DataType type) {
      super(type, DataTypes.LongType);
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
      return Double.isNaN(value) ? 0 : Keys.ofDouble(value);
    }

    public Long invoke(Decimal value) {
      return value == null ? null : (Long) value.toUnscaledLong();
    }
  }

  /** Value to bytes key. */
  public static final class BytesKey extends Function<byte[]> {
    BytesKey(DataType type) {
      super(type, DataTypes.BinaryType);
    }

    public byte[] invoke(UTF8String value) {
      return value == null ? null : value.getBytes();
    }

    public byte[] invoke(byte[] value) {
      return value;
    }

    public byte[] invoke(Decimal value) {
      return value == null ? null : wideKey(value);
    }
  }

  /** Text of a UUID to its 16 bytes. */
  public static final class UuidKey extends Function<byte[]> {
    UuidKey(DataType type) {
      super(type, DataTypes.BinaryType);
    }

    public byte[] invoke(UTF8String value) {
      return value == null ? null : Keys.ofUuid(UUID.fromString(value.toString()));
    }
  }

  /** Value of the long domain to its packed position. */
  public static final class LongPosition extends Function<Long> {
    private final LongBoundaries boundaries;
    private final long[] packed;

    LongPosition(DataType type, LongBoundaries boundaries, long[] packed) {
      super(type, DataTypes.LongType);
      this.boundaries = boundaries;
      this.packed = packed;
    }

    public long invoke(long value) {
      return packed[boundaries.bucket(value)];
    }

    public long invoke(int value) {
      return packed[boundaries.bucket(value)];
    }

    public long invoke(boolean value) {
      return packed[boundaries.bucket(Keys.ofBoolean(value))];
    }

    public long invoke(float value) {
      return invoke((double) value);
    }

    public long invoke(double value) {
      return packed[Double.isNaN(value) ? boundaries.nanBucket() : boundaries.bucket(Keys.ofDouble(value))];
    }

    public long invoke(Decimal value) {
      return packed[value == null ? boundaries.nullBucket() : boundaries.bucket(value.toUnscaledLong())];
    }
  }

  /** Bytes or wide decimal to its packed position. */
  public static final class BytesPosition extends Function<Long> {
    private final BytesBoundaries boundaries;
    private final long[] packed;

    BytesPosition(DataType type, BytesBoundaries boundaries, long[] packed) {
      super(type, DataTypes.LongType);
      this.boundaries = boundaries;
      this.packed = packed;
    }

    public long invoke(byte[] value) {
      return packed[value == null ? boundaries.nullBucket() : boundaries.bucket(value)];
    }

    public long invoke(Decimal value) {
      return packed[value == null ? boundaries.nullBucket() : boundaries.bucket(wideKey(value))];
    }
  }

  /**
   * Text to its packed position. Most comparisons end at the first eight bytes, which Spark reads as one number
   * without copying the text; only texts that share them are compared in full.
   */
  public static final class TextPosition extends Function<Long> {
    private final long[] prefixes;
    private final byte[][] boundaries;
    private final long[] packed;
    private transient UTF8String[] texts;

    TextPosition(DataType type, UTF8String[] boundaries, long[] packed) {
      super(type, DataTypes.LongType);
      this.texts = boundaries;
      this.boundaries = Arrays.stream(boundaries).map(UTF8String::getBytes).toArray(byte[][]::new);
      this.prefixes = Arrays.stream(boundaries).mapToLong(UTF8String::getPrefix).toArray();
      this.packed = packed;
    }

    public long invoke(UTF8String value) {
      return packed[value == null ? boundaries.length + 2 : bucket(value)];
    }

    private int bucket(UTF8String value) {
      long prefix = value.getPrefix();
      UTF8String[] full = texts();
      int low = 0;
      int high = prefixes.length;
      while (low < high) {
        int middle = (low + high) >>> 1;
        int order = Long.compareUnsigned(prefixes[middle], prefix);
        if (order < 0 || (order == 0 && full[middle].compareTo(value) <= 0)) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    }

    private UTF8String[] texts() {
      if (texts == null) {
        texts = Arrays.stream(boundaries).map(UTF8String::fromBytes).toArray(UTF8String[]::new);
      }
      return texts;
    }
  }

  private static String uuidText(byte[] key) {
    ByteBuffer bytes = ByteBuffer.wrap(key);
    return new UUID(bytes.getLong(), bytes.getLong()).toString();
  }

  private static byte[] wideKey(Decimal value) {
    return Keys.ofWideDecimal(value.toJavaBigDecimal().unscaledValue());
  }

  /** Packed positions, and what breaks ties, to the number by which Spark's hash partitioning reaches the row's file. */
  public static final class Route implements ScalarFunction<Integer> {
    private final Placement placement;
    private final int[] numbers;

    Route(Placement placement) {
      this.placement = placement;
      this.numbers = HashRouting.numbers(placement.files());
    }

    public int invoke(long packed, long tieBreaker) {
      return numbers[placement.file(packed, tieBreaker)];
    }

    @Override
    public DataType[] inputTypes() {
      return new DataType[] {DataTypes.LongType, DataTypes.LongType};
    }

    @Override
    public DataType resultType() {
      return DataTypes.IntegerType;
    }

    @Override
    public String name() {
      return "iceberg_zorder_route";
    }

    @Override
    public String canonicalName() {
      return name() + "@" + System.identityHashCode(this);
    }
  }

  /** Packed positions to the index of the row among the rows of its file. */
  public static final class Index extends Function<Long> {
    private final Placement placement;

    Index(Placement placement) {
      super(DataTypes.LongType, DataTypes.LongType);
      this.placement = placement;
    }

    public long invoke(long packed) {
      return placement.index(packed);
    }
  }
}
