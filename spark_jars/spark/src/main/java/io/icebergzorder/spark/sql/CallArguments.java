package io.icebergzorder.spark.sql;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.StructType;

/** The arguments of a CALL by parameter name; null if not given, or if this version of Iceberg has no such parameter. */
public record CallArguments(StructType parameters, InternalRow row) {
  Object value(String parameter) {
    int place = List.of(parameters.fieldNames()).indexOf(parameter);
    return place < 0 || row.isNullAt(place) ? null : row.get(place, parameters.fields()[place].dataType());
  }

  String text(String parameter) {
    Object value = value(parameter);
    return value == null ? null : value.toString();
  }

  Long number(String parameter) {
    return (Long) value(parameter);
  }

  boolean flag(String parameter) {
    return Boolean.TRUE.equals(value(parameter));
  }

  /** The texts of a map, as written; empty if it was not given. */
  Map<String, String> texts(String parameter) {
    Map<String, String> texts = new LinkedHashMap<>();
    MapData map = (MapData) value(parameter);
    if (map != null) {
      List<String> keys = texts(map.keyArray());
      List<String> values = texts(map.valueArray());
      IntStream.range(0, keys.size()).forEach(i -> texts.put(keys.get(i), values.get(i)));
    }
    return texts;
  }

  /** The texts of an array, with null for NULL; empty if it was not given. */
  List<String> list(String parameter) {
    ArrayData array = (ArrayData) value(parameter);
    return array == null ? List.of() : texts(array);
  }

  private static List<String> texts(ArrayData array) {
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < array.numElements(); i++) {
      texts.add(array.isNullAt(i) ? null : array.getUTF8String(i).toString());
    }
    return texts;
  }
}
