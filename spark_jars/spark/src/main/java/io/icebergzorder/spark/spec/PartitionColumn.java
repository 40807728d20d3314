package io.icebergzorder.spark.spec;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Keys;
import io.icebergzorder.core.Keys.KeyDomain;
import io.icebergzorder.spark.bounds.ValueKeys;
import io.icebergzorder.spark.internals.ColumnFunction;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.UUID;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.util.SerializableFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;

/** A partition field of new files; rows of another spec are first cut and sorted by it. */
public record PartitionColumn(ClusteringColumn key, ClusteringColumn source, ColumnFunction<?> value) {
  /** The fields of a partition spec that can differ from row to row. */
  public static List<PartitionColumn> of(Table table, PartitionSpec spec) {
    return spec.fields().stream()
        .filter(field -> !field.transform().isVoid() && table.schema().findType(field.sourceId()) != null)
        .map(field -> of(table, field))
        .toList();
  }

  private static PartitionColumn of(Table table, PartitionField field) {
    Type sourceType = table.schema().findType(field.sourceId());
    Type type = field.transform().getResultType(sourceType);
    boolean isLong = Keys.domain(type.toString()) == KeyDomain.LONG;
    List<String> parts = ClusteringColumns.parts(table.schema(), field.sourceId());
    return new PartitionColumn(
        new ClusteringColumn(List.of(field.name()), isLong ? "long" : "binary"),
        new ClusteringColumn(parts, sourceType.toString()),
        isLong ? new LongValue(field, sourceType) : new BytesValue(field, sourceType));
  }

  /** From values to keys: two partition values have the same key only if they are the same partition. */
  private abstract static class Value<R> extends ColumnFunction<R> {
    private final SerializableFunction<Object, Object> transform;
    private final Type sourceType;
    private final DataType inputType;

    @SuppressWarnings("unchecked")
    Value(PartitionField field, Type sourceType, DataType resultType) {
      super(resultType, SparkSchemaUtil.convert(sourceType));
      this.transform = (SerializableFunction<Object, Object>) (SerializableFunction<?, ?>) field.transform().bind(sourceType);
      this.sourceType = sourceType;
      this.inputType = SparkSchemaUtil.convert(sourceType);
    }

    /** The partition value of a row, or null. Spark wants {@code produceResult} declared by the function's own class. */
    Object transformed(InternalRow input) {
      return input.isNullAt(0) ? null : transform.apply(icebergValue(input.get(0, inputType)));
    }

    private Object icebergValue(Object value) {
      return switch (sourceType.typeId()) {
        case STRING -> value.toString();
        case UUID -> UUID.fromString(value.toString());
        case BINARY, FIXED -> ByteBuffer.wrap((byte[]) value);
        case DECIMAL -> ((Decimal) value).toJavaBigDecimal();
        default -> value;
      };
    }
  }

  private static final class LongValue extends Value<Long> {
    LongValue(PartitionField field, Type sourceType) {
      super(field, sourceType, DataTypes.LongType);
    }

    @Override
    public Long produceResult(InternalRow input) {
      Object value = transformed(input);
      if (value instanceof Float || value instanceof Double) {
        // Unlike the key of a clustering column, -0.0 is not 0.0: they are two partitions.
        long bits = Double.doubleToLongBits(((Number) value).doubleValue());
        return bits >= 0 ? bits : bits ^ Long.MAX_VALUE;
      }
      return value == null ? null : (Long) ValueKeys.ofLong(value);
    }
  }

  private static final class BytesValue extends Value<byte[]> {
    BytesValue(PartitionField field, Type sourceType) {
      super(field, sourceType, DataTypes.BinaryType);
    }

    @Override
    public byte[] produceResult(InternalRow input) {
      Object value = transformed(input);
      return value == null ? null : ValueKeys.ofBytes(value);
    }
  }
}
