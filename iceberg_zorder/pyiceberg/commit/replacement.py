"""Commit replaced data files and changed properties, in one or several snapshots, safe against concurrent writers.

PyIceberg's own overwrite does not fit: it commits an ``overwrite``, fails on concurrent appends, and revives deleted
rows. A commit has one of three outcomes: done; failed, and the new files are deleted; or unknown, and nothing is
deleted, because the table may refer to the new files.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    ForbiddenError,
    NoSuchTableError,
    UnauthorizedError,
)
from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Snapshot

from iceberg_zorder.errors import (
    InvalidInputError,
    RewriteConflictError,
    RewriteFailedError,
    TakenOverError,
    UnknownOutcomeError,
)
from iceberg_zorder.pyiceberg.catalog import (
    adopt,
    commit_retries,
    is_not_committed,
    is_transient,
    load,
    refresh,
    retrying,
    why,
)
from iceberg_zorder.pyiceberg.commit.head import Head, HeadReader, dangling_deletes, released_deletes, unread_head
from iceberg_zorder.pyiceberg.commit.snapshot import (
    ConflictError,
    NewSnapshot,
    SnapshotWriter,
    check_history,
    check_lease,
    check_new_files,
    is_overtaken,
    missing_deletes,
    missing_files,
    new_deletes,
    partition_summary_limit,
)
from iceberg_zorder.pyiceberg.compat import (
    ROW_IDS_SINCE,
    avro_codec,
    first_row_id,
    submit,
    writing_metadata,
)
from iceberg_zorder.pyiceberg.files import FileGroup, GroupResult, delete_files, delete_key, display_name
from iceberg_zorder.rewrite.options import RewriteOptions
from iceberg_zorder.rewrite.snapshot_keys import TRANSLATED_DELETE_FILES, TRANSLATED_DELETES

logger = logging.getLogger("iceberg_zorder")

REFUSALS = (BadRequestError, ForbiddenError, InvalidInputError, NoSuchTableError, UnauthorizedError)
"""Errors of catalogs that did not try to commit, and of requests that were not sent."""
_MOST_TRANSLATIONS = 10
"""Translations in a row; each after the first looks up only what died since the one before."""


class TableCommit(ABC):
    """One commit with its retries; each attempt starts from the table's newest metadata.

    An attempt without a clear answer can be repeated safely: all attempts share a snapshot id, and each requires the
    head that it was made for, so at most one can succeed, and the table shows which.
    """

    what: ClassVar[str]
    """The commit's name in messages."""
    conflict: ClassVar[str]
    """The message of a conflict, with places for the table's ``name`` and the reason ``why``."""
    after_unknown: ClassVar[str] = (
        "Look at the table's latest snapshot: if it is not this rewrite, run it again, then run remove_orphan_files."
    )
    """What to do if the outcome is unknown."""
    operation: ClassVar[Operation] = Operation.REPLACE
    """The operation of its snapshot."""

    def __init__(
        self, table: Table, branch: str, snapshot_properties: Mapping[str, str], added: Sequence[DataFile] = ()
    ) -> None:
        self._table = table
        self._name = display_name(table)
        self._uuid = table.metadata.table_uuid
        self._branch = branch
        self._added = tuple(added)
        self._writer = SnapshotWriter(table, self._added, snapshot_properties, self.operation)
        self._attempts: dict[str, NewSnapshot] = {}
        self.free_attempts = 0
        """Attempts that do not count as retries, because they came nearer to a commit."""
        # Snapshots of requests that may still succeed.
        self._pending: list[NewSnapshot] = []
        # The first unclear answer of the catalog.
        self._unclear: Exception | None = None

    @abstractmethod
    def snapshot_on(self, head: Snapshot) -> NewSnapshot | None:
        """Write a snapshot on top of a branch's head; None if there is nothing to commit.

        Raises ConflictError if the commit no longer fits the head.
        """

    def run(self) -> Snapshot | None:
        """Commit with retries; return the snapshot, or None if there is nothing to commit.

        A failure deletes all written files, including the added data files; an unknown outcome deletes nothing.
        """
        try:
            retries = commit_retries(self._table.metadata.properties, lambda: self.free_attempts)
            return retries(self._attempt)
        except UnknownOutcomeError:  # the new files are in the table
            raise
        except BaseException as error:
            if self._pending:
                raise UnknownOutcomeError(
                    f"Cannot tell whether {self.what} of {self._name} was committed, because the catalog gave no clear "
                    f"answer. No file was deleted. {self.after_unknown}"
                ) from (self._unclear or error)
            delete_files(self._table, [*self._writer.written, *(file.file_path for file in self._added)])
            if isinstance(error, ConflictError | CommitFailedException):
                raise RewriteConflictError(self.conflict.format(name=self._name, why=error)) from error
            raise

    def _attempt(self) -> Snapshot | None:
        self._load()
        # A refused attempt may have succeeded later.
        landed = self._landed()
        if landed is None:
            new = self._snapshot_on_head()
            if new is None:
                return None
            landed = new.snapshot.manifest_list
            self._attempts[landed] = new
            self._pending.append(new)
            try:
                submit(self._table, new.snapshot, self._branch)
            except Exception as error:
                landed = self._after_failure(new, error)
        new = self._attempts[landed]
        delete_files(self._table, set(self._writer.written) - new.files)
        return new.snapshot

    def _snapshot_on_head(self) -> NewSnapshot | None:
        metadata = self._table.metadata
        check_lease(self._name, metadata, self._writer.write_id)
        ref = metadata.refs.get(self._branch)
        head = metadata.snapshot_by_id(ref.snapshot_id) if ref else None
        parent = head.snapshot_id if head else None
        again = (new for new in self._pending if new.snapshot.parent_snapshot_id == parent)
        return next(again, None) or (self.snapshot_on(head) if head else self.first_snapshot())

    def first_snapshot(self) -> NewSnapshot:
        """Write the first snapshot of a branch; raises ConflictError if the commit needs others before it."""
        raise ConflictError(f"branch {self._branch} was dropped")

    def _after_failure(self, new: NewSnapshot, error: Exception) -> str:
        """Determine the outcome of an attempt that the catalog did not confirm; return the accepted manifest list."""
        is_refused = isinstance(error, REFUSALS)
        try:
            # Even a refusal may answer the repetition of a request that had succeeded.
            self._load()
        except Exception:
            if not is_refused:
                self._unclear = self._unclear or error
                raise error from None
        if landed := self._landed():
            return landed
        is_pending = new in self._pending
        if not is_pending and not is_refused:
            raise CommitFailedException(str(error)) from error
        if not is_refused and not is_not_committed(error):
            self._unclear = self._unclear or error
        elif is_pending:
            # An earlier request for the same snapshot may still be in progress, so it stays pending.
            self._pending.remove(new)
        raise error

    def _landed(self) -> str | None:
        """Return the manifest list of the attempt that succeeded; None without one."""
        snapshot = self._table.metadata.snapshot_by_id(self._writer.snapshot_id)
        return snapshot.manifest_list if snapshot else None

    def _load(self) -> None:
        fresh = load(self._table)
        if fresh.metadata.table_uuid != self._uuid:
            raise ConflictError("the table was dropped and another one has its name")
        adopt(self._table, fresh)
        self._pending = [new for new in self._pending if not is_overtaken(new.snapshot, fresh.metadata)]


