package io.icebergzorder.spark.run;

import io.icebergzorder.core.Boundaries;
import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.Keys.KeyDomain;
import io.icebergzorder.core.Layout.LayoutColumn;
import io.icebergzorder.core.Placement;
import io.icebergzorder.spark.internals.ColumnFunction;
import io.icebergzorder.spark.internals.FunctionScope;
import io.icebergzorder.spark.internals.Shared;
import io.icebergzorder.spark.layout.KeyFunctions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.iceberg.util.UUIDUtil;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/** The functions that every row passes through: value to packed position, packed positions to file and place. */
public final class PositionFunctions {
  private PositionFunctions() {}

  /** The position of a column's value in the layout of each file group, at the column's place in a packed row. */
  static Column packed(
      ClusteringColumn column,
      DataType type,
      Column value,
      List<Optional<LayoutColumn>> layouts,
      int[] groupsOfPartitions,
      FunctionScope scope) {
    if (column.domain() == KeyDomain.LONG) {
      Shared<Longs> longs = scope.share(layouts.stream().map(Longs::of).toList(), groupsOfPartitions);
      return functions.coalesce(scope.call(new LongPosition(type, longs), value), ofNull(longs, value, scope));
    }
    Shared<Texts> texts = scope.share(layouts.stream().map(layout -> Texts.of(column, layout)).toList(), groupsOfPartitions);
    return functions.coalesce(scope.call(new TextPosition(type, texts), value), ofNull(texts, value, scope));
  }

  /** Spark does not call functions with a NULL of a primitive type. */
  private static Column ofNull(Shared<? extends Positions> positions, Column value, FunctionScope scope) {
    return scope.call(new NullPosition(positions), value.isNull());
  }

  /** What stands for the boundaries of a column that a layout leaves out: none, so that there is one bucket of values. */
  private static Boundaries noBoundaries(KeyDomain domain) {
    byte[] noStates = new byte[0];
    KeyColumn noKeys = domain == KeyDomain.LONG ? KeyColumn.ofLongs(new long[0], noStates) : KeyColumn.ofBytes(new byte[0][], noStates);
    return Boundaries.of(noKeys, 1);
  }

  private static Boundaries boundariesOf(Optional<LayoutColumn> column, KeyDomain domain) {
    return column.map(LayoutColumn::boundaries).orElseGet(() -> noBoundaries(domain));
  }

  private static long[] packedOf(Optional<LayoutColumn> column, Boundaries boundaries) {
    return column.map(LayoutColumn::packed).orElseGet(() -> new long[boundaries.buckets()]);
  }

  /** Spark shows a UUID as its text, whose order is that of its bytes; comparing texts saves parsing each row. */
  private static UTF8String[] texts(ClusteringColumn column, Boundaries boundaries) {
    return Arrays.stream(boundaries.bytes())
        .map(key -> column.type().equals("uuid") ? UTF8String.fromString(UUIDUtil.convert(key).toString()) : UTF8String.fromBytes(key))
        .toArray(UTF8String[]::new);
  }

  /** Packed positions of a column, by bucket; those of NaN and of NULL come last. */
  private interface Positions extends Serializable {
    long[] packed();

    default long ofNull() {
      return packed()[packed().length - 1];
    }
  }

  /** Those of a column of longs, and the boundaries of the buckets. */
  private record Longs(Boundaries boundaries, long[] packed) implements Positions {
    static Longs of(Optional<LayoutColumn> column) {
      Boundaries boundaries = boundariesOf(column, KeyDomain.LONG);
      return new Longs(boundaries, packedOf(column, boundaries));
    }

    long of(long key) {
      return packed[boundaries.bucket(key)];
    }
  }

  /** The same of a column of texts, or of bytes. */
  private record Texts(TextBoundaries boundaries, long[] packed) implements Positions {
    static Texts of(ClusteringColumn type, Optional<LayoutColumn> column) {
      Boundaries boundaries = boundariesOf(column, KeyDomain.BYTES);
      return new Texts(new TextBoundaries(texts(type, boundaries)), packedOf(column, boundaries));
    }

