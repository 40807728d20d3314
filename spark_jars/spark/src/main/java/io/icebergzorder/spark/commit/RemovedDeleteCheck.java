package io.icebergzorder.spark.commit;

import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.util.SnapshotUtil;

/** Finds deletes of rewritten files that somebody removed since the rewrite began: the new files lack rows that live again. */
// Iceberg looks for new delete files only. A snapshot that replaces delete files by others, as rewrite_position_delete_files does, changes
// no rows by its own account.
final class RemovedDeleteCheck implements BiConsumer<TableMetadata, TableMetadata> {
  private final Table table;
  private final String branch;
  private final long startingSnapshotId;
  private final Set<String> applied;

  RemovedDeleteCheck(Table table, String branch, Snapshot start, Stream<DeleteFile> applied) {
    this.table = table;
    this.branch = branch;
    this.startingSnapshotId = start.snapshotId();
    this.applied = applied.map(RemovedDeleteCheck::identity).collect(Collectors.toSet());
  }

  static String identity(DeleteFile delete) {
    return delete.location() + "#" + delete.contentOffset();
  }

  @Override
  public void accept(TableMetadata base, TableMetadata replacement) {
    SnapshotRef head = base.ref(branch);
    if (head == null || applied.isEmpty()) {
      return;
    }
    for (Snapshot snapshot : SnapshotUtil.ancestorsBetween(head.snapshotId(), startingSnapshotId, base::snapshot)) {
      boolean replaces =
          DataOperations.REPLACE.equals(snapshot.operation())
              && snapshot.summary().containsKey(SnapshotSummary.ADDED_DELETE_FILES_PROP);
      if (!replaces) {
        snapshot.removedDeleteFiles(table.io()).forEach(this::check);
      }
    }
  }

  private void check(DeleteFile delete) {
    if (applied.contains(identity(delete))) {
      throw new ValidationException(
          "Cannot commit, found that delete file %s was removed: rows that it had deleted are not in the new files", delete.location());
    }
  }
}
