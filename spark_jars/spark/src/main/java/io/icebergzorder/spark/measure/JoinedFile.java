package io.icebergzorder.spark.measure;

import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.types.Comparators;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;

/** What data files hold together, which is all that files made of them can hold: their bounds, and how many values and NULLs. */
final class JoinedFile {
  private final List<Types.NestedField> fields;
  private final Map<Integer, Long> values = new HashMap<>();
  private final Map<Integer, Long> nulls = new HashMap<>();
  private final Map<Integer, Object> lower = new HashMap<>();
  private final Map<Integer, Object> upper = new HashMap<>();
  private final Set<Integer> uncounted = new HashSet<>();
  private final Set<Integer> withoutLower = new HashSet<>();
  private final Set<Integer> withoutUpper = new HashSet<>();
  private long rows = 0;
  private long bytes = 0;

  /** Takes the columns that it describes. */
  JoinedFile(List<Types.NestedField> fields) {
    this.fields = fields.stream().filter(field -> field.type().isPrimitiveType()).toList();
  }

  /** Adds a data file, with its metrics. */
  void add(DataFile file) {
    rows += file.recordCount();
    bytes += file.fileSizeInBytes();
    for (Types.NestedField field : fields) {
      Long count = of(file.valueCounts(), field);
      Long empty = of(file.nullValueCounts(), field);
      if (count == null || empty == null) {
        uncounted.add(field.fieldId());
      } else {
        values.merge(field.fieldId(), count, Long::sum);
        nulls.merge(field.fieldId(), empty, Long::sum);
      }
      if (count == null || !count.equals(empty)) {
        Comparator<Object> order = Comparators.forType(field.type().asPrimitiveType());
        join(lower, withoutLower, field, of(file.lowerBounds(), field), order);
        join(upper, withoutUpper, field, of(file.upperBounds(), field), order.reversed());
      }
    }
  }

  private static <T> T of(Map<Integer, T> metrics, Types.NestedField field) {
    return metrics == null ? null : metrics.get(field.fieldId());
  }

  private static void join(
      Map<Integer, Object> bounds, Set<Integer> without, Types.NestedField field, ByteBuffer bound, Comparator<Object> order) {
    Object value = bound == null ? null : Conversions.fromByteBuffer(field.type(), bound);
    if (value == null || value instanceof Float real && real.isNaN() || value instanceof Double number && number.isNaN()) {
      without.add(field.fieldId());
    } else {
      bounds.merge(field.fieldId(), value, (one, other) -> order.compare(one, other) <= 0 ? one : other);
    }
  }

  /** Describes the files that were added as one, which is in no partition; without bounds and counts that one of them does not tell. */
  DataFile file() {
    values.keySet().removeAll(uncounted);
    nulls.keySet().removeAll(uncounted);
    return org.apache.iceberg.DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath("joined.parquet")
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(bytes)
        .withMetrics(
            new Metrics(Math.max(1, rows), null, values, nulls, Map.of(), written(lower, withoutLower), written(upper, withoutUpper)))
        .build();
  }

  private Map<Integer, ByteBuffer> written(Map<Integer, Object> bounds, Set<Integer> without) {
    Map<Integer, ByteBuffer> written = new HashMap<>();
    for (Types.NestedField field : fields) {
      if (bounds.containsKey(field.fieldId()) && !without.contains(field.fieldId())) {
        written.put(field.fieldId(), Conversions.toByteBuffer(field.type(), bounds.get(field.fieldId())));
      }
    }
    return written;
  }
}
