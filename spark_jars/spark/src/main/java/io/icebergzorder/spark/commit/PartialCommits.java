package io.icebergzorder.spark.commit;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Commits file groups in batches as they are finished, and keeps account of what became of each batch. */
public final class PartialCommits {
  private static final Logger LOG = LoggerFactory.getLogger(PartialCommits.class);

  private final RewriteCommit commit;
  private final int groupsPerCommit;
  private final List<RewriteFileGroup> pending = new ArrayList<>();
  private final List<RewriteFileGroup> committed = new ArrayList<>();
  private final List<RuntimeException> failures = new ArrayList<>();
  private final List<RuntimeException> unknown = new ArrayList<>();
  private int succeeded;

  public PartialCommits(RewriteCommit commit, int groupsPerCommit) {
    this.commit = commit;
    this.groupsPerCommit = groupsPerCommit;
  }

  /** Takes a file group over, and commits a batch if that is full. Commits at the same time would make each other try again. */
  public synchronized void offer(RewriteFileGroup group) {
    pending.add(group);
    if (pending.size() == groupsPerCommit) {
      commitPending();
    }
  }

  /** Commits what is left. */
  public synchronized void finish() {
    if (!pending.isEmpty()) {
      commitPending();
    }
  }

  /** Deletes the new files of what is left. */
  public synchronized void abort() {
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
  public synchronized List<RewriteFileGroup> committed() {
    return List.copyOf(committed);
  }

  /** How many commits that took. */
  public synchronized int succeeded() {
    return succeeded;
  }

  /** Why commits failed, one failure a commit. */
  public synchronized List<RuntimeException> failures() {
    return List.copyOf(failures);
  }

  /** Why nobody knows whether other commits failed, one failure a commit. */
  public synchronized List<RuntimeException> unknown() {
    return List.copyOf(unknown);
  }
}
