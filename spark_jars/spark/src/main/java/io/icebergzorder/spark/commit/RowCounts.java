package io.icebergzorder.spark.commit;

import java.util.List;
import java.util.Locale;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.util.ContentFileUtil;

/**
 * The number of rows that a file group's new files may have: the rows of its old files, less deleted rows.
 *
 * <p>Manifests tell this apart from what the rewrite read. Without deletes, and with deletion vectors, the count is
 * exact. A position delete file may name a row twice, or rows of other data files, and the number of rows that an equality delete file
 * matches is unknown without reading them. In these cases the count is an interval.
 */
public record RowCounts(long least, long most) {
  public static void check(Table table, RewriteFileGroup group) {
    RowCounts expected = of(group.fileScanTasks());
    long rows = group.addedFiles().stream().mapToLong(DataFile::recordCount).sum();
    if (rows < expected.least || rows > expected.most) {
      throw new IllegalStateException(
          String.format(
              Locale.ROOT,
              "Cannot commit rewrite of %s, because the new files should have %s rows by the manifests of %d data files and their"
                  + " deletes, but have %d",
              table.name(), expected, group.inputFileNum(), rows));
    }
  }

  static RowCounts of(List<FileScanTask> tasks) {
    long least = 0;
    long most = 0;
    for (FileScanTask task : tasks) {
      long rows = task.file().recordCount();
      long deleted = 0;
      long surelyDeleted = 0;
      for (DeleteFile delete : task.deletes()) {
        boolean isPositions = delete.content() == FileContent.POSITION_DELETES;
        deleted = Math.min(rows, isPositions ? deleted + delete.recordCount() : rows);
        surelyDeleted += ContentFileUtil.isDV(delete) ? delete.recordCount() : 0;
      }
      least += rows - deleted;
      most += rows - surelyDeleted;
    }
    return new RowCounts(least, most);
  }

  @Override
  public String toString() {
    return least == most ? String.valueOf(most) : String.format(Locale.ROOT, "%d to %d", least, most);
  }
}
