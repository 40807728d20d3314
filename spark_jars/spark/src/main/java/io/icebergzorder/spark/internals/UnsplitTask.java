package io.icebergzorder.spark.internals;

import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.expressions.Expression;

/** A scan task that says what another one does, and is not split any further. */
interface UnsplitTask extends FileScanTask {
  FileScanTask task();

  @Override
  default DataFile file() {
    return task().file();
  }

  @Override
  default List<DeleteFile> deletes() {
    return task().deletes();
  }

  @Override
  default PartitionSpec spec() {
    return task().spec();
  }

  @Override
  default Schema schema() {
    return task().schema();
  }

  @Override
  default Expression residual() {
    return task().residual();
  }

  @Override
  default long start() {
    return task().start();
  }

  @Override
  default long length() {
    return task().length();
  }

  @Override
  default Iterable<FileScanTask> split(long targetSplitSize) {
    return List.of(this);
  }
}
