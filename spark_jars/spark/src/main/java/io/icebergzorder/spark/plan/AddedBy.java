package io.icebergzorder.spark.plan;

import io.icebergzorder.core.metrics.SnapshotFacts;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;

/**
 * Finds the snapshot that has added a data file: the one whose sequence number the file has. Snapshots of tables of version 1 have none, so
 * that what they added is read from their manifests; that is done only where one of our rewrites is among them, for nobody asks
 * else.
 */
public final class AddedBy {
  /** Of a file that was added by a snapshot which is not kept any more. */
  private static final long UNKNOWN = -1;

  private final Map<Long, Long> bySequenceNumber = new HashMap<>();
  private final Map<String, Long> byLocation = new HashMap<>();

  /**
   * Takes note of what snapshots have added.
   *
   * @param history the snapshots of the branch, oldest first
   */
  public AddedBy(Table table, List<SnapshotFacts> history) {
    for (Snapshot snapshot : table.snapshots()) {
      if (snapshot.sequenceNumber() > 0) {
        bySequenceNumber.put(snapshot.sequenceNumber(), snapshot.snapshotId());
      }
    }
    history.stream()
        .dropWhile(each -> !each.isLayout())
        .map(each -> table.snapshot(each.id()))
        .filter(snapshot -> snapshot.sequenceNumber() == 0)
        .forEach(
            snapshot ->
                snapshot
                    .addedDataFiles(table.io())
                    .forEach(file -> byLocation.put(file.location(), snapshot.snapshotId())));
  }

  /** The id of the snapshot that has added a file; -1 if that is not kept, or adds nothing of ours. */
  public long snapshotOf(DataFile file) {
    Long sequenceNumber = file.fileSequenceNumber();
    return sequenceNumber != null && sequenceNumber > 0
        ? bySequenceNumber.getOrDefault(sequenceNumber, UNKNOWN)
        : byLocation.getOrDefault(file.location(), UNKNOWN);
  }
}
