package io.icebergzorder.spark.run;

import io.icebergzorder.spark.commit.RewriteCommit;
import io.icebergzorder.spark.commit.RewriteCommit.Conflict;
import io.icebergzorder.spark.commit.UnknownCommitException;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.spec.RewriteOptions;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RemoveDanglingDeleteFiles;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;

/**
 * Rewrites file groups, several at a time, and commits them: in one snapshot, or as they are finished (partial progress).
 *
 * @param removal removes dangling deletes after a rewrite without conflicts; empty if they stay
 */
record GroupExecution(Table table, RewriteOptions options, RewriteCommit commit, Optional<RemoveDanglingDeleteFiles> removal) {
  /**
   * What became of file groups.
   *
   * @param conflict the groups that were not committed because of conflicts; no failures yet, because they can be planned again
   */
  record Executed(RewriteDataFiles.Result result, Optional<Conflict> conflict) {}

  /** Rewrites and commits file groups; whatever it throws says what was committed, and why not the rest. */
  Executed run(FileGroupPool groups) throws InterruptedException {
    Executed executed = options.partialProgress().isPresent() ? partially(groups, options.partialProgress().get()) : atOnce(groups);
    return removal.isPresent() && executed.conflict.isEmpty()
        ? new Executed(withoutDanglingDeletes(executed.result, removal.get()), executed.conflict)
        : executed;
  }

  /** All file groups in one commit: one that fails stops the others. */
  private Executed atOnce(FileGroupPool groups) throws InterruptedException {
    Collection<RewriteFileGroup> done = new ConcurrentLinkedQueue<>();
    try {
      groups.run(done::add);
    } catch (Throwable e) {
      commit.abort(done);
      throw stopped(e, "Nothing was committed, and the new files were deleted.");
    }
    Optional<Conflict> conflict = commit.commit(done);
    Set<RewriteFileGroup> conflicting = conflict.map(Conflict::groups).orElse(Set.of());
    Stream<RewriteFileGroup> committed = done.stream().filter(group -> !conflicting.contains(group));
    return new Executed(
        ImmutableRewriteDataFiles.Result.builder().rewriteResults(committed.map(RewriteFileGroup::asResult).toList()).build(), conflict);
  }

  /** File groups committed as they are finished: one that fails leaves the others alone. */
  private Executed partially(FileGroupPool groups, RewriteOptions.PartialProgress progress) throws InterruptedException {
    PartialCommits commits = new PartialCommits(commit, progress.groupsPerCommit(groups.size()));
    try {
      groups.run(commits::add);
      commits.finish();
    } catch (Throwable e) {
      commits.abort();
      throw stopped(e, account(commits, groups.size()));
    }
    check(commits, groups, progress.maxFailedCommits());
    RewriteDataFiles.Result result =
        ImmutableRewriteDataFiles.Result.builder()
            .rewriteResults(commits.committed.stream().map(RewriteFileGroup::asResult).toList())
            .addAllRewriteFailures(groups.failures().keySet().stream().map(group -> failure(group.info(), group.files().size())).toList())
            .addAllRewriteFailures(commits.notCommitted.stream().map(group -> failure(group.info(), group.inputFileNum())).toList())
            .build();
    return new Executed(result, commits.conflicts.stream().reduce(Conflict::and));
  }

  static RewriteDataFiles.FileGroupFailureResult failure(RewriteDataFiles.FileGroupInfo info, int files) {
    return ImmutableRewriteDataFiles.FileGroupFailureResult.builder().info(info).dataFilesCount(files).build();
  }

  /** Fails where a result would hide what became of the commits. */
  private void check(PartialCommits commits, FileGroupPool groups, int maxFailedCommits) {
    String account = account(commits, groups.size());
    List<RuntimeException> unknown = commits.unknown;
    if (!unknown.isEmpty()) {
      throw new UnknownCommitException(
          String.format(
              Locale.ROOT,
              "Cannot tell whether all of the rewrite of %s was committed, because the catalog gave no clear answer to %d"
                  + " commits: %s. %s Look at the table's snapshots, run the rewrite again, then run remove_orphan_files.",
              table.name(), unknown.size(), Failures.rootMessage(unknown.get(0)), account),
          unknown.get(0));
    }
    int failed = commits.failures.size();
    if (commits.committed.isEmpty() && commits.conflicts.isEmpty() && failed + groups.failures().size() > 0) {
      Throwable first = failed > 0 ? commits.failures.get(0) : groups.failures().values().iterator().next();
      String why = failed > 0 ? first.getMessage() : Failures.rootMessage(first);
      throw new RuntimeException(
          "Cannot complete the rewrite of %s, because no file group could be rewritten: %s. %s"
              .formatted(table.name(), why, account),
          first);
    }
    if (failed > maxFailedCommits) {
      throw new RuntimeException(
          String.format(
              Locale.ROOT,
              "Cannot complete the rewrite of %s, because %s is true but %d rewrite commits failed. This is more than the"
                  + " maximum allowed failures of %d. The log has the causes; the other commits remain. %s",
              table.name(), RewriteDataFiles.PARTIAL_PROGRESS_ENABLED, failed, maxFailedCommits, account));
    }
  }

  /** What became of the file groups of a rewrite with partial progress. */
  private static String account(PartialCommits commits, int groups) {
    String known =
        String.format(
            Locale.ROOT, "%d of %d file groups were committed in %d commits", commits.committed.size(), groups, commits.succeeded);
    return commits.unknown.isEmpty()
        ? known + "; the new files of the others were deleted."
        : known + " for certain; no file of a commit in doubt was deleted.";
  }

  /** What to throw when work on file groups has stopped. */
  private RuntimeException stopped(Throwable failure, String outcome) throws InterruptedException {
    if (failure instanceof InterruptedException) {
      InterruptedException interrupted =
          new InterruptedException(
              "Cannot complete the rewrite of %s, because it was interrupted. %s".formatted(table.name(), outcome));
      interrupted.initCause(failure);
      throw interrupted;
    }
    return new RuntimeException(
        "Cannot complete the rewrite of %s, because a file group failed: %s. %s"
            .formatted(table.name(), Failures.rootMessage(failure), outcome),
        failure);
  }

  private RewriteDataFiles.Result withoutDanglingDeletes(RewriteDataFiles.Result result, RemoveDanglingDeleteFiles removal) {
    int count = 0;
    try {
      for (Object ignored : removal.execute().removedDeleteFiles()) {
        count++;
      }
    } catch (RuntimeException e) {
      throw new RuntimeException(
          String.format(
              Locale.ROOT,
              "Cannot remove dangling deletes of %s, because %s. The rewrite itself was committed: %d data files for %d.",
              table.name(), Failures.rootMessage(e), result.addedDataFilesCount(), result.rewrittenDataFilesCount()),
          e);
    }
    return ImmutableRewriteDataFiles.Result.builder()
        .from(result)
        .removedDeleteFilesCount(result.removedDeleteFilesCount() + count)
        .build();
  }
}