class CommitOutcome:
    """Tracks whether a failed commit may have succeeded."""

    is_unclear = False

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Record a commit's failure, and raise it."""
        try:
            yield
        except Exception as error:
            self.is_unclear |= not isinstance(error, REFUSALS) and not is_not_committed(error)
            raise


def change_properties(table: Table, properties: Mapping[str, str], removed: Collection[str] = ()) -> None:
    """Set and remove properties, with retries after conflicts and failures.

    Properties that are already as wanted are not committed, so a commit with an unknown outcome can be repeated.
    """
    outcome = CommitOutcome()

    def missing() -> tuple[dict[str, str], list[str]]:
        refresh(table)
        has = table.properties
        unset = {name: value for name, value in properties.items() if has.get(name) != value}
        return unset, [name for name in removed if name in has]

    def attempt() -> None:
        unset, surplus = missing()
        if unset or surplus:
            with outcome.noted():
                _commit(table, unset, surplus)

    try:
        commit_retries(table.metadata.properties)(attempt)
    except InvalidInputError:
        raise
    except Exception as error:
        settings = ", ".join(f"{name} = '{value}'" for name, value in properties.items())
        if outcome.is_unclear:
            with suppress(Exception):
                if not any(missing()):
                    return
            raise UnknownOutcomeError(
                f"Cannot tell whether {settings} was set on {display_name(table)}, because the catalog gave no clear "
                "answer. Nothing else was done: check the table's properties."
            ) from error
        kind = RewriteConflictError if isinstance(error, CommitFailedException) else RewriteFailedError
        reason = f"because {why(error).rstrip('.')}. Nothing else was done."
        raise kind(f"Cannot set {settings} on {display_name(table)}, {reason}") from error


