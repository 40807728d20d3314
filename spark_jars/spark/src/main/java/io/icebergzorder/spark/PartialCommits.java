package io.icebergzorder.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Commits file groups in batches as they are finished, and keeps account of what became of each batch. */
final class PartialCommits {
  private static final Logger LOG = LoggerFactory.getLogger(PartialCommits.class);

  private final RewriteCommit commit;
  private final int groupsPerCommit;
  private final List<RewriteFileGroup> pending = new ArrayList<>();
  private final List<RewriteFileGroup> committed = new ArrayList<>();
  private final List<RuntimeException> failures = new ArrayList<>();
  private final List<RuntimeException> unknown = new ArrayList<>();
  private int succeeded;

  PartialCommits(RewriteCommit commit, int groupsPerCommit) {
    this.commit = commit;
    this.groupsPerCommit = groupsPerCommit;
  }

  /** Takes a file group over, and commits a batch if that is full. Commits at the same time would make each other try again. */
  synchronized void offer(RewriteFileGroup group) {
    pending.add(group);
    if (pending.size() == groupsPerCommit) {
      commitPending();
    }
  }

  /** Commits what is left. */
  synchronized void finish() {
    if (!pending.isEmpty()) {
      commitPending();
    }
  }

  /** Deletes the new files of what is left. */
  synchronized void abort() {
    commit.abort(pending);
    pending.clear();
  }

  private void commitPending() {
    List<RewriteFileGroup> batch = List.copyOf(pending);
    pending.clear();
    try {
      commit.commit(batch);
      committed.addAll(batch);
      succeeded++;
    } catch (UnknownCommitException e) {
      LOG.error("Cannot tell whether {} rewritten file groups were committed; going on with the others", batch.size(), e);
      unknown.add(e);
    } catch (RuntimeException e) {
      LOG.error("Cannot commit {} rewritten file groups; going on with the others", batch.size(), e);
      failures.add(e);
    }
  }

  /** The file groups that were committed for certain. */
  synchronized List<RewriteFileGroup> committed() {
    return List.copyOf(committed);
  }

  /** How many commits that took. */
  synchronized int succeeded() {
    return succeeded;
  }

  /** Why commits failed, one failure a commit. */
  synchronized List<RuntimeException> failures() {
    return List.copyOf(failures);
  }

  /** Why nobody knows whether other commits failed, one failure a commit. */
  synchronized List<RuntimeException> unknown() {
    return List.copyOf(unknown);
  }
}
