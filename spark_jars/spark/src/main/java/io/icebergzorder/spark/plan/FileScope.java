package io.icebergzorder.spark.plan;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.StructLikeMap;

/**
 * Which data files a rewrite may touch.
 *
 * @param filter selects whole data files: those that may hold rows for which it is true
 * @param caseSensitive whether the names in it differ by case
 */
record FileScope(Expression filter, boolean caseSensitive) {
  /** The data files of a snapshot, with the delete files that apply to each. Manifests are read, and no data. */
  List<FileScanTask> files(Table table, long snapshotId) {
    List<FileScanTask> files = new ArrayList<>();
    try (CloseableIterable<FileScanTask> found =
        table.newScan().filter(filter).caseSensitive(caseSensitive).ignoreResiduals().useSnapshot(snapshotId).planFiles()) {
      found.forEach(files::add);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return files;
  }

  /** Data files by partition of the table's current spec. */
  static List<Selection.PartitionFiles> byPartition(Table table, List<FileScanTask> files) {
    Types.StructType type = table.spec().partitionType();
    StructLike ofOtherSpecs = GenericRecord.create(type);
    StructLikeMap<List<FileScanTask>> byPartition = StructLikeMap.create(type);
    for (FileScanTask file : files) {
      boolean isOfSpec = file.file().specId() == table.spec().specId();
      StructLike partition = isOfSpec ? file.file().partition() : ofOtherSpecs;
      List<FileScanTask> together = byPartition.get(partition);
      if (together == null) {
        together = new ArrayList<>();
        byPartition.put(partition, together);
      }
      together.add(file);
    }
    return byPartition.entrySet().stream()
        .map(entry -> new Selection.PartitionFiles(entry.getKey(), entry.getValue()))
        .toList();
  }
}
