package io.icebergzorder.spark.run;

import io.icebergzorder.spark.commit.RewriteCommit;
import io.icebergzorder.spark.commit.UnknownCommitException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Commits file groups in batches, in a thread of its own, so that others are rewritten while the catalog is slow. */
final class PartialCommits {
  private static final Logger LOG = LoggerFactory.getLogger(PartialCommits.class);

  private final RewriteCommit commit;
  private final int groupsPerCommit;
  private final List<RewriteFileGroup> pending = new ArrayList<>();
  private final ExecutorService committer = Executors.newSingleThreadExecutor();
  private CompletableFuture<Void> last = CompletableFuture.completedFuture(null);

  // What became of file groups, to be looked at after finish or abort: those committed for certain, in how many commits; those that
  // conflict with other operations; those whose commits failed for certain, with one failure a commit; and one failure for each commit in
  // doubt.
  final List<RewriteFileGroup> committed = new ArrayList<>();
  final List<RewriteCommit.Conflict> conflicts = new ArrayList<>();
  final List<RewriteFileGroup> notCommitted = new ArrayList<>();
  final List<Throwable> failures = new ArrayList<>();
  final List<RuntimeException> unknown = new ArrayList<>();
  int succeeded;

  PartialCommits(RewriteCommit commit, int groupsPerCommit) {
    this.commit = commit;
    this.groupsPerCommit = groupsPerCommit;
  }

  /** Takes a file group over, and has a batch committed if that is full. */
  synchronized void add(RewriteFileGroup group) {
    pending.add(group);
    if (pending.size() == groupsPerCommit) {
      commitPending();
    }
  }

  /** Has what is left committed, and waits for all commits. */
  void finish() {
    synchronized (this) {
      if (!pending.isEmpty()) {
        commitPending();
      }
    }
    await();
  }

  /** Waits for all commits, and deletes the new files of what is left. */
  void abort() {
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
      Optional<RewriteCommit.Conflict> conflict = commit.commit(batch);
      Set<RewriteFileGroup> conflicting = conflict.map(RewriteCommit.Conflict::groups).orElse(Set.of());
      committed.addAll(batch.stream().filter(group -> !conflicting.contains(group)).toList());
      succeeded += conflicting.size() < batch.size() ? 1 : 0;
      conflict.ifPresent(conflicts::add);
    } catch (UnknownCommitException e) {
      LOG.error("Cannot tell whether {} rewritten file groups were committed; going on with the others", batch.size(), e);
      unknown.add(e);
    } catch (Throwable e) {
      LOG.error("Cannot commit {} rewritten file groups; going on with the others", batch.size(), e);
      notCommitted.addAll(batch);
      failures.add(e);
    }
  }
}
