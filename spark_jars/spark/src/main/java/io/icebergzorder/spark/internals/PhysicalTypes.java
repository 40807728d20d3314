package io.icebergzorder.spark.internals;

import org.apache.iceberg.shaded.org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.iceberg.shaded.org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.iceberg.shaded.org.apache.parquet.schema.LogicalTypeAnnotation.EnumLogicalTypeAnnotation;
import org.apache.iceberg.shaded.org.apache.parquet.schema.LogicalTypeAnnotation.IntLogicalTypeAnnotation;
import org.apache.iceberg.shaded.org.apache.parquet.schema.LogicalTypeAnnotation.JsonLogicalTypeAnnotation;
import org.apache.iceberg.shaded.org.apache.parquet.schema.LogicalTypeAnnotation.StringLogicalTypeAnnotation;
import org.apache.iceberg.shaded.org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit;
import org.apache.iceberg.shaded.org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation;
import org.apache.iceberg.shaded.org.apache.parquet.schema.LogicalTypeAnnotation.UnknownLogicalTypeAnnotation;
import org.apache.iceberg.shaded.org.apache.parquet.schema.PrimitiveType;
import org.apache.iceberg.shaded.org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** Which physical types of Parquet Iceberg's readers in Spark read rightly; imported files may have others than Iceberg's. */
final class PhysicalTypes {
  enum Reading {
    ANY,
    /** By rows only: the vectorized reader takes the values for others. */
    ROWS,
    /** By none: readers fail, or take the values for others. */
    NONE
  }

  private PhysicalTypes() {}

  static Reading of(Type.PrimitiveType type, PrimitiveType column) {
    LogicalTypeAnnotation logical = column.getLogicalTypeAnnotation();
    PrimitiveTypeName physical = column.getPrimitiveTypeName();
    if (logical instanceof UnknownLogicalTypeAnnotation) {
      return Reading.ROWS; // all of its values are NULL
    }
    return switch (type.typeId()) {
      case BOOLEAN -> anyIf(physical == PrimitiveTypeName.BOOLEAN);
      case INTEGER -> anyIf(physical == PrimitiveTypeName.INT32 && isInteger(logical, 32));
      case LONG ->
          anyIf(
              physical == PrimitiveTypeName.INT32 && isInteger(logical, 32)
                  || physical == PrimitiveTypeName.INT64 && isInteger(logical, 64));
      case FLOAT -> anyIf(physical == PrimitiveTypeName.FLOAT);
      case DOUBLE -> anyIf(physical == PrimitiveTypeName.FLOAT || physical == PrimitiveTypeName.DOUBLE);
      case DATE ->
          anyIf(
              physical == PrimitiveTypeName.INT32
                  && (logical == null || logical instanceof LogicalTypeAnnotation.DateLogicalTypeAnnotation));
      case TIMESTAMP -> ofTimestamp(physical, logical);
      case DECIMAL -> ofDecimal((Types.DecimalType) type, physical, logical);
      case STRING -> anyIf(physical == PrimitiveTypeName.BINARY && isText(logical));
      case BINARY -> ofBinary(physical, logical);
      case UUID -> anyIf(physical == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY && column.getTypeLength() == 16);
      case FIXED ->
          anyIf(
              physical == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY
                  && column.getTypeLength() == ((Types.FixedType) type).length());
      // Types that Spark reads by code of their own, or not at all.
      default -> Reading.ANY;
    };
  }

  private static Reading anyIf(boolean isRead) {
    return isRead ? Reading.ANY : Reading.NONE;
  }

  /** Unsigned integers fail, but for small ones without a dictionary. */
  private static boolean isInteger(LogicalTypeAnnotation logical, int bits) {
    return logical == null || logical instanceof IntLogicalTypeAnnotation number && number.getBitWidth() <= bits && number.isSigned();
  }

  /** Of bytes without annotation, 16 that come from a dictionary are read as the text of a UUID. */
  private static boolean isText(LogicalTypeAnnotation logical) {
    return logical instanceof StringLogicalTypeAnnotation
        || logical instanceof JsonLogicalTypeAnnotation
        || logical instanceof EnumLogicalTypeAnnotation;
  }

  private static Reading ofTimestamp(PrimitiveTypeName physical, LogicalTypeAnnotation logical) {
    if (physical == PrimitiveTypeName.INT96) {
      return Reading.ANY;
    }
    if (physical == PrimitiveTypeName.INT64 && logical == null) {
      return Reading.ROWS;
    }
    if (physical != PrimitiveTypeName.INT64 || !(logical instanceof TimestampLogicalTypeAnnotation timestamp)) {
      return Reading.NONE;
    }
    return timestamp.getUnit() == TimeUnit.MICROS ? Reading.ANY : timestamp.getUnit() == TimeUnit.MILLIS ? Reading.ROWS : Reading.NONE;
  }

  private static Reading ofDecimal(Types.DecimalType type, PrimitiveTypeName physical, LogicalTypeAnnotation logical) {
    boolean fits =
        logical instanceof DecimalLogicalTypeAnnotation decimal
            && decimal.getScale() == type.scale()
            && decimal.getPrecision() <= type.precision();
    return !fits ? Reading.NONE : physical == PrimitiveTypeName.BINARY ? Reading.ROWS : Reading.ANY;
  }

  private static Reading ofBinary(PrimitiveTypeName physical, LogicalTypeAnnotation logical) {
    if (logical instanceof DecimalLogicalTypeAnnotation) {
      return Reading.NONE;
    }
    return physical == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY ? Reading.ROWS : anyIf(physical == PrimitiveTypeName.BINARY);
  }
}
