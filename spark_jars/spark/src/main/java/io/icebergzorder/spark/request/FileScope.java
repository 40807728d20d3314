package io.icebergzorder.spark.request;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
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
    try (CloseableIterable<FileScanTask> found =
        table.newScan().filter(filter).caseSensitive(caseSensitive).ignoreResiduals().useSnapshot(snapshotId).planFiles()) {
      found.forEach(files::add);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return files;
  }
}
