package io.icebergzorder.spark.commit;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Commits file groups in batches as they are finished, and keeps account of what became of each batch. A thread of its
 * own commits, one batch after the other, so that those that rewrite go on while the catalog is slow.
 */
public final class PartialCommits {
  private static final Logger LOG = LoggerFactory.getLogger(PartialCommits.class);

  private final RewriteCommit commit;
  private final int groupsPerCommit;
  private final List<RewriteFileGroup> pending = new ArrayList<>();
  private final List<RewriteFileGroup> committed = new ArrayList<>();
  private final List<RewriteFileGroup> lost = new ArrayList<>();
  private final List<Throwable> failures = new ArrayList<>();
  private final List<RuntimeException> unknown = new ArrayList<>();
  private final ExecutorService committer = Executors.newSingleThreadExecutor();
  private CompletableFuture<Void> last = CompletableFuture.completedFuture(null);
  private int succeeded;

  public PartialCommits(RewriteCommit commit, int groupsPerCommit) {
    this.commit = commit;
    this.groupsPerCommit = groupsPerCommit;
  }

  /** Takes a file group over, and has a batch committed if that is full. */
  public synchronized void offer(RewriteFileGroup group) {
    pending.add(group);
    if (pending.size() == groupsPerCommit) {
      commitPending();
    }
  }

  /** Has what is left committed, and waits for all commits. */
  public void finish() {
    synchronized (this) {
      if (!pending.isEmpty()) {
        commitPending();
      }
    }
    await();
  }

  /** Waits for all commits, and deletes the new files of what is left. */
  public void abort() {
    await();
    commit.abort(pending);
    pending.clear();
  }

  private void await() {
    committer.shutdown();
    last.join();
  }

  private void commitPending() {
    List<RewriteFileGroup> batch = List.copyOf(pending);
    last = CompletableFuture.runAsync(() -> commit(batch), committer);
    pending.clear();
  }

  private void commit(List<RewriteFileGroup> batch) {
    try {
      commit.commit(batch);
      committed.addAll(batch);
      succeeded++;
    } catch (UnknownCommitException e) {
      LOG.error("Cannot tell whether {} rewritten file groups were committed; going on with the others", batch.size(), e);
      unknown.add(e);
    } catch (Throwable e) {
      LOG.error("Cannot commit {} rewritten file groups; going on with the others", batch.size(), e);
      lost.addAll(batch);
      failures.add(e);
    }
  }

  /** The file groups that were committed for certain; like all that follows, to be asked after {@link #finish} or {@link #abort}. */
  public List<RewriteFileGroup> committed() {
    return List.copyOf(committed);
  }

  /** The file groups whose commits failed for certain. */
  public List<RewriteFileGroup> lost() {
    return List.copyOf(lost);
  }

  /** How many commits the others took. */
  public int succeeded() {
    return succeeded;
  }

  /** Why commits failed, one failure a commit. */
  public List<Throwable> failures() {
    return List.copyOf(failures);
  }

  /** Why nobody knows whether other commits failed, one failure a commit. */
  public List<RuntimeException> unknown() {
    return List.copyOf(unknown);
  }
}
