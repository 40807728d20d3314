package io.icebergzorder.spark.layout;

import io.icebergzorder.spark.bounds.FileBounds;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BinaryOperator;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.types.Comparators;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;

/** The joint metrics of several data files: bounds, and counts of values and NULLs, as far as each file has them. */
final class JoinedFile {
  private final List<Types.NestedField> fields;
  private final Map<Integer, Optional<Long>> values = new HashMap<>();
  private final Map<Integer, Optional<Long>> nulls = new HashMap<>();
  private final Map<Integer, Optional<Object>> lower = new HashMap<>();
  private final Map<Integer, Optional<Object>> upper = new HashMap<>();
  private long rows = 0;
  private long bytes = 0;

  JoinedFile(List<Types.NestedField> fields) {
    this.fields = fields.stream().filter(field -> field.type().isPrimitiveType()).toList();
  }

  void add(DataFile file) {
    rows += file.recordCount();
    bytes += file.fileSizeInBytes();
    for (Types.NestedField field : fields) {
      Long count = of(file.valueCounts(), field);
      Long empty = of(file.nullValueCounts(), field);
      join(values, field, empty == null ? null : count, Long::sum);
      join(nulls, field, count == null ? null : empty, Long::sum);
      if (count == null || !count.equals(empty)) {
        Comparator<Object> order = Comparators.forType(field.type().asPrimitiveType());
        join(lower, field, FileBounds.decoded(field.type(), of(file.lowerBounds(), field)), BinaryOperator.minBy(order));
        join(upper, field, FileBounds.decoded(field.type(), of(file.upperBounds(), field)), BinaryOperator.maxBy(order));
      }
    }
  }

  private static <T> T of(Map<Integer, T> metrics, Types.NestedField field) {
    return metrics == null ? null : metrics.get(field.fieldId());
  }

  private static <T> void join(Map<Integer, Optional<T>> all, Types.NestedField field, T next, BinaryOperator<T> both) {
    all.merge(
        field.fieldId(),
        Optional.ofNullable(next),
        (one, other) -> one.isPresent() && other.isPresent() ? Optional.of(both.apply(one.get(), other.get())) : Optional.empty());
  }

  DataFile file() {
    return described(bytes, Math.max(1, rows), known(values), known(nulls), written(lower), written(upper));
  }

  private static Map<Integer, Long> known(Map<Integer, Optional<Long>> counts) {
    Map<Integer, Long> known = new HashMap<>();
    counts.forEach((field, count) -> count.ifPresent(each -> known.put(field, each)));
    return known;
  }

  private Map<Integer, ByteBuffer> written(Map<Integer, Optional<Object>> bounds) {
    Map<Integer, ByteBuffer> written = new HashMap<>();
    for (Types.NestedField field : fields) {
      bounds
          .getOrDefault(field.fieldId(), Optional.empty())
          .ifPresent(value -> written.put(field.fieldId(), Conversions.toByteBuffer(field.type(), value)));
    }
    return written;
  }

  /** A file that is in no partition, so that Iceberg can judge it by its metrics. */
  static DataFile described(
      long bytes,
      long rows,
      Map<Integer, Long> values,
      Map<Integer, Long> nulls,
      Map<Integer, ByteBuffer> lower,
      Map<Integer, ByteBuffer> upper) {
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath("described.parquet")
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(bytes)
        .withMetrics(new Metrics(rows, null, values, nulls, Map.of(), lower, upper))
        .build();
  }
}