    long of(UTF8String value) {
      return value == null ? ofNull() : packed[boundaries.countNotAbove(value)];
    }
  }

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
      return value == null ? of.ofNull() : of.of(value.toUnscaledLong());
    }
  }

  public static final class TextPosition extends ColumnFunction<Long> {
    private final Shared<Texts> positions;

    TextPosition(DataType type, Shared<Texts> positions) {
      super(DataTypes.LongType, type);
      this.positions = positions;
    }

    public long invoke(UTF8String value) {
      return positions.value().of(value);
    }

    public long invoke(byte[] value) {
      return invoke(UTF8String.fromBytes(value));
    }

    public long invoke(Decimal value) {
      return invoke(value == null ? null : KeyFunctions.ofWideDecimal(value));
    }
  }

  public static final class NullPosition extends ColumnFunction<Long> {
    private final Shared<? extends Positions> positions;

    NullPosition(Shared<? extends Positions> positions) {
      super(DataTypes.LongType, DataTypes.BooleanType);
      this.positions = positions;
    }

    /** Of a column that is never NULL Spark asks on the driver, and does not use the answer. */
    public long invoke(boolean isNull) {
      return isNull ? positions.value().ofNull() : 0;
    }
  }

  /**
   * The destination of the rows of a file group: the file of the job, and the place in the file.
   *
   * @param placesOfFile bits of a place in a file; those of the index that do not fit beside the file's number are dropped
   */
  public record Destination(Placement placement, int firstFile, int placesOfFile, int dropped) implements Serializable {
    private static final int BITS_OF_LONG = 63;

    public static List<Destination> of(GroupJob job) {
      int indexBits = job.groups().stream().mapToInt(each -> each.layout().bits() * each.layout().columns().size()).max().orElse(0);
      int fileBits = Integer.SIZE - Integer.numberOfLeadingZeros(job.tasksOfFiles().length - 1);
      int placesOfFile = Math.min(indexBits, BITS_OF_LONG - fileBits);
      int[] firstFiles = job.firstFiles();
      List<Destination> destinations = new ArrayList<>();
      for (int group = 0; group < firstFiles.length; group++) {
        Placement placement = job.groups().get(group).layout().placement();
        destinations.add(new Destination(placement, firstFiles[group], placesOfFile, indexBits - placesOfFile));
      }
      return destinations;
    }

    /** The number of a row's file in the job, and in the lower bits its place there. */
    public long of(long packed, long tieBreaker) {
      int file = placement.file(packed, tieBreaker);
      return (long) (firstFile + file) << placesOfFile | placement.index(packed, file) >>> dropped;
    }
  }

  /** Packed positions, and what breaks ties, to the file and the place of the row. */
  public static final class RowDestination extends ColumnFunction<Long> {
    private final Shared<Destination> destination;

    RowDestination(Shared<Destination> destination) {
      super(DataTypes.LongType, DataTypes.LongType, DataTypes.LongType);
      this.destination = destination;
    }

    public long invoke(long packed, long tieBreaker) {
      return destination.value().of(packed, tieBreaker);
    }
  }

  /** A destination to the number by which Spark's hash partitioning reaches the task that writes the file. */
  public static final class Route extends ColumnFunction<Integer> {
    private final Shared<int[]> tasksOfFiles;
    private final int[] numbers;
    private final int placesOfFile;

    /** Takes, by task, numbers that are hashed to their partitions. */
    Route(Shared<int[]> tasksOfFiles, int[] numbers, int placesOfFile) {
      super(DataTypes.IntegerType, DataTypes.LongType);
      this.tasksOfFiles = tasksOfFiles;
      this.numbers = numbers;
      this.placesOfFile = placesOfFile;
    }

    public int invoke(long destination) {
      return numbers[tasksOfFiles.value()[(int) (destination >>> placesOfFile)]];
    }
  }
}
