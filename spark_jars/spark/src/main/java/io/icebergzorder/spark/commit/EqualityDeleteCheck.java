package io.icebergzorder.spark.commit;

import java.util.Collection;
import java.util.Map;
import java.util.function.BiConsumer;
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

/** Finds equality deletes, committed since a rewrite began, that would delete other rows after it than before. */
// New files that keep the sequence number of the starting snapshot stay subject to equality deletes committed since, and Iceberg takes none
// for a conflict. But such a delete reaches only files of its own partition of its own spec, or all if that is unpartitioned: where rows
// move to another spec, it could lose those that it had reached. And Iceberg's snapshot producers drop the delete files that are older than
// every data file of the manifests that they keep, with no thought of files that they are about to add with an older sequence number.
final class EqualityDeleteCheck implements BiConsumer<TableMetadata, TableMetadata> {
  private final Table table;
  private final String branch;
  private final long startingSnapshotId;
  private final long startingSequenceNumber;
  private final PartitionSet moved;
  private final PartitionSet written;

  EqualityDeleteCheck(Table table, String branch, Snapshot start, Collection<RewriteFileGroup> groups) {
    this.table = table;
    this.branch = branch;
    this.startingSnapshotId = start.snapshotId();
    this.startingSequenceNumber = start.sequenceNumber();
    this.moved = PartitionSet.create(table.specs());
    this.written = PartitionSet.create(table.specs());
    for (RewriteFileGroup group : groups) {
      PartitionSet partitions = PartitionSet.create(table.specs());
      group.rewrittenFiles().forEach(file -> add(partitions, file));
      group.addedFiles().forEach(file -> add(written, file));
      group.addedFiles().forEach(file -> add(partitions, file));
      if (partitions.size() > 1) {
        moved.addAll(partitions);
      }
    }
  }

  private static void add(PartitionSet partitions, ContentFile<?> file) {
    partitions.add(file.specId(), file.partition());
  }

  /** Looks through the snapshots since the starting one, and at the one that is to follow them. */
  @Override
  public void accept(TableMetadata base, TableMetadata replacement) {
    SnapshotRef head = base.ref(branch);
    if (head == null) {
      return;
    }
    if (!moved.isEmpty()) {
      for (Snapshot snapshot : SnapshotUtil.ancestorsBetween(head.snapshotId(), startingSnapshotId, base::snapshot)) {
        snapshot.addedDeleteFiles(table.io()).forEach(delete -> checkMoved(delete, base.specsById()));
      }
    }
    Snapshot next = replacement.snapshot(replacement.ref(branch).snapshotId());
    next.removedDeleteFiles(table.io()).forEach(delete -> checkKept(delete, base.specsById()));
  }

  private void checkMoved(DeleteFile delete, Map<Integer, PartitionSpec> specs) {
    if (delete.content() == FileContent.EQUALITY_DELETES
        && !specs.get(delete.specId()).isUnpartitioned()
        && moved.contains(delete.specId(), delete.partition())) {
      throw new ValidationException(
          "Cannot commit, found new equality delete %s in a partition of spec %s: the rewrite moved rows between this spec and another one",
          delete.location(), delete.specId());
    }
  }

  private void checkKept(DeleteFile delete, Map<Integer, PartitionSpec> specs) {
    if (delete.content() == FileContent.EQUALITY_DELETES
        && delete.dataSequenceNumber() > startingSequenceNumber
        && (specs.get(delete.specId()).isUnpartitioned() || written.contains(delete.specId(), delete.partition()))) {
      throw new ValidationException(
          "Cannot commit, found new equality delete %s: no older data file stays in the table, so Iceberg would drop the delete"
              + " with this commit, and its rows would come back",
          delete.location());
    }
  }
}
