package io.icebergzorder.spark.commit;

import io.icebergzorder.core.select.UnchangedSince;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.SupportedVersions;
import io.icebergzorder.spark.spec.RewriteOptions;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteDataFilesCommitManager;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ValidationException;

/**
 * Replaces rewritten data files by new ones, through Iceberg's commit manager.
 *
 * <p>A commit has one of three outcomes: done; failed, and then the new files are deleted; or unknown, and then nothing
 * is deleted, because the new files may be the table's.
 */
public final class RewriteCommit {
  private final Table table;
  private final String branch;
  private final Snapshot start;
  private final int formatVersion;
  private final boolean useStartingSequenceNumber;
  private final Function<Collection<RewriteFileGroup>, Map<String, String>> summary;
  private boolean areAllDone = true;

  public RewriteCommit(
      Table table,
      String branch,
      long startingSnapshotId,
      RewriteOptions options,
      Function<Collection<RewriteFileGroup>, Map<String, String>> summary) {
    this.table = table;
    this.branch = branch;
    this.start = table.snapshot(startingSnapshotId);
    if (start == null) {
      throw new IllegalStateException(
          "Cannot rewrite %s, because its starting snapshot %d has expired. Run it again."
              .formatted(table.name(), startingSnapshotId));
    }
    this.formatVersion = TableUtil.formatVersion(table);
    this.useStartingSequenceNumber = options.useStartingSequenceNumber();
    this.summary = summary;
  }

  public void commit(Collection<RewriteFileGroup> groups) {
    CommitAttempt attempt = new CommitAttempt(table, start, check(groups));
    try {
      Map<String, String> properties = new HashMap<>(summary.apply(groups));
      if (!areAllDone) {
        properties.remove(UnchangedSince.SETTLED_FROM);
      }
      boolean wereAllDone = areAllDone;
      areAllDone = false;
      manager(attempt.table(), properties).commitOrClean(new HashSet<>(groups));
      areAllDone = wereAllDone;
    } catch (ValidationException | CommitFailedException e) {
      throw new RuntimeException(
          ("Cannot commit rewrite of %s, because it conflicted with another operation on the same files: %s. The new"
                  + " files were deleted, and the table is as that operation left it. Run the rewrite again. To lose less work"
                  + " to conflicts, narrow it with where, or set %s to true, which commits file groups independently.")
              .formatted(table.name(), e.getMessage(), RewriteDataFiles.PARTIAL_PROGRESS_ENABLED),
          e);
    } catch (Throwable e) {
      // Iceberg marks the failures after which it is certain that nothing was committed, and has cleaned up after them.
      if (e instanceof CleanableFailure && e instanceof RuntimeException failure) {
        throw failure;
      }
      if (!attempt.mayBeCommitted()) {
        abort(groups);
        throw new RuntimeException(
            "Cannot commit rewrite of %s, because %s. The catalog was not asked to commit, and the new files were deleted."
                .formatted(table.name(), Failures.rootMessage(e)),
            e);
      }
      throw new UnknownCommitException(
          ("Cannot tell whether the rewrite of %s was committed, because the catalog gave no clear answer. No file was"
                  + " deleted. Look at the table's latest snapshot: if it is not this rewrite, run it again, then run"
                  + " remove_orphan_files.")
              .formatted(table.name()),
          e);
    }
  }

  private BiConsumer<TableMetadata, TableMetadata> check(Collection<RewriteFileGroup> groups) {
    // Without the starting sequence number no later delete reaches the new files, and Iceberg refuses those that reach the old.
    BiConsumer<TableMetadata, TableMetadata> check =
        new RemovedDeleteCheck(table, branch, start, groups).andThen(this::checkFormatVersion);
    return useStartingSequenceNumber ? check.andThen(new EqualityDeleteCheck(table, branch, start, groups)) : check;
  }

  private void checkFormatVersion(TableMetadata base, TableMetadata replacement) {
    if (base.formatVersion() != formatVersion) {
      // From version 3 on rows have ids, which files that were written before do not carry over.
      throw new ValidationException(
          "Cannot commit, found that the table went from format version %s to %s", formatVersion, base.formatVersion());
    }
  }

  private RewriteDataFilesCommitManager manager(Table to, Map<String, String> properties) {
    return SupportedVersions.commitsToBranches()
        ? new RewriteDataFilesCommitManager(to, start.snapshotId(), useStartingSequenceNumber, properties, branch)
        : new RewriteDataFilesCommitManager(to, start.snapshotId(), useStartingSequenceNumber, properties);
  }

  /** Deletes the new files of file groups that will not be committed. */
  public void abort(Collection<RewriteFileGroup> groups) {
    RewriteDataFilesCommitManager manager = manager(table, Map.of());
    groups.forEach(manager::abortFileGroup);
  }

  /** Sets properties; the others stay as they are, those that somebody else sets at the same time among them. */
  public static void setProperties(Table table, Map<String, String> properties) {
    CommitAttempt attempt = new CommitAttempt(table, null, (base, replacement) -> {});
    try {
      UpdateProperties update = attempt.table().updateProperties();
      properties.forEach(update::set);
      update.commit();
    } catch (RuntimeException e) {
      String what =
          properties.entrySet().stream()
              .map(each -> each.getKey() + " = '" + each.getValue() + "'")
              .collect(Collectors.joining(", "));
      if (attempt.mayBeCommitted()) {
        throw new UnknownCommitException(
            ("Cannot tell whether %s was set on %s, because the catalog gave no clear answer. Nothing else was done: check the"
                    + " table's properties.")
                .formatted(what, table.name()),
            e);
      }
      throw new RuntimeException(
          "Cannot set %s on %s, because %s. Nothing else was done."
              .formatted(what, table.name(), Failures.rootMessage(e).strip().replaceFirst("\\.$", "")),
          e);
    }
  }
}
