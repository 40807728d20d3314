"""Commit replaced data files and changed properties, in one or several snapshots, safe against concurrent writers.

PyIceberg's own overwrite does not fit: it commits an ``overwrite``, fails on concurrent appends, and revives deleted
rows. A commit has one of three outcomes: done; failed, and the new files are deleted; or unknown, and nothing is
deleted, because the table may refer to the new files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    ForbiddenError,
    NoSuchTableError,
    UnauthorizedError,
)
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import (
    InvalidInputError,
    RewriteConflictError,
    RewriteFailedError,
    TakenOverError,
    UnknownOutcomeError,
)
from iceberg_zorder.pyiceberg.catalog import (
    adopt,
    is_not_committed,
    is_transient,
    load,
    refresh,
    retry_commit,
    retrying,
    why,
)
from iceberg_zorder.pyiceberg.commit.head import HeadReader, dangling_deletes, released_deletes
from iceberg_zorder.pyiceberg.commit.snapshot import (
    ConflictError,
    NewSnapshot,
    SnapshotWriter,
    check_deletes,
    check_files,
    check_format,
    check_history,
    check_lease,
    check_new_files,
    is_overtaken,
    partition_summary_limit,
)
from iceberg_zorder.pyiceberg.compat import avro_codec, submit
from iceberg_zorder.pyiceberg.files import FileGroup, GroupResult, delete_files, display_name
from iceberg_zorder.rewrite.options import RewriteOptions

logger = logging.getLogger("iceberg_zorder")

REFUSALS = (BadRequestError, ForbiddenError, NoSuchTableError, UnauthorizedError)
"""Errors of catalogs that did not try to commit."""


class CommitAttempts:
    """One commit with its retries; each attempt starts from the table's newest metadata.

    An attempt without a clear answer can be repeated safely: all attempts share a snapshot id, and each requires the
    head that it was made for, so at most one can succeed, and the table shows which. ``prepare`` writes a snapshot on
    top of a head, or returns None if there is nothing to commit.
    """

    def __init__(
        self, table: Table, branch: str, writer: SnapshotWriter, prepare: Callable[[Snapshot], NewSnapshot | None]
    ) -> None:
        self._table = table
        self._uuid = table.metadata.table_uuid
        self._branch = branch
        self._writer = writer
        self._prepare = prepare
        self._attempts: dict[str, NewSnapshot] = {}
        # Snapshots of requests that may still succeed.
        self._pending: list[NewSnapshot] = []
        # The first unclear answer of the catalog.
        self._unclear: Exception | None = None

    def run(self, what: str, conflict: Callable[[Exception], str], added: Iterable[DataFile] = ()) -> Snapshot | None:
        """Commit with retries; return the snapshot, or None if there is nothing to commit.

        A failure deletes all written files, including ``added`` data files; an unknown outcome deletes nothing.
        ``what`` names the commit in messages, ``conflict`` returns the message of a conflict.
        """
        try:
            return retry_commit(self._table.metadata.properties, self._attempt)
        except UnknownOutcomeError:  # the new files are in the table
            raise
        except BaseException as error:
            if self._pending:
                raise UnknownOutcomeError(
                    f"Cannot tell whether {what} was committed, because the catalog gave no clear answer. No file was "
                    "deleted. Look at the table's latest snapshot: if it is not this rewrite, run it again, then run "
                    "remove_orphan_files."
                ) from (self._unclear or error)
            delete_files(self._table, [*self._writer.written, *(file.file_path for file in added)])
            if isinstance(error, ConflictError | CommitFailedException):
                raise RewriteConflictError(conflict(error)) from error
            raise

    def _attempt(self) -> Snapshot | None:
        self._load()
        # A refused attempt may have succeeded later.
        landed = self._landed()
        if landed is None:
            name, metadata = display_name(self._table), self._table.metadata
            check_format(self._table)
            check_lease(name, metadata, self._writer.write_id)
            ref = metadata.refs.get(self._branch)
            head = metadata.snapshot_by_id(ref.snapshot_id) if ref else None
            if head is None:
                raise ConflictError(f"branch {self._branch} was dropped")
            again = (new for new in self._pending if new.snapshot.parent_snapshot_id == head.snapshot_id)
            new = next(again, None) or self._prepare(head)
            if new is None:
                return None
            self._attempts[new.snapshot.manifest_list] = new
            landed = self._submit(new)
        new = self._attempts[landed]
        delete_files(self._table, set(self._writer.written) - new.files)
        return new.snapshot

    def _submit(self, new: NewSnapshot) -> str:
        """Ask the catalog to commit; return the accepted manifest list."""
        self._pending.append(new)
        try:
            submit(self._table, new.snapshot, self._branch)
        except REFUSALS:
            # A proxy may have sent the request twice, with success the first time.
            with suppress(Exception):
                self._load()
            if landed := self._landed():
                return landed
            self._pending.remove(new)
            raise
        except Exception as error:
            return self._after_failure(new, error)
        return new.snapshot.manifest_list

    def _after_failure(self, new: NewSnapshot, error: Exception) -> str:
        """Determine the outcome of an attempt that the catalog did not confirm."""
        try:
            # Even a refusal may answer the repetition of a request that had succeeded.
            self._load()
        except Exception:
            self._unclear = self._unclear or error
            raise error from None
        if landed := self._landed():
            return landed
        if new not in self._pending:
            raise CommitFailedException(str(error)) from error
        if is_not_committed(error):
            # An earlier request for the same snapshot may still be in progress, so it stays pending.
            self._pending.remove(new)
        else:
            self._unclear = self._unclear or error
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
        retry_commit(table.metadata.properties, attempt)
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
    with table.transaction() as transaction:
        if unset:
            transaction.set_properties(unset)
        if surplus:
            transaction.remove_properties(*surplus)


@dataclass(frozen=True)
class Replacement:
    """Data files of the starting snapshot to remove, and new files that hold their rows, of any partition spec."""

    removed: tuple[DataFile, ...]
    added: tuple[DataFile, ...]


def commit_replacement(
    table: Table,
    replacement: Replacement,
    *,
    start: Snapshot,
    ours: Collection[int] = (),
    branch: str = "main",
    use_starting_sequence_number: bool = True,
    snapshot_properties: Mapping[str, str],
) -> int:
    """Replace data files in one snapshot, unless another operation changed their rows.

    Concurrent appends survive. Retries follow the table's ``commit.retry.*`` properties.
    """
    name = display_name(table)
    writer = SnapshotWriter(table, replacement.added, snapshot_properties)
    reader = HeadReader(replacement.removed, replacement.added)

    def prepare(snapshot: Snapshot) -> NewSnapshot:
        """Validate the rewrite against the branch's head, and write a snapshot on top of it."""
        metadata = table.metadata
        # Read first: it raises without deleting files if the new files are committed already.
        head = reader.read(snapshot, table.io)
        check_history(metadata, snapshot, (start.snapshot_id, *ours), branch)
        check_files(head, replacement.removed, start)
        check_deletes(
            head,
            replacement.added,
            metadata.specs(),
            start,
            use_starting_sequence_number=use_starting_sequence_number,
        )
        check_new_files(name, table.io, replacement.added)
        number = (start.sequence_number or 0) if use_starting_sequence_number else None
        new_files = number if replacement.added else None
        return writer.write(head, released_deletes(head, metadata.specs(), new_files), number)

    committed = CommitAttempts(table, branch, writer, prepare).run(
        f"the rewrite of {name}",
        lambda why: (
            f"Cannot commit rewrite of {name}, because it conflicted with another operation on the same files: {why}. "
            "The new files were deleted, and the table is as that operation left it. Run the rewrite again. To lose "
            "less work to conflicts, narrow it with where, or set partial-progress.enabled to true, which commits file "
            "groups independently."
        ),
        replacement.added,
    )
    assert committed is not None  # noqa: S101
    return committed.snapshot_id


