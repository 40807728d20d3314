package io.icebergzorder.spark.request;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.CloseableIterable;

/**
 * Which data files a rewrite may touch.
 *
 * @param filter selects whole data files: those that may hold rows for which it is true
 * @param caseSensitive whether the names in it differ by case
 */
public record FileScope(Expression filter, boolean caseSensitive) {
  /** The data files of a snapshot, with the delete files that apply to each. Manifests are read, and no data. */
  public List<FileScanTask> files(Table table, long snapshotId) {
    List<FileScanTask> files = new ArrayList<>();
    forEach(table.newScan(), snapshotId, files::add);
    return files;
  }

  /** Visits the same data files, this time with the lower/upper bounds of some columns, which are named as in the schema. */
  public void forEachWithBounds(Table table, long snapshotId, Collection<String> columns, Consumer<DataFile> visitor) {
    forEach(table.newScan().includeColumnStats(columns), snapshotId, task -> visitor.accept(task.file()));
  }

  private void forEach(TableScan scan, long snapshotId, Consumer<FileScanTask> visitor) {
    try (CloseableIterable<FileScanTask> found =
        scan.filter(filter).caseSensitive(caseSensitive).ignoreResiduals().useSnapshot(snapshotId).planFiles()) {
      found.forEach(visitor);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
