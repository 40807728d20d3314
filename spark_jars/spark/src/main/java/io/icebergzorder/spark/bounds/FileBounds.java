package io.icebergzorder.spark.bounds;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Keys.KeyDomain;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ColumnBounds;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.PartitionMap;

/**
 * Data files as their manifest entries describe them, with the lower/upper bounds of some columns. Only keys are kept of bounds: metrics of
 * many files take much memory.
 */
public final class FileBounds {
  private final Map<String, Integer> places = new HashMap<>();
  private final BoundedFiles files;

  /** Collects the bounds of a column in data files as keys, in the order in which the files are added. */
  private static final class BoundKeys {
    private final ClusteringColumn column;
    private final int fieldId;
    private final Type type;
    private final List<Object> lower = new ArrayList<>();
    private final List<Object> upper = new ArrayList<>();
    private final DoubleStream.Builder valued = DoubleStream.builder();

    /** Begins without files, for a column of a primitive type. */
    BoundKeys(ClusteringColumn column, Schema schema) {
      Types.NestedField field = schema.findField(String.join(".", column.parts()));
      if (field == null) {
        throw new IllegalStateException("clustering column %s was renamed or dropped".formatted(String.join(".", column.parts())));
      }
      this.column = column;
      this.fieldId = field.fieldId();
      this.type = field.type();
    }

    /** Adds a file, which has the metrics of the column if its manifest does. */
    void add(ContentFile<?> file) {
      lower.add(key(file.lowerBounds()));
      upper.add(key(file.upperBounds()));
      valued.add(valued(file));
    }

    /** What was added; nothing is afterwards. */
    ColumnBounds bounds() {
      return new ColumnBounds(column, keys(lower), keys(upper), valued.build().toArray());
    }

    /** The share of the rows that have a value, neither NULL nor NaN; 1 where it is not known. */
    private double valued(ContentFile<?> file) {
      long rows = count(file.valueCounts(), file.recordCount());
      if (rows <= 0) {
        return 0;
      }
      long without = count(file.nullValueCounts(), 0) + count(file.nanValueCounts(), 0);
      return Math.max(0, Math.min(1, 1 - (double) without / rows));
    }

    private long count(Map<Integer, Long> counts, long otherwise) {
      Long count = counts == null ? null : counts.get(fieldId);
      return count == null ? otherwise : count;
    }

    /** The key of a bound, or null. */
    private Object key(Map<Integer, ByteBuffer> bounds) {
      ByteBuffer bound = bounds == null ? null : bounds.get(fieldId);
      // A text is not decoded, for its key is its bytes.
      Object value = type.typeId() == Type.TypeID.STRING ? bound : decoded(type, bound);
      if (value == null) {
        return null;
      }
      return column.domain() == KeyDomain.LONG ? (Object) ValueKeys.ofLong(value) : ValueKeys.ofBytes(value);
    }

    private KeyColumn keys(List<Object> keys) {
      byte[] states = new byte[keys.size()];
      for (int file = 0; file < states.length; file++) {
        states[file] = keys.get(file) == null ? KeyColumn.NULL : KeyColumn.VALUE;
      }
      return column.domain() == KeyDomain.LONG
          ? KeyColumn.ofLongs(keys.stream().mapToLong(key -> key == null ? 0 : (Long) key).toArray(), states)
          : KeyColumn.ofBytes(keys.toArray(byte[][]::new), states);
    }
  }

  public FileBounds(List<ClusteringColumn> columns, Table table, Consumer<Consumer<DataFile>> forEach) {
    List<BoundKeys> keys = columns.stream().map(column -> new BoundKeys(column, table.schema())).toList();
    PartitionMap<Integer> numbers = PartitionMap.create(table.specs());
    IntStream.Builder partitions = IntStream.builder();
    LongStream.Builder rows = LongStream.builder();
    LongStream.Builder sizes = LongStream.builder();
    forEach.accept(file -> {
      if (places.putIfAbsent(file.location(), places.size()) == null) {
        partitions.add(numbers.computeIfAbsent(file.specId(), file.partition(), numbers::size));
        keys.forEach(column -> column.add(file));
        rows.add(file.recordCount());
        sizes.add(file.fileSizeInBytes());
      }
    });
    files =
        new BoundedFiles(
            partitions.build().toArray(),
            rows.build().toArray(),
            sizes.build().toArray(),
            keys.stream().map(BoundKeys::bounds).toList());
  }

  public Set<String> locations() {
    return places.keySet();
  }

  /** A number that all files of a partition have, and no others; empty for files that were not seen. */
  public Optional<Integer> partition(String location) {
    return Optional.ofNullable(places.get(location)).map(place -> files.partitions()[place]);
  }

  public BoundedFiles all() {
    return files;
  }

  /** Some of them, by their locations; those that were not seen are left out. */
  public BoundedFiles of(List<String> locations) {
    return files.take(locations.stream().map(places::get).filter(Objects::nonNull).mapToInt(Integer::intValue).toArray());
  }

  /** The value of a bound; null for a missing one, for bytes that are no value, and for NaN. */
  public static Object decoded(Type type, ByteBuffer bound) {
    try {
      Object value = bound == null ? null : Conversions.fromByteBuffer(type, bound);
      // Old writers left NaN in the bounds of columns that hold it. It compares with nothing, so it bounds nothing.
      return value instanceof Number number && Double.isNaN(number.doubleValue()) ? null : value;
    } catch (RuntimeException e) {
      // Exceptions of Iceberg's conversions have no base class of their own.
      return null;
    }
  }
}