def check_committable(table: Table) -> None:
    """Refuse a table whose properties prevent commits, before its files are read."""
    avro_codec(table.metadata)
    partition_summary_limit(table.metadata)
    retrying(table.metadata.properties, is_transient)


def remove_dangling_deletes(table: Table, *, branch: str = "main", snapshot_properties: Mapping[str, str]) -> int:
    """Remove the delete files that apply to no data file of a branch, in a separate snapshot if there are any.

    Every attempt checks them again at the branch's head, so other commits do not conflict with it.
    """
    name = display_name(table)
    writer = SnapshotWriter(table, (), snapshot_properties)
    removed = 0

    def prepare(snapshot: Snapshot) -> NewSnapshot | None:
        nonlocal removed
        head, dangling = dangling_deletes(snapshot, table.io, table.metadata.specs())
        removed = len(dangling)
        return writer.write(head, dangling) if dangling else None

    committed = CommitAttempts(table, branch, writer, prepare).run(
        f"the removal of dangling delete files of {name}",
        lambda why: f"Cannot remove dangling delete files of {name}, because {why}. Earlier commits remain.",
    )
    return removed if committed else 0


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
    failed_files: int = 0
    failure: Exception | None = None  # error of the last failed file group
    failed_commits: list[Exception] = field(default_factory=list)  # errors other than conflicts
    conflicts: list[RewriteConflictError] = field(default_factory=list)  # causes of ``lost``
    lost: list[FileGroup] = field(default_factory=list)  # file groups lost in the last attempt
    lost_in_all: int = 0  # file groups lost in any attempt, also if a later one succeeded
    waiting: int = 0  # file groups not started, because the caller stopped
    ours: list[int] = field(default_factory=list)  # the snapshots that were committed

    @property
    def count(self) -> int:
        """Number of commits."""
        return len(self.ours)

    def commit(self, snapshot: Snapshot, results: Sequence[GroupResult], properties: Mapping[str, str]) -> bool:
        """Commit a batch of file groups that were planned on ``snapshot``; returns whether it succeeded."""
        # Sorted, so that the snapshot does not depend on which group finished first.
        results = sorted(results, key=lambda each: each.sampled.group.index)
        groups = [each.sampled.group for each in results]
        removed = tuple(task.data_file for group in groups for task in group.tasks)
        added = tuple(file for each in results for file in each.files)
        try:
            committed = commit_replacement(
                self.table,
                Replacement(removed, added),
                start=snapshot,
                ours=self.ours,
                branch=self.branch,
                use_starting_sequence_number=self.options.use_starting_sequence_number,
                snapshot_properties=properties,
            )
        except RewriteConflictError as error:
            self.conflicts.append(error)
            self.lost += groups
            self.lost_in_all += len(groups)
            return False
        except (TakenOverError, UnknownOutcomeError):
            raise
        except Exception as error:
            if not self.options.partial_progress:
                raise
            name = display_name(self.table)
            logger.error("A commit of %s failed, and its new files were deleted: %s", name, error, exc_info=error)
            self.failed_commits.append(error)
            self.failed_files += len(removed)
            return False
        self.ours.append(committed)
        self.rewritten_files += len(removed)
        self.added_files += len(added)
        self.rewritten_bytes += sum(file.file_size_in_bytes for file in removed)
        new = self.table.snapshot_by_id(committed)
        if new and new.summary:
            self.removed_delete_files += int(new.summary.get("removed-delete-files", "0") or 0)
        return True
