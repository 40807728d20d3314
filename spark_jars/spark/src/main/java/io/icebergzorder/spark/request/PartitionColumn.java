package io.icebergzorder.spark.request;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.Keys;
import io.icebergzorder.spark.internals.ColumnFunction;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.util.ByteBuffers;
import org.apache.iceberg.util.SerializableFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;

/**
 * A partition field of the files to be written, as a column that rows are cut and sorted by before any other: rows
 * whose files have another partition spec come from any partition, and each file holds rows of one.
 */
public record PartitionColumn(ClusteringColumn key, ClusteringColumn source, ScalarFunction<?> value) {

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
        function(bound(field, sourceType), sourceType, type, isLong));
  }

  @SuppressWarnings("unchecked")
  private static SerializableFunction<Object, Object> bound(PartitionField field, Type sourceType) {
    return (SerializableFunction<Object, Object>) (SerializableFunction<?, ?>) field.transform().bind(sourceType);
  }

  private static ScalarFunction<?> function(
      SerializableFunction<Object, Object> transform, Type sourceType, Type type, boolean isLong) {
    return isLong ? new LongValue(transform, sourceType, type) : new BytesValue(transform, sourceType, type);
  }

  /** What both functions share. Two partition values have the same key only if they are the same partition. */
  private abstract static class Value<R> extends ColumnFunction<R> {
    private final SerializableFunction<Object, Object> transform;
    private final Type sourceType;
    private final DataType inputType;
    final Type type;

    Value(SerializableFunction<Object, Object> transform, Type sourceType, Type type, DataType resultType) {
      super(resultType, SparkSchemaUtil.convert(sourceType));
      this.transform = transform;
      this.sourceType = sourceType;
      this.inputType = SparkSchemaUtil.convert(sourceType);
      this.type = type;
    }

    /** The partition value of a row, or null. Spark wants {@code produceResult} declared by the function's own class. */
    Object transformed(InternalRow input) {
      return input.isNullAt(0) ? null : transform.apply(icebergValue(input.get(0, inputType)));
    }

    /** A value as Iceberg's transforms take it. */
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
    LongValue(SerializableFunction<Object, Object> transform, Type sourceType, Type type) {
      super(transform, sourceType, type, DataTypes.LongType);
    }

    @Override
    public Long produceResult(InternalRow input) {
      Object value = transformed(input);
      return value == null ? null : key(value);
    }

    private Long key(Object value) {
      return switch (type.typeId()) {
        case BOOLEAN -> Keys.ofBoolean((Boolean) value);
        case FLOAT, DOUBLE -> ordered(((Number) value).doubleValue());
        case DECIMAL -> ((BigDecimal) value).unscaledValue().longValueExact();
        default -> ((Number) value).longValue();
      };
    }

    /** Unlike the key of a clustering column, -0.0 is not 0.0: they are two partitions. */
    private static long ordered(double value) {
      long bits = Double.doubleToLongBits(value);
      return bits >= 0 ? bits : bits ^ Long.MAX_VALUE;
    }
  }

  private static final class BytesValue extends Value<byte[]> {
    BytesValue(SerializableFunction<Object, Object> transform, Type sourceType, Type type) {
      super(transform, sourceType, type, DataTypes.BinaryType);
    }

    @Override
    public byte[] produceResult(InternalRow input) {
      Object value = transformed(input);
      return value == null ? null : key(value);
    }

    private byte[] key(Object value) {
      return switch (type.typeId()) {
        case STRING -> value.toString().getBytes(StandardCharsets.UTF_8);
        case UUID -> Keys.ofUuid((UUID) value);
        case DECIMAL -> Keys.ofWideDecimal(((BigDecimal) value).unscaledValue());
        default -> ByteBuffers.toByteArray((ByteBuffer) value);
      };
    }
  }
}
