package io.icebergzorder.spark.joins;

import io.icebergzorder.spark.bounds.TrustedBounds;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;

/** The keys that a join has found for one column, ascending. NULL is none of them: it equals nothing. */
record ColumnKeys(Types.NestedField field, Comparable<Object>[] ascending) {
  /** More keys skip few files, and sorting them takes longer than it saves. */
  static final int MOST = 100_000;

  /** The keys of a predicate {@code IN}; nothing if there are too many, or if bounds cannot tell which files hold them. */
  @SuppressWarnings("unchecked")
  static Optional<ColumnKeys> from(Predicate in, Schema schema, boolean isCaseSensitive, boolean isOfTarget) {
    Expression[] children = in.children();
    Types.NestedField field =
        children.length > 0 && children[0] instanceof NamedReference column && column.fieldNames().length == 1
            ? field(schema, column.fieldNames()[0], isCaseSensitive)
            : null;
    if (!in.name().equals("IN") || field == null || !TrustedBounds.serves(field)) {
      return Optional.empty();
    }
    DataType type = SparkSchemaUtil.convert(field.type());
    if (children.length - 1 > (isOfTarget ? TargetKeys.most(type) : MOST)) {
      return Optional.empty();
    }
    if (!Arrays.stream(children).skip(1).allMatch(each -> each instanceof Literal<?> key && key.dataType().equals(type))) {
      return Optional.empty();
    }
    boolean isTime = field.type().typeId() == Type.TypeID.TIMESTAMP;
    java.util.function.Predicate<Object> isOdd = key -> isTime && key instanceof Long micros && TrustedBounds.mayBeOfOtherUnit(micros);
    if (Arrays.stream(children).skip(1).map(each -> ((Literal<?>) each).value()).anyMatch(isOdd)) {
      return Optional.empty();
    }
    return Optional.of(
        new ColumnKeys(
            field,
            Arrays.stream(children)
                .skip(1)
                .map(each -> ((Literal<?>) each).value())
                .filter(Objects::nonNull)
                .map(key -> TrustedBounds.key(field.type(), key))
                .sorted()
                .toArray(Comparable[]::new)));
  }

  /** Spark has a column's name as the query has it. */
  private static Types.NestedField field(Schema schema, String name, boolean isCaseSensitive) {
    return isCaseSensitive ? schema.asStruct().field(name) : schema.asStruct().caseInsensitiveField(name);
  }

  /** Whether a data file may hold one of the keys, by its own bounds. */
  boolean mayBeIn(DataFile file) {
    TrustedBounds bounds = TrustedBounds.from(file, field);
    if (bounds == null) {
      return true;
    }
    int place = Arrays.binarySearch(ascending, bounds.lower());
    int first = place < 0 ? -place - 1 : place;
    return first < ascending.length && ascending[first].compareTo(bounds.upper()) <= 0;
  }
}
