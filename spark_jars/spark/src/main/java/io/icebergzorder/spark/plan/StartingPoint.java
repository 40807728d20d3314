package io.icebergzorder.spark.plan;

import io.icebergzorder.spark.request.FileScope;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.util.SnapshotUtil;

/**
 * What a plan was made from. A plan is good for as long as the table still is what it was made from, as far as the plan is concerned:
 * data files that others append do not matter to it.
 *
 * @param uuid tells the table from another of the same name
 * @param branch the branch
 * @param snapshotId the branch's snapshot
 * @param schemaId the table's schema
 * @param specId the table's partition spec
 */
record StartingPoint(UUID uuid, String branch, long snapshotId, int schemaId, int specId) {
  /** Where a table is now; the table has a snapshot. */
  static StartingPoint of(Table table, String branch) {
    return new StartingPoint(
        table.uuid(), branch, table.snapshot(branch).snapshotId(), table.schema().schemaId(), table.spec().specId());
  }

  /**
   * Looks at the table anew.
   *
   * @param scope which files were planned from
   * @param chosen the planned files
   * @throws IllegalStateException if a plan of these files is not good any more; the message says why
   */
  void check(Table table, FileScope scope, List<FileScanTask> chosen) {
    try {
      table.refresh();
    } catch (NoSuchTableException e) {
      throw stale(table, "the table was dropped since", e);
    } catch (IllegalStateException e) {
      // Iceberg compares the tables' UUIDs, too.
      throw stale(table, "it is another table by now: " + e.getMessage(), e);
    }
    // Once Iceberg has said that a table was dropped, it keeps a handle without metadata.
    if (((HasTableOperations) table).operations().current() == null) {
      throw stale(table, "the table was dropped since", null);
    }
    if (!table.uuid().equals(uuid)) {
      throw stale(table, String.format("it is another table by now, of UUID %s and not %s", table.uuid(), uuid), null);
    }
    if (table.schema().schemaId() != schemaId) {
      throw stale(table, "its schema has changed since", null);
    }
    if (table.spec().specId() != specId) {
      throw stale(table, "its partition spec has changed since", null);
    }
    SnapshotRef head = table.refs().get(branch);
    if (head == null) {
      throw stale(table, String.format("branch %s was dropped since", branch), null);
    }
    if (head.snapshotId() != snapshotId) {
      Snapshot start = table.snapshot(snapshotId);
      if (start == null || !SnapshotUtil.isAncestorOf(head.snapshotId(), snapshotId, table::snapshot)) {
        throw stale(
            table, String.format("snapshot %d is no longer in the history of branch %s", snapshotId, branch), null);
      }
      checkFiles(table, scope.files(table, head.snapshotId()), chosen);
    }
  }

  private static void checkFiles(Table table, List<FileScanTask> now, List<FileScanTask> chosen) {
    Map<String, FileScanTask> byLocation = new HashMap<>();
    now.forEach(file -> byLocation.put(file.file().location(), file));
    for (FileScanTask planned : chosen) {
      String location = planned.file().location();
      FileScanTask found = byLocation.get(location);
      if (found == null) {
        throw stale(table, String.format("data file %s is no longer in the table", location), null);
      }
      if (!deletes(found).equals(deletes(planned))) {
        throw stale(table, String.format("the deletes of data file %s have changed since", location), null);
      }
    }
  }

  /** Deletion vectors share a file, each at a place of its own. */
  private static Set<String> deletes(FileScanTask task) {
    return task.deletes().stream().map(StartingPoint::identity).collect(Collectors.toSet());
  }

  private static String identity(DeleteFile delete) {
    return delete.location() + "@" + delete.contentOffset();
  }

  private static IllegalStateException stale(Table table, String why, Throwable cause) {
    return new IllegalStateException(
        String.format("Cannot execute the plan of %s, because %s. Nothing was rewritten: plan again.", table.name(), why), cause);
  }
}
