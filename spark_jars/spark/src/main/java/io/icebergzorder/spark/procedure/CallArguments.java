package io.icebergzorder.spark.procedure;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;

/** The arguments of a CALL by parameter name, so that their order is the procedure's own affair. */
public final class CallArguments {
  private final Map<String, Object> values = new HashMap<>();

  /** One parameter of a procedure. */
  public record Parameter(String name, DataType type, boolean isRequired) {}

  public CallArguments(List<Parameter> parameters, InternalRow row) {
    for (int i = 0; i < parameters.size(); i++) {
      if (!row.isNullAt(i)) {
        values.put(parameters.get(i).name(), row.get(i, parameters.get(i).type()));
      }
    }
  }

  /** The text of an argument, or null if it was not given. */
  public String text(String parameter) {
    Object value = values.get(parameter);
    return value == null ? null : value.toString();
  }

  /** The whole number of an argument, or null if it was not given. */
  public Long number(String parameter) {
    return (Long) values.get(parameter);
  }

  /** Whether an argument was given and is true. */
  public boolean flag(String parameter) {
    return Boolean.TRUE.equals(values.get(parameter));
  }

  /** The texts of an argument that is a map, as written; empty if it was not given. */
  public Map<String, String> texts(String parameter) {
    Map<String, String> texts = new LinkedHashMap<>();
    MapData map = (MapData) values.get(parameter);
    if (map == null) {
      return texts;
    }

    ArrayData keys = map.keyArray();
    ArrayData written = map.valueArray();
    for (int i = 0; i < map.numElements(); i++) {
      texts.put(keys.getUTF8String(i).toString(), written.isNullAt(i) ? null : written.getUTF8String(i).toString());
    }
    return texts;
  }

  /** The texts of an argument that is an array, with null for NULL; empty if it was not given. */
  public List<String> list(String parameter) {
    List<String> texts = new ArrayList<>();
    ArrayData array = (ArrayData) values.get(parameter);
    for (int i = 0; array != null && i < array.numElements(); i++) {
      texts.add(array.isNullAt(i) ? null : array.getUTF8String(i).toString());
    }
    return texts;
  }
}
