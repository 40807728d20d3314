package io.icebergzorder.spark;

import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.Map;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteDataFilesCommitManager;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ValidationException;

/**
 * Replaces rewritten data files by new ones, through Iceberg's commit manager.
 *
 * <p>A commit has one of three outcomes: done; failed, and then the new files are deleted; or unknown, and then nothing is
 * deleted, because the new files may be the table's.
 */
final class RewriteCommit {
  private final Table table;
  private final RewriteDataFilesCommitManager manager;

  RewriteCommit(
      Table table,
      String branch,
      long startingSnapshotId,
      RewriteOptions options,
      Map<String, String> snapshotProperties) {
    this.table = table;
    boolean sequenceNumber = options.useStartingSequenceNumber();
    this.manager =
        knowsBranches()
            ? new RewriteDataFilesCommitManager(table, startingSnapshotId, sequenceNumber, snapshotProperties, branch)
            : new RewriteDataFilesCommitManager(table, startingSnapshotId, sequenceNumber, snapshotProperties);
  }

  /** Whether this Iceberg can commit to a branch other than main: from 1.11 on. */
  static boolean knowsBranches() {
    return Arrays.stream(RewriteDataFilesCommitManager.class.getConstructors())
        .anyMatch(constructor -> constructor.getParameterCount() == 5);
  }

  /**
   * Commits file groups in one snapshot.
   *
   * @throws RuntimeException if the commit failed, or its outcome is unknown; the message says which, and what to do
   */
  void commit(Collection<RewriteFileGroup> groups) {
    try {
      manager.commitOrClean(new HashSet<>(groups));
    } catch (ValidationException | CommitFailedException e) {
      throw new RuntimeException(
          String.format(
              "Cannot commit rewrite of %s, because it conflicted with another operation on the same files: %s. The new"
                  + " files were deleted and the table is as that operation left it. Run the rewrite again; to lose less to"
                  + " a conflict, set %s to true, which commits file groups independently, or narrow it with where.",
              table.name(), e.getMessage(), RewriteDataFiles.PARTIAL_PROGRESS_ENABLED),
          e);
    } catch (RuntimeException e) {
      // Iceberg marks the failures after which it is certain that nothing was committed.
      if (e instanceof CleanableFailure) {
        throw e;
      }
      throw new RuntimeException(
          String.format(
              "Cannot tell whether the rewrite of %s was committed, because the catalog gave no clear answer. No file was"
                  + " deleted. Look at the table's latest snapshot: if it is not this rewrite, run it again and let"
                  + " remove_orphan_files collect what is left over.",
              table.name()),
          e);
    }
  }

  /** Deletes the new files of file groups that will not be committed. */
  void abort(Collection<RewriteFileGroup> groups) {
    groups.forEach(manager::abortFileGroup);
  }

  /** Iceberg's service that commits every so many finished file groups. */
  RewriteDataFilesCommitManager.CommitService service(int groupsPerCommit) {
    return manager.service(groupsPerCommit);
  }
}
