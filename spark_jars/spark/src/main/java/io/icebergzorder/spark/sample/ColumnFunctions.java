package io.icebergzorder.spark.sample;

import io.icebergzorder.core.BytesBoundaries;
import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.LayoutColumn;
import io.icebergzorder.core.LongBoundaries;
import io.icebergzorder.core.Placement;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.run.HashRouting;
import java.io.Serializable;
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

  /**
   * The function from a column's value to its key: a long, or bytes.
   *
   * @param length the bytes at which keys of strings and binaries are cut
   */
  static ScalarFunction<?> key(ClusteringColumn column, DataType type, int length) {
    if (column.domain() == KeyDomain.LONG) {
      return new LongKey(type);
    }
    return isUuid(column) ? new UuidKey(type) : new BytesKey(type, length);
  }

  /**
   * The function from a column's value to its position, at the column's place in a packed row.
   *
   * @param scope shares the column's boundaries and positions
   */
  public static ScalarFunction<Long> packed(LayoutColumn column, DataType type, FunctionScope scope) {
    if (column.boundaries() instanceof LongBoundaries boundaries) {
      return new LongPosition(type, scope.share(new Longs(boundaries, column.packed())));
    }
    BytesBoundaries boundaries = (BytesBoundaries) column.boundaries();
    return DataTypes.StringType.equals(type)
        ? new TextPosition(type, scope.share(Texts.of(texts(column.column(), boundaries), column.packed())))
        : new BytesPosition(type, scope.share(new Bytes(boundaries, column.packed())));
  }

  /** The packed position of a NULL. */
  public static long packedOfNull(LayoutColumn column) {
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

  /** Value to bytes key, cut. */
  public static final class BytesKey extends Function<byte[]> {
    private final int length;

    BytesKey(DataType type, int length) {
      super(type, DataTypes.BinaryType);
      this.length = length;
    }

    public byte[] invoke(UTF8String value) {
      if (value == null || value.numBytes() <= length) {
        return value == null ? null : value.getBytes();
      }
      // Of bytes, not of characters: the beginnings of two values of any bytes are in the order of the values.
      return UTF8String.fromAddress(value.getBaseObject(), value.getBaseOffset(), length).getBytes();
    }

    public byte[] invoke(byte[] value) {
      return value == null || value.length <= length ? value : Arrays.copyOf(value, length);
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

  /** Packed positions of a column of longs, by bucket, and the boundaries of the buckets. */
  private record Longs(LongBoundaries boundaries, long[] packed) implements Serializable {
    long of(long key) {
      return packed[boundaries.bucket(key)];
    }
  }

  /** The same of bytes. */
  private record Bytes(BytesBoundaries boundaries, long[] packed) implements Serializable {
    long of(byte[] key) {
      return packed[boundaries.bucket(key)];
    }

    long ofNull() {
      return packed[boundaries.nullBucket()];
    }
  }

  /**
   * The same of texts. Most comparisons end at the first eight bytes, which Spark reads as one number without copying the
   * text; only texts that share them are compared in full.
   */
  private record Texts(UTF8String[] boundaries, long[] prefixes, long[] packed) implements Serializable {
    static Texts of(UTF8String[] boundaries, long[] packed) {
      return new Texts(boundaries, Arrays.stream(boundaries).mapToLong(UTF8String::getPrefix).toArray(), packed);
    }

    long of(UTF8String value) {
      return packed[value == null ? boundaries.length + 2 : bucket(value)];
    }

    private int bucket(UTF8String value) {
      long prefix = value.getPrefix();
      int low = 0;
      int high = prefixes.length;
      while (low < high) {
        int middle = (low + high) >>> 1;
        int order = Long.compareUnsigned(prefixes[middle], prefix);
        if (order < 0 || (order == 0 && boundaries[middle].compareTo(value) <= 0)) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    }
  }

  /** Value of the long domain to its packed position. */
  public static final class LongPosition extends Function<Long> {
    private final Shared<Longs> positions;

    LongPosition(DataType type, Shared<Longs> positions) {
      super(type, DataTypes.LongType);
      this.positions = positions;
    }

    public long invoke(long value) {
      return positions.value().of(value);
    }

    public long invoke(int value) {
      return positions.value().of(value);
    }

    public long invoke(boolean value) {
      return positions.value().of(Keys.ofBoolean(value));
    }

    public long invoke(float value) {
      return invoke((double) value);
    }

    public long invoke(double value) {
      Longs of = positions.value();
      return Double.isNaN(value) ? of.packed[of.boundaries.nanBucket()] : of.of(Keys.ofDouble(value));
    }

    public long invoke(Decimal value) {
      Longs of = positions.value();
      return value == null ? of.packed[of.boundaries.nullBucket()] : of.of(value.toUnscaledLong());
    }
  }

  /** Bytes or wide decimal to its packed position. */
  public static final class BytesPosition extends Function<Long> {
    private final Shared<Bytes> positions;

    BytesPosition(DataType type, Shared<Bytes> positions) {
      super(type, DataTypes.LongType);
      this.positions = positions;
    }

    public long invoke(byte[] value) {
      Bytes of = positions.value();
      return value == null ? of.ofNull() : of.of(value);
    }

    public long invoke(Decimal value) {
      Bytes of = positions.value();
      return value == null ? of.ofNull() : of.of(wideKey(value));
    }
  }

  /** Text to its packed position. */
  public static final class TextPosition extends Function<Long> {
    private final Shared<Texts> positions;

    TextPosition(DataType type, Shared<Texts> positions) {
      super(type, DataTypes.LongType);
      this.positions = positions;
    }

    public long invoke(UTF8String value) {
      return positions.value().of(value);
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
    private final Shared<Placement> placement;
    private final Shared<int[]> numbers;

    /** Takes a placement, and the numbers of {@link HashRouting} by its files. */
    public Route(Shared<Placement> placement, Shared<int[]> numbers) {
      this.placement = placement;
      this.numbers = numbers;
    }

    public int invoke(long packed, long tieBreaker) {
      return numbers.value()[placement.value().file(packed, tieBreaker)];
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
    private final Shared<Placement> placement;

    public Index(Shared<Placement> placement) {
      super(DataTypes.LongType, DataTypes.LongType);
      this.placement = placement;
    }

    public long invoke(long packed) {
      return placement.value().index(packed);
    }
  }
}
