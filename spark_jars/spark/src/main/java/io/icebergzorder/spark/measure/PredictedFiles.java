package io.icebergzorder.spark.measure;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.report.ColumnBounds;
import io.icebergzorder.core.report.DataFiles;
import io.icebergzorder.spark.bounds.KeyBounds;
import io.icebergzorder.spark.queries.FileCondition;
import io.icebergzorder.spark.queries.FilePartition;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.types.Types;

/** Data files that do not exist yet, so that Iceberg can judge conditions on them. */
public record PredictedFiles(List<Types.NestedField> fields, List<FilePartition> partitions) {
  /** Which of some new files each of several conditions leaves. */
  public boolean[][] mayMatch(List<FileCondition> conditions, DataFiles files) {
    boolean[][] found = new boolean[conditions.size()][files.count()];
    for (int place = 0; place < files.count(); place++) {
      FilePartition partition = partitions.get(files.partitions()[place]);
      DataFile file = file(files, place, partition);
      for (int i = 0; i < found.length; i++) {
        FileCondition condition = conditions.get(i);
        found[i][place] = partition.isKnown() ? condition.mayMatch(file) : condition.valuesMayMatch(file);
      }
    }
    return found;
  }

  private DataFile file(DataFiles files, int place, FilePartition partition) {
    long rows = Math.max(1, files.rows()[place]);
    Map<Integer, Long> values = new HashMap<>();
    Map<Integer, Long> nulls = new HashMap<>();
    Map<Integer, ByteBuffer> lower = new HashMap<>();
    Map<Integer, ByteBuffer> upper = new HashMap<>();
    for (int column = 0; column < fields.size(); column++) {
      ColumnBounds bounds = files.columns().get(column);
      Types.NestedField field = fields.get(column);
      values.put(field.fieldId(), rows);
      nulls.put(field.fieldId(), (long) Math.rint(rows * (1 - bounds.valued()[place])));
      putBound(lower, bounds.lower(), place, field);
      putBound(upper, bounds.upper(), place, field);
    }
    return org.apache.iceberg.DataFiles.builder(partition.spec())
        .withPath("predicted.parquet")
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(files.sizes()[place])
        .withPartition(partition.values())
        .withMetrics(new Metrics(rows, null, values, nulls, Map.of(), lower, upper))
        .build();
  }

  private static void putBound(Map<Integer, ByteBuffer> bounds, KeyColumn keys, int place, Types.NestedField field) {
    if (keys.state(place) == KeyColumn.VALUE) {
      bounds.put(field.fieldId(), KeyBounds.bound(keys, place, field.type()));
    }
  }
}
