package io.icebergzorder.spark.bounds;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.metrics.ColumnBounds;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;

/** The lower/upper bounds of some columns in data files, by the files' locations. */
public final class FileBounds {
  private final Map<String, Integer> places = new HashMap<>();
  private final List<ColumnBounds> columns;

  public FileBounds(List<ClusteringColumn> columns, Schema schema, Consumer<Consumer<DataFile>> forEach) {
    List<BoundKeys> keys = columns.stream().map(column -> new BoundKeys(column, schema)).toList();
    forEach.accept(file -> {
      if (places.putIfAbsent(file.location(), places.size()) == null) {
        keys.forEach(column -> column.add(file));
      }
    });
    this.columns = keys.stream().map(BoundKeys::bounds).toList();
  }

  public List<ColumnBounds> of(List<String> locations) {
    int[] found = locations.stream().mapToInt(places::get).toArray();
    return columns.stream().map(column -> column.take(found)).toList();
  }
}
