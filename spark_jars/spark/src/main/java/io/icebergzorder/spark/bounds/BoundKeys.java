package io.icebergzorder.spark.bounds;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.report.ColumnBounds;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/**
 * Collects the bounds of a column in data files as keys, in the order in which the files are added. Nothing of a file
 * is kept but numbers and keys, so that the files of a large table fit in little memory.
 */
public final class BoundKeys {
  private static final int FIRST_CAPACITY = 64;

  private final ClusteringColumn column;
  private final int fieldId;
  private final Type type;
  private final KeyColumnBuilder lower;
  private final KeyColumnBuilder upper;
  private double[] valued = new double[FIRST_CAPACITY];
  private int size;

  public BoundKeys(ClusteringColumn column, Types.NestedField field) {
    this.column = column;
    this.fieldId = field.fieldId();
    this.type = field.type();
    this.lower = new KeyColumnBuilder(column.domain());
    this.upper = new KeyColumnBuilder(column.domain());
  }

  /** Adds a file, which has the metrics of the column if its manifest does. */
  public void add(ContentFile<?> file) {
    lower.add(type, file.lowerBounds(), fieldId);
    upper.add(type, file.upperBounds(), fieldId);
    if (size == valued.length) {
      valued = Arrays.copyOf(valued, 2 * size);
    }
    valued[size++] = valued(file);
  }

  public ColumnBounds bounds() {
    return new ColumnBounds(column, lower.keys(), upper.keys(), Arrays.copyOf(valued, size));
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

  /** Keys of one end, which grow file by file. */
  private static final class KeyColumnBuilder {
    private final boolean isLong;
    private long[] longs = new long[0];
    private byte[][] texts = new byte[0][];
    private byte[] states = new byte[FIRST_CAPACITY];
    private int size;

    KeyColumnBuilder(KeyDomain domain) {
      isLong = domain == KeyDomain.LONG;
      resize(FIRST_CAPACITY);
    }

    private void resize(int length) {
      states = Arrays.copyOf(states, length);
      longs = isLong ? Arrays.copyOf(longs, length) : longs;
      texts = isLong ? texts : Arrays.copyOf(texts, length);
    }

    void add(Type type, Map<Integer, ByteBuffer> bounds, int fieldId) {
      if (size == states.length) {
        resize(2 * size);
      }
      ByteBuffer bound = bounds == null ? null : bounds.get(fieldId);
      Object value = bound == null ? null : type.typeId() == Type.TypeID.STRING ? bound : Conversions.fromByteBuffer(type, bound);
      // Old writers left NaN in the bounds of columns that hold it. It compares with nothing, so it bounds nothing.
      boolean isNone = value == null || value instanceof Number number && Double.isNaN(number.doubleValue());
      states[size] = isNone ? KeyColumn.NULL : KeyColumn.VALUE;
      if (!isNone && isLong) {
        longs[size] = ValueKeys.ofLong(value);
      } else if (!isNone) {
        // A text is not decoded, for its key is its bytes.
        texts[size] = ValueKeys.ofBytes(value);
      }
      size++;
    }

    KeyColumn keys() {
      byte[] ofFiles = Arrays.copyOf(states, size);
      return isLong
          ? KeyColumn.ofLongs(Arrays.copyOf(longs, size), ofFiles)
          : KeyColumn.ofBytes(Arrays.copyOf(texts, size), ofFiles);
    }
  }
}
