package io.icebergzorder.spark.bounds;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.metrics.ColumnBounds;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** Collects the bounds of a column in data files as keys, in the order in which the files are added. */
public final class BoundKeys {
  private final ClusteringColumn column;
  private final int fieldId;
  private final Type type;
  private final List<Object> lower = new ArrayList<>();
  private final List<Object> upper = new ArrayList<>();
  private final DoubleStream.Builder valued = DoubleStream.builder();

  /** Begins without files, for a column of a primitive type. */
  public BoundKeys(ClusteringColumn column, Schema schema) {
    Types.NestedField field = schema.findField(String.join(".", column.parts()));
    this.column = column;
    this.fieldId = field.fieldId();
    this.type = field.type();
  }

  /** Adds a file, which has the metrics of the column if its manifest does. */
  public void add(ContentFile<?> file) {
    lower.add(key(file.lowerBounds()));
    upper.add(key(file.upperBounds()));
    valued.add(valued(file));
  }

  /** What was added; nothing is afterwards. */
  public ColumnBounds bounds() {
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
