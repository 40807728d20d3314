package io.icebergzorder.spark.commit;

import io.icebergzorder.core.select.UnchangedSince;
import io.icebergzorder.spark.commit.DeleteTranslation.Refusal;
import io.icebergzorder.spark.commit.DeleteTranslation.Translated;
import io.icebergzorder.spark.internals.Failures;
import io.icebergzorder.spark.internals.RewriteSession;
import io.icebergzorder.spark.internals.SupportedVersions;
import io.icebergzorder.spark.plan.TablePlan;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.RewriteFiles;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces rewritten data files by new ones, through Iceberg's commit manager. If that finds that others have deleted rows meanwhile, these
 * are deleted from the new files in the same snapshot.
 *
 * <p>A commit has one of four outcomes: done; done without the file groups that conflict with another operation, whose new files are
 * deleted; failed, and then all new files are deleted; or unknown, and then none is deleted, because they may be the table's.
 */
public final class RewriteCommit {
  private static final Logger LOG = LoggerFactory.getLogger(RewriteCommit.class);
  private static final String TRANSLATED_DELETES = "zorder.translated-deletes";
  private static final String TRANSLATED_DELETE_FILES = "zorder.translated-delete-files";
  /** Each after the first looks up only what was deleted since the one before. */
  private static final int MOST_TRANSLATIONS = 10;
  private static final double NANOS = 1e9;

  private final Table table;
  private final String branch;
  private final Snapshot start;
  private final int formatVersion;
  private final boolean useStartingSequenceNumber;
  private final Function<Collection<RewriteFileGroup>, Map<String, String>> summary;
  private final Optional<DeleteTranslation> translation;
  private boolean hasFailed;
  private CommitAttempt attempt;
  private TranslatedDeletes translated = TranslatedDeletes.NONE;

  /** What was translated for committed file groups. */
  public record TranslatedDeletes(long rows, int files, double seconds) {
    static final TranslatedDeletes NONE = new TranslatedDeletes(0, 0, 0);

    TranslatedDeletes and(TranslatedDeletes other) {
      return new TranslatedDeletes(rows + other.rows, files + other.files, seconds + other.seconds);
    }

    /** One sentence; empty if nothing was translated. */
    public Optional<String> message() {
      return rows == 0
          ? Optional.empty()
          : Optional.of(
              String.format(
                  Locale.ROOT,
                  "Other writers deleted %,d row%s meanwhile: they are deleted from the new files by %,d delete file%s, which took %.1f seconds.",
                  rows, rows == 1 ? "" : "s", files, files == 1 ? "" : "s", seconds));
    }
  }

  /**
   * File groups whose new files were deleted, because another operation has changed their files.
   *
   * @param commits the commits that they were a part of
   * @param why the first conflict
   */
  public record Conflict(Set<RewriteFileGroup> groups, int commits, RuntimeException why) {
    public Conflict and(Conflict other) {
      Set<RewriteFileGroup> both = Stream.concat(groups.stream(), other.groups.stream()).collect(Collectors.toSet());
      return new Conflict(both, commits + other.commits, why);
    }
  }

  public RewriteCommit(
      RewriteSession session,
      Table table,
      TablePlan plan,
      Function<Collection<RewriteFileGroup>, Map<String, String>> summary) {
    this.table = table;
    this.branch = plan.start().branch();
    this.start = table.snapshot(plan.start().snapshotId());
    if (this.start == null) {
      throw new IllegalStateException(
          "Cannot rewrite %s, because its starting snapshot %d has expired. Run it again."
              .formatted(table.name(), plan.start().snapshotId()));
    }
    this.formatVersion = TableUtil.formatVersion(table);
    this.useStartingSequenceNumber = plan.options().useStartingSequenceNumber();
    this.summary = summary;
    this.translation = plan.options().resolvesConflicts() ? Optional.of(new DeleteTranslation(session, table, plan)) : Optional.empty();
  }

  /** What was translated so far. */
  public synchronized TranslatedDeletes translated() {
    return translated;
  }

