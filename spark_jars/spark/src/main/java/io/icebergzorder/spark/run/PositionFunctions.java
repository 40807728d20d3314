package io.icebergzorder.spark.run;

import io.icebergzorder.core.BytesBoundaries;
import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.LayoutColumn;
import io.icebergzorder.core.LongBoundaries;
import io.icebergzorder.core.Placement;
import io.icebergzorder.spark.internals.ColumnFunction;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.sample.KeyFunctions;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.UUID;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** The functions that every row passes through: value to packed position, packed positions to file and to place in the file. */
public final class PositionFunctions {
  private PositionFunctions() {}

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
  private record Texts(UTF8String[] boundaries, long[] beginnings, long[] packed) implements Serializable {
    static Texts of(UTF8String[] boundaries, long[] packed) {
      return new Texts(boundaries, Arrays.stream(boundaries).mapToLong(UTF8String::getPrefix).toArray(), packed);
    }

    long of(UTF8String value) {
      return packed[value == null ? boundaries.length + 2 : bucket(value)];
    }

    private int bucket(UTF8String value) {
      long beginning = value.getPrefix();
      int low = 0;
      int high = beginnings.length;
      while (low < high) {
        int middle = (low + high) >>> 1;
        int order = Long.compareUnsigned(beginnings[middle], beginning);
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
  public static final class LongPosition extends ColumnFunction<Long> {
    private final Shared<Longs> positions;

    LongPosition(DataType type, Shared<Longs> positions) {
      super(DataTypes.LongType, type);
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
  public static final class BytesPosition extends ColumnFunction<Long> {
    private final Shared<Bytes> positions;

    BytesPosition(DataType type, Shared<Bytes> positions) {
      super(DataTypes.LongType, type);
      this.positions = positions;
    }

    public long invoke(byte[] value) {
      Bytes of = positions.value();
      return value == null ? of.ofNull() : of.of(value);
    }

    public long invoke(Decimal value) {
      Bytes of = positions.value();
      return value == null ? of.ofNull() : of.of(KeyFunctions.ofWideDecimal(value));
    }
  }

  /** Text to its packed position. */
  public static final class TextPosition extends ColumnFunction<Long> {
    private final Shared<Texts> positions;

    TextPosition(DataType type, Shared<Texts> positions) {
      super(DataTypes.LongType, type);
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

  /** Packed positions, and what breaks ties, to the number by which Spark's hash partitioning reaches the row's file. */
  public static final class Route extends ColumnFunction<Integer> {
    private final Shared<Placement> placement;
    private final Shared<int[]> numbers;

    /** Takes a placement, and the numbers of {@link HashRouting} by its files. */
    Route(Shared<Placement> placement, Shared<int[]> numbers) {
      super(DataTypes.IntegerType, DataTypes.LongType, DataTypes.LongType);
      this.placement = placement;
      this.numbers = numbers;
    }

    public int invoke(long packed, long tieBreaker) {
      return numbers.value()[placement.value().file(packed, tieBreaker)];
    }
  }

  /** Packed positions to the index of the row among the rows of its file. */
  public static final class Index extends ColumnFunction<Long> {
    private final Shared<Placement> placement;

    Index(Shared<Placement> placement) {
      super(DataTypes.LongType, DataTypes.LongType);
      this.placement = placement;
    }

    public long invoke(long packed) {
      return placement.value().index(packed);
    }
  }
}