def _commit(table: Table, unset: dict[str, str], surplus: list[str]) -> None:
    with writing_metadata(table), table.transaction() as transaction:
        if unset:
            transaction.set_properties(unset)
        if surplus:
            transaction.remove_properties(*surplus)


@dataclass(frozen=True)
class Replacement:
    """Data files of the starting snapshot to remove, and new files that hold their rows, of any partition spec."""

    removed: tuple[DataFile, ...]
    added: tuple[DataFile, ...]
    applied: frozenset[str] = frozenset()
    """Paths of the delete files that applied to the removed files."""


@dataclass(frozen=True, eq=False)
class TranslatedDeletes:
    """Delete files for rows of new files that are dead at a head, and the sorted positions of these rows by path."""

    files: Sequence[DataFile] = ()
    died: Mapping[str, npt.NDArray[np.int64] | None] = field(default_factory=dict)
    """The rows in the old files; None for all rows of a file."""
    dead: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    """The same rows in the new files."""


class DeleteTranslator(Protocol):
    """Translates deletes that others committed during a rewrite."""

    def translate(
        self, head: Head, gone: Collection[str], written: list[str], before: TranslatedDeletes
    ) -> TranslatedDeletes:
        """Write delete files for the rows of new files that are dead at the head; raises ConflictError.

        ``gone`` are the paths of old files that the head lacks. The paths of all files are appended to ``written``.
        ``before`` was found at an earlier head: only rows that died since are looked for.
        """