  /**
   * Commits file groups, with rows that others have deleted meanwhile deleted from the new files. If that cannot be done, the new files of
   * the groups concerned are deleted, and the others are committed.
   *
   * @return the groups that are not committed; empty if all are
   * @throws RuntimeException if none is committed, for another reason, because {@code on-conflict} is {@code fail}, or because no group is
   *     known to be concerned; or if the outcome is unknown
   */
  public Optional<Conflict> commit(Collection<RewriteFileGroup> groups) {
    attempt = new CommitAttempt(table, start, check(groups, start, groups.stream().flatMap(RewriteCommit::deletes)));
    try {
      Map<String, String> properties = new HashMap<>(summary.apply(groups));
      if (hasFailed) {
        properties.remove(UnchangedSince.SETTLED_FROM);
      }
      boolean hadFailed = hasFailed;
      hasFailed = true;
      try {
        manager(attempt.table(), properties).commitFileGroups(new HashSet<>(groups));
      } catch (ValidationException e) {
        translateAndCommit(groups, properties, e);
      }
      hasFailed = hadFailed;
      return Optional.empty();
    } catch (ValidationException e) {
      return Optional.of(afterConflict(groups, e));
    } catch (CommitFailedException e) {
      abort(groups);
      throw failure(table.name(), e, 0);
    } catch (Throwable e) {
      // Iceberg marks the failures after which it is certain that nothing was committed.
      if (e instanceof CleanableFailure && e instanceof RuntimeException failure) {
        abort(groups);
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

  /** Deletes the new files of the groups that conflict, and commits the others; fails if nobody knows which these are. */
  private Conflict afterConflict(Collection<RewriteFileGroup> groups, ValidationException why) {
    Set<RewriteFileGroup> conflicting =
        why instanceof Untranslated refused && !refused.groups.isEmpty()
            ? refused.groups
            : translation.map(each -> changed(each, groups)).orElse(Set.of());
    if (conflicting.isEmpty()) {
      abort(groups);
      throw failure(table.name(), why, 0);
    }
    LOG.warn("{} of {} file groups of {} conflict with another operation: {}", conflicting.size(), groups.size(), table.name(), why.getMessage());
    abort(conflicting);
    Set<RewriteFileGroup> others = new HashSet<>(groups);
    others.removeAll(conflicting);
    Optional<Conflict> more = others.isEmpty() ? Optional.empty() : commit(others);
    Set<RewriteFileGroup> all = new HashSet<>(conflicting);
    more.map(Conflict::groups).ifPresent(all::addAll);
    return new Conflict(all, 1, why);
  }

  /** The failure after a conflict, where so many other file groups are committed. */
  public static RuntimeException failure(String table, RuntimeException why, int others) {
    String outcome =
        others > 0
            ? String.format(Locale.ROOT, "The new files were deleted; %,d other file groups were committed. Run the rewrite again.", others)
            : ("The new files were deleted, and the table is as that operation left it. Run the rewrite again. To lose less work"
                    + " to conflicts, narrow it with where, or set %s to true, which commits file groups independently.")
                .formatted(RewriteDataFiles.PARTIAL_PROGRESS_ENABLED);
    return new RuntimeException(
        "Cannot commit rewrite of %s, because it conflicted with another operation on the same files: %s. %s"
            .formatted(table, why.getMessage(), outcome),
        why);
  }

  private Set<RewriteFileGroup> changed(DeleteTranslation of, Collection<RewriteFileGroup> groups) {
    try {
      return of.changed(groups);
    } catch (RuntimeException e) {
      LOG.warn("Cannot tell which file groups of {} conflict with another operation", table.name(), e);
      return Set.of();
    }
  }

  private static Stream<DeleteFile> deletes(RewriteFileGroup group) {
    return group.fileScanTasks().stream().flatMap(task -> task.deletes().stream());
  }

  /** Translates what others have deleted since the start, and commits on top of that; again if others were faster. */
  private void translateAndCommit(Collection<RewriteFileGroup> groups, Map<String, String> properties, ValidationException conflict) {
    ValidationException last = conflict;
    Optional<Translated> before = Optional.empty();
    double seconds = 0;
    int count = 0;
    for (; translation.isPresent() && !attempt.isRefused() && count < MOST_TRANSLATIONS; count++) {
      long since = System.nanoTime();
      Translated deletes = translate(groups, before, last);
      before = Optional.of(deletes);
      seconds += (System.nanoTime() - since) / NANOS;
      TranslatedDeletes found = new TranslatedDeletes(deletes.rows(), deletes.dead().size(), seconds);
      try {
        commit(groups, properties, deletes);
        add(found);
        found.message().ifPresent(message -> LOG.info("{}: {}", table.name(), message));
        return;
      } catch (Throwable e) {
        if (!attempt.mayBeCommitted()) {
          DeleteFileWriter.delete(table, deletes.added());
        }
        if (!(e instanceof ValidationException faster)) {
          throw e;
        }
        last = faster;
      }
    }
    throw count < MOST_TRANSLATIONS ? last : new ValidationException(last, "others deleted rows again after %d translations of deletes (%s)", count, last.getMessage());
  }

  private synchronized void add(TranslatedDeletes found) {
    translated = translated.and(found);
  }

  /** A conflict with deletes that cannot be translated, by the file groups that are known to be concerned. */
  private static final class Untranslated extends ValidationException {
    private static final long serialVersionUID = 1L;

    private final transient Set<RewriteFileGroup> groups;

    Untranslated(ValidationException conflict, String why, Exception cause, Set<RewriteFileGroup> groups) {
      // Iceberg's own message may name all files.
      super(conflict, "its deletes cannot be translated, because %s (%s)", why, conflict.getMessage());
      this.groups = groups;
      addSuppressed(cause);
    }
  }

  private Translated translate(Collection<RewriteFileGroup> groups, Optional<Translated> before, ValidationException conflict) {
    List<RewriteFileGroup> numbered = List.copyOf(groups);
    try {
      return translation.orElseThrow().translate(numbered, before);
    } catch (Exception e) {
      // Spark throws InterruptedException without declaring it.
      if (e instanceof InterruptedException) {
        Thread.currentThread().interrupt();
      }
      if (e instanceof InterruptedException || Failures.isCancellation(e)) {
        // Not a conflict, after which file groups would be written again.
        throw new IllegalStateException("the translation of deletes was cancelled", e);
      }
      String why = e instanceof Refusal ? e.getMessage() : Failures.rootMessage(e);
      Set<Integer> concerned = e instanceof Refusal refusal ? refusal.groups() : Set.of();
      throw new Untranslated(conflict, why, e, concerned.stream().map(numbered::get).collect(Collectors.toSet()));
    }
  }

  private void commit(Collection<RewriteFileGroup> groups, Map<String, String> properties, Translated deletes) {
    attempt = new CommitAttempt(table, start, check(groups, deletes.head(), deletes.applied().stream()));
    RewriteFiles rewrite =
        attempt.table().newRewrite().toBranch(branch).validateFromSnapshot(deletes.head().snapshotId()).dataSequenceNumber(start.sequenceNumber());
    for (RewriteFileGroup group : groups) {
      group.rewrittenFiles().forEach(rewrite::deleteFile);
      group.addedFiles().forEach(rewrite::addFile);
    }
    deletes.removed().forEach(rewrite::deleteFile);
    deletes.added().forEach(rewrite::addFile);
    properties.forEach(rewrite::set);
    if (deletes.rows() > 0) {
      rewrite.set(TRANSLATED_DELETES, String.valueOf(deletes.rows()));
      rewrite.set(TRANSLATED_DELETE_FILES, String.valueOf(deletes.dead().size()));
    }
    rewrite.commit();
  }

  /** Looks at a snapshot that is to be committed; the applied deletes are those of the rewritten files when a snapshot was the head. */
  private BiConsumer<TableMetadata, TableMetadata> check(Collection<RewriteFileGroup> groups, Snapshot since, Stream<DeleteFile> applied) {
    // Without the starting sequence number no later delete reaches the new files, and Iceberg refuses those that reach the old.
    BiConsumer<TableMetadata, TableMetadata> check = new RemovedDeleteCheck(table, branch, since, applied).andThen(this::checkFormatVersion);
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
