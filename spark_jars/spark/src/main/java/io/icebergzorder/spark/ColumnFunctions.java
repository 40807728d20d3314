package io.icebergzorder.spark;

import io.icebergzorder.core.BytesBoundaries;
import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.EvenCuts;
import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.LayoutColumn;
import io.icebergzorder.core.LongBoundaries;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.UUID;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The functions that rows pass through: value to key (for the sample), value to its share of the index (for every row).
 *
 * <p>Each function has an {@code invoke} for every Java type that Spark may hand it; Spark looks up the one that matches
 * {@link ScalarFunction#inputTypes()} and calls it directly. For a NULL of a primitive type Spark does not call at all
 * and returns NULL, so callers coalesce with {@link LayoutColumn}'s share of NULL. The classes are public because the code
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

  /** The function from a column's value to the bits that it gives to the index. */
  static ScalarFunction<Long> spread(LayoutColumn column, DataType type) {
    if (column.boundaries() instanceof LongBoundaries boundaries) {
      return new LongSpread(type, boundaries, column.spread());
    }
    BytesBoundaries boundaries = (BytesBoundaries) column.boundaries();
    return DataTypes.StringType.equals(type)
        ? new TextSpread(type, texts(column.column(), boundaries), column.spread())
        : new BytesSpread(type, boundaries, column.spread());
  }

  /** The share of the index that a NULL gives. */
  static long spreadOfNull(LayoutColumn column) {
    return column.spread()[column.boundaries().nullBucket()];
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

  /** Value of the long domain to its bits of the index. */
  public static final class LongSpread extends Function<Long> {
    private final LongBoundaries boundaries;
    private final long[] spread;

    LongSpread(DataType type, LongBoundaries boundaries, long[] spread) {
      super(type, DataTypes.LongType);
      this.boundaries = boundaries;
      this.spread = spread;
    }

    public long invoke(long value) {
      return spread[boundaries.bucket(value)];
    }

    public long invoke(int value) {
      return spread[boundaries.bucket(value)];
    }

    public long invoke(boolean value) {
      return spread[boundaries.bucket(Keys.ofBoolean(value))];
    }

    public long invoke(float value) {
      return invoke((double) value);
    }

    public long invoke(double value) {
      return spread[Double.isNaN(value) ? boundaries.nanBucket() : boundaries.bucket(Keys.ofDouble(value))];
    }

    public long invoke(Decimal value) {
      return spread[value == null ? boundaries.nullBucket() : boundaries.bucket(value.toUnscaledLong())];
    }
  }

  /** Bytes or wide decimal to its bits of the index. */
  public static final class BytesSpread extends Function<Long> {
    private final BytesBoundaries boundaries;
    private final long[] spread;

    BytesSpread(DataType type, BytesBoundaries boundaries, long[] spread) {
      super(type, DataTypes.LongType);
      this.boundaries = boundaries;
      this.spread = spread;
    }

    public long invoke(byte[] value) {
      return spread[value == null ? boundaries.nullBucket() : boundaries.bucket(value)];
    }

    public long invoke(Decimal value) {
      return spread[value == null ? boundaries.nullBucket() : boundaries.bucket(wideKey(value))];
    }
  }

  /**
   * Text to its bits of the index. Most comparisons end at the first eight bytes, which Spark reads as one number
   * without copying the text; only texts that share them are compared in full.
   */
  public static final class TextSpread extends Function<Long> {
    private final long[] prefixes;
    private final byte[][] boundaries;
    private final long[] spread;
    private transient UTF8String[] texts;

    TextSpread(DataType type, UTF8String[] boundaries, long[] spread) {
      super(type, DataTypes.LongType);
      this.texts = boundaries;
      this.boundaries = Arrays.stream(boundaries).map(UTF8String::getBytes).toArray(byte[][]::new);
      this.prefixes = Arrays.stream(boundaries).mapToLong(UTF8String::getPrefix).toArray();
      this.spread = spread;
    }

    public long invoke(UTF8String value) {
      return spread[value == null ? boundaries.length + 2 : bucket(value)];
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

  /** Index to the number by which Spark's hash partitioning reaches the row's file. */
  public static final class Route extends Function<Integer> {
    private final EvenCuts cuts;
    private final int[] numbers;

    Route(EvenCuts cuts) {
      super(DataTypes.LongType, DataTypes.IntegerType);
      this.cuts = cuts;
      this.numbers = HashRouting.numbers(cuts.files());
    }

    public int invoke(long index) {
      return numbers[cuts.file(index)];
    }
  }
}
