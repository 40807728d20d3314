package io.icebergzorder.spark;

import java.util.Collection;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.util.PartitionSet;
import org.apache.iceberg.util.SnapshotUtil;

/**
 * Finds equality deletes, committed since a rewrite began, that would delete other rows after it than before.
 *
 * <p>New files that keep the sequence number of the starting snapshot stay subject to equality deletes committed since, and
 * Iceberg takes none of them for a conflict. But such a delete reaches only files of its own partition of its own spec, or all files
 * if that spec is unpartitioned. Where rows move from one spec to another, it could lose those that it had reached, or reach others.
 */
final class EqualityDeleteCheck implements Consumer<TableMetadata> {
  private final Table table;
  private final String branch;
  private final long startingSnapshotId;
  private final PartitionSet moved;

  /**
   * Prepares the check of a commit.
   *
   * @param groups rewritten file groups, with their new files
   */
  EqualityDeleteCheck(Table table, String branch, long startingSnapshotId, Collection<RewriteFileGroup> groups) {
    this.table = table;
    this.branch = branch;
    this.startingSnapshotId = startingSnapshotId;
    this.moved = PartitionSet.create(table.specs());
    for (RewriteFileGroup group : groups) {
      PartitionSet partitions = PartitionSet.create(table.specs());
      group.rewrittenFiles().forEach(file -> add(partitions, file));
      group.addedFiles().forEach(file -> add(partitions, file));
      if (partitions.size() > 1) {
        moved.addAll(partitions);
      }
    }
  }

  private static void add(PartitionSet partitions, ContentFile<?> file) {
    partitions.add(file.specId(), file.partition());
  }

  /**
   * Looks through the snapshots since the starting one.
   *
   * @throws ValidationException if there is such a delete
   */
  @Override
  public void accept(TableMetadata base) {
    SnapshotRef head = base.ref(branch);
    if (moved.isEmpty() || head == null) {
      return;
    }
    for (Snapshot snapshot : SnapshotUtil.ancestorsBetween(head.snapshotId(), startingSnapshotId, base::snapshot)) {
      for (DeleteFile delete : snapshot.addedDeleteFiles(table.io())) {
        if (isConflict(delete, base.specsById())) {
          throw new ValidationException(
              "Cannot commit, found new equality delete %s of a partition of spec %s, between which and another spec rows moved",
              delete.location(), delete.specId());
        }
      }
    }
  }

  private boolean isConflict(DeleteFile delete, Map<Integer, PartitionSpec> specs) {
    return delete.content() == FileContent.EQUALITY_DELETES
        && !specs.get(delete.specId()).isUnpartitioned()
        && moved.contains(delete.specId(), delete.partition());
  }
}