class ReplacementCommit(TableCommit):
    """Replaces data files in one snapshot, unless another operation changed their rows.

    Concurrent appends survive; with a ``translator``, concurrent deletes do, too. Retries follow the table's
    ``commit.retry.*`` properties. ``planned`` is the table's metadata at the plan, by whose schema the new files were
    written.
    """

    what = "the rewrite"
    conflict = (
        "Cannot commit rewrite of {name}, because it conflicted with another operation on the same files: {why}. The "
        "new files were deleted, and the table is as that operation left it. Run the rewrite again. To lose less work "
        "to conflicts, narrow it with where, or set partial-progress.enabled to true, which commits file groups "
        "independently."
    )

    def __init__(
        self,
        table: Table,
        replacement: Replacement,
        *,
        start: Snapshot,
        planned: TableMetadata | None = None,
        translator: DeleteTranslator | None = None,
        ours: Collection[int] = (),
        branch: str = "main",
        use_starting_sequence_number: bool = True,
        snapshot_properties: Mapping[str, str],
    ) -> None:
        super().__init__(table, branch, snapshot_properties, replacement.added)
        self._replacement = replacement
        self._start = start
        self._planned = planned or table.metadata
        self._translator = translator
        self._translated_state: object = None
        self._translated_deletes = TranslatedDeletes()
        self.translation_seconds = 0.0
        """The time that translations took, in all attempts."""
        self.gone: frozenset[str] = frozenset()
        """The paths of the removed files that others had removed when the last attempt began."""
        self._ours = (start.snapshot_id, *ours)
        self._number = (start.sequence_number or 0) if use_starting_sequence_number else None
        self._reader = HeadReader(replacement.removed, replacement.added)

    def snapshot_on(self, head: Snapshot) -> NewSnapshot:
        """Check the replacement against the branch's head, and write a snapshot on top of it."""
        metadata, added = self._table.metadata, self._replacement.added
        # Read first: it raises without deleting files if the new files are committed already.
        content = self._reader.read(head, self._table.io)
        check_history(metadata, head, self._ours, self._branch)
        if self._planned.format_version < ROW_IDS_SINCE <= metadata.format_version:
            raise ConflictError("since a change of the table's format version, rows have ids that the new files lack")
        if len(self._ours) == 1 and (named := self._named_meanwhile(content)):
            raise ConflictError(f"rows of data file {named}, from before format version 3, were given ids")
        self.gone = frozenset(gone := missing_files(content, self._replacement.removed, self._start))
        new = new_deletes(
            content,
            added,
            metadata.specs(),
            self._start,
            self._planned,
            use_starting_sequence_number=self._number is not None,
        )
        lost = missing_deletes(content, self._replacement.applied)
        conflict = self._conflict(gone, lost, new)
        check_new_files(self._name, self._table.io, added)
        # Appends, deletes elsewhere and refused commits leave the dead rows as they were.
        state = frozenset(map(delete_key, new)), frozenset(lost), self.gone
        if conflict and state != self._translated_state:
            self._translated_deletes = self._translated(content, conflict)
            self._translated_state = state
        deletes = self._translated_deletes.files if conflict else ()
        released = released_deletes(content, metadata.specs(), self._number if added else None)
        return self._writer.write(content, released, self._number, deletes)

    def _named_meanwhile(self, head: Head) -> str | None:
        """Return a removed file whose rows had no ids when they were read, and have some that the new files lack.

        This rewrite's own commits give ids to all files, as those of others do; what is left of it gives new ones.
        """
        named = {entry.data_file.file_path for entry in head.removed if first_row_id(entry.data_file) is not None}
        without = (file.file_path for file in self._replacement.removed if first_row_id(file) is None)
        return next((path for path in without if path in named), None)

    def _conflict(self, gone: Sequence[str], lost: Sequence[str], new: Sequence[DataFile]) -> ConflictError | None:
        """Return what others did to rows of the rewritten files; raises it if it cannot be translated."""
        by_equality = next((file for file in new if file.content != DataFileContent.POSITION_DELETES), None)
        if by_equality is not None:
            raise self._added_delete("equality", by_equality)
        if gone:
            more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
            return ConflictError(f"data file {gone[0]}{more} was removed")
        if lost:
            return ConflictError(f"delete file {lost[0]}, which applied to the rewritten files, was removed")
        return self._added_delete("position", new[0]) if new else None

    @staticmethod
    def _added_delete(kind: str, file: DataFile) -> ConflictError:
        return ConflictError(
            f"{kind} delete file {file.file_path} was added, which may delete rows of the rewritten files"
        )

    def _translated(self, head: Head, conflict: ConflictError) -> TranslatedDeletes:
        """Translate deletes of others; raises the conflict, with a reason, where that is not possible."""
        if self._translator is None:
            raise conflict
        metadata, planned = self._table.metadata, self._planned
        if metadata.format_version != planned.format_version:
            raise ConflictError(f"{conflict}, and the table's format version was changed")
        if metadata.current_schema_id != planned.current_schema_id:
            raise ConflictError(f"{conflict}, and the table's schema was changed")
        if self.free_attempts == _MOST_TRANSLATIONS:
            raise ConflictError(f"{conflict}, and {_MOST_TRANSLATIONS} translations came too late")
        since = time.monotonic()
        try:
            deletes = self._translator.translate(head, self.gone, self._writer.written, self._translated_deletes)
        except ConflictError as error:
            raise ConflictError(f"{conflict}, and it cannot be translated, because {error}") from error
        finally:
            self.translation_seconds += time.monotonic() - since
        self.free_attempts += bool(deletes.files)
        return deletes


def check_committable(table: Table) -> None:
    """Refuse a table whose properties prevent commits, before its files are read."""
    avro_codec(table.metadata)
    partition_summary_limit(table.metadata)
    retrying(table.metadata.properties, is_transient)


class AppendCommit(TableCommit):
    """Adds data files to a branch, whatever others commit meanwhile; branch main may have no snapshot yet."""

    what = "the append"
    conflict = "Cannot append to {name}, because {why}. The new files were deleted."
    after_unknown = (
        "Look at the table's latest snapshots: if none is this append, run it again, then run remove_orphan_files."
    )
    operation = Operation.APPEND

    def snapshot_on(self, head: Snapshot) -> NewSnapshot:
        """Write a snapshot on top of the branch's head."""
        if self._attempts:
            # An earlier attempt may have succeeded, although its snapshot is gone: this raises if its files are there.
            HeadReader((), self._added).read(head, self._table.io)
        return self._writer.write(unread_head(head, self._table.io), ())

    def first_snapshot(self) -> NewSnapshot:
        """Write the first snapshot of branch main."""
        return self._writer.write(Head(None, (), ()), ()) if self._branch == MAIN_BRANCH else super().first_snapshot()


class DanglingDeletesCommit(TableCommit):
    """Removes the delete files that apply to no data file of a branch, in a separate snapshot if there are any.

    Every attempt checks them again at the branch's head, so other commits do not conflict with it.
    """

    what = "the removal of dangling delete files"
    conflict = "Cannot remove dangling delete files of {name}, because {why}. Earlier commits remain."

    def __init__(self, table: Table, *, branch: str = "main", snapshot_properties: Mapping[str, str]) -> None:
        super().__init__(table, branch, snapshot_properties)
        self.removed = 0
        """The number of delete files that the snapshot removes."""

    def snapshot_on(self, head: Snapshot) -> NewSnapshot | None:
        """Find the dangling deletes of the branch's head, and write a snapshot without them."""
        content, dangling = dangling_deletes(head, self._table.io, self._table.metadata.specs())
        self.removed = len(dangling)
        return self._writer.write(content, dangling) if dangling else None


@dataclass(eq=False)
class CommitManager:
    """Commits batches of file groups to a branch, and counts commits and files, also for a rewrite that fails.

    The table object is up to date after every commit.
    """

    table: Table
    branch: str
    options: RewriteOptions
    rewritten_files: int = 0
    rewritten_bytes: int = 0
    added_files: int = 0
    removed_delete_files: int = 0
    translated_deletes: int = 0
    translated_delete_files: int = 0
    translation_seconds: float = 0.0
    failed_files: int = 0
    failure: Exception | None = None  # error of the last failed file group
    failed_commits: list[Exception] = field(default_factory=list)  # errors other than conflicts
    conflicting: list[FileGroup] = field(default_factory=list)  # file groups of the last attempt with conflicts
    conflicts: list[RewriteConflictError] = field(default_factory=list)  # their causes
    had_conflicts: bool = False  # whether any attempt had, also if a later one succeeded
    has_begun: bool = False  # whether new files may have been written
    waiting: int = 0  # file groups not started, because the caller stopped
    properties_set: list[str] = field(default_factory=list)  # the table's properties that the rewrite has set
    ours: list[int] = field(default_factory=list)  # the snapshots that were committed

    @property
    def name(self) -> str:
        """The table's name, for messages."""
        return display_name(self.table)

    @property
    def count(self) -> int:
        """Number of commits."""
        return len(self.ours)

    @property
    def has_failures(self) -> bool:
        """Whether a file group has failed, or one of the last attempt conflicts with another operation."""
        return bool(self.failed_files or self.conflicting)

    def forget_conflicts(self) -> None:
        """Forget the conflicts of the last attempt, because their file groups are planned again or are gone."""
        self.conflicting, self.conflicts = [], []

    def commit(
        self,
        planned: TableMetadata,
        start: Snapshot,
        results: Sequence[GroupResult],
        properties: Mapping[str, str],
        translator: DeleteTranslator | None = None,
    ) -> bool:
        """Commit a batch of file groups that were planned on ``start``; returns whether it succeeded."""
        # Sorted, so that the snapshot does not depend on which group finished first.
        results = sorted(results, key=lambda each: each.sampled.group.index)
        groups = [each.sampled.group for each in results]
        removed = tuple(task.data_file for group in groups for task in group.tasks)
        added = tuple(file for each in results for file in each.files)
        applied = frozenset(path for group in groups for task in group.tasks for path in task.delete_paths)
        commit = ReplacementCommit(
            self.table,
            Replacement(removed, added, applied),
            start=start,
            planned=planned,
            translator=translator,
            ours=self.ours,
            branch=self.branch,
            use_starting_sequence_number=self.options.use_starting_sequence_number,
            snapshot_properties=properties,
        )
        try:
            new = commit.run()
        except RewriteConflictError as error:
            self.conflicts.append(error)
            self.conflicting += groups
            self.had_conflicts = True
            return False
        except (TakenOverError, UnknownOutcomeError):
            raise
        except Exception as error:
            if not self.options.partial_progress:
                raise
            logger.error("A commit of %s failed, and its new files were deleted: %s", self.name, error, exc_info=error)
            self.failed_commits.append(error)
            self.failed_files += len(removed)
            return False
        assert new is not None  # noqa: S101
        self.ours.append(new.snapshot_id)
        there = [file for file in removed if file.file_path not in commit.gone]
        self.rewritten_files += len(there)
        self.added_files += len(added)
        self.rewritten_bytes += sum(file.file_size_in_bytes for file in there)
        if new.summary:
            self.removed_delete_files += int(new.summary.get("removed-delete-files", "0") or 0)
            self.translated_deletes += int(new.summary.get(TRANSLATED_DELETES, "0") or 0)
            self.translated_delete_files += int(new.summary.get(TRANSLATED_DELETE_FILES, "0") or 0)
            self.translation_seconds += commit.translation_seconds
        return True
