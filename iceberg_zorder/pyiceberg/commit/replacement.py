"""Commit replacements of data files and changes of properties, in one or several snapshots, whatever other writers do.

PyIceberg's own overwrite does not fit: it commits an ``overwrite``, fails on appends, and lets deleted rows come back.
A commit has one of three outcomes: done; failed, and then the new files are deleted; or unknown, and then nothing is
deleted, because the new files may be the table's.
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
    is_overtaken,
    partition_summary_limit,
)
from iceberg_zorder.pyiceberg.compat import avro_codec, submit
from iceberg_zorder.pyiceberg.files import FileGroup, GroupResult, delete_files, display_name
from iceberg_zorder.rewrite.options import RewriteOptions

logger = logging.getLogger("iceberg_zorder")

REFUSALS = (BadRequestError, ForbiddenError, NoSuchTableError, UnauthorizedError)
"""What a catalog answers when it has not even tried to commit."""


class CommitAttempts:
    """One commit with all its attempts, each of which begins with the table's newest metadata.

    An attempt of which the catalog gives no clear answer may be made again: all have the same snapshot id, and each
    asks for the head that it was made for to be there still, so that no more than one is ever let in, and the table
    tells which. What ``prepare`` writes on top of a head is committed; nothing is where it writes nothing.
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
        # The snapshots of all requests that may still be granted.
        self._pending: list[NewSnapshot] = []
        # What the catalog said first, when it was not clear.
        self._unclear: Exception | None = None

    def run(self, what: str, conflict: Callable[[Exception], str], added: Iterable[DataFile] = ()) -> Snapshot | None:
        """Try until it is committed; return the snapshot, or None where there is nothing to commit.

        Where it fails, what was written for it is deleted, and data files that were to be added; where the outcome is
        unknown nothing is. ``what`` names the commit in messages, ``conflict`` writes that of a conflict.
        """
        try:
            return retry_commit(self._table.metadata.properties, self._attempt)
        except UnknownOutcomeError:  # the new files are in the table
            raise
        except BaseException as error:
            if self._pending:
                raise UnknownOutcomeError(
                    f"Cannot tell whether {what} was committed, because the catalog gave no clear answer. No file was "
                    "deleted. Look at the table's latest snapshot: if it is not this rewrite, run it again and let "
                    "remove_orphan_files collect what is left over."
                ) from (self._unclear or error)
            delete_files(self._table, [*self._writer.written, *(file.file_path for file in added)])
            if isinstance(error, ConflictError | CommitFailedException):
                raise RewriteConflictError(conflict(error)) from error
            raise

    def _attempt(self) -> Snapshot | None:
        self._load()
        # An attempt that was refused may have been let in after all, and late.
        landed = self._landed()
        if landed is None:
            name, metadata = display_name(self._table), self._table.metadata
            check_format(self._table)
            check_lease(name, metadata, self._writer.write_id)
            ref = metadata.refs.get(self._branch)
            head = metadata.snapshot_by_id(ref.snapshot_id) if ref else None
            if head is None:
                raise ConflictError(f"branch {self._branch} is no longer there")
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
        """Ask the catalog to commit; return the manifest list it took."""
        self._pending.append(new)
        try:
            submit(self._table, new.snapshot, self._branch)
        except REFUSALS:
            # Who stands between may have sent the request twice, and had it granted the first time.
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
        """Look what became of an attempt that the catalog did not confirm."""
        try:
            # Even a refusal may be the answer to a request that was sent twice, and was granted the first time.
            self._load()
        except Exception:
            self._unclear = self._unclear or error
            raise error from None
        if landed := self._landed():
            return landed
        if new not in self._pending:
            raise CommitFailedException(str(error)) from error
        if is_not_committed(error):
            # An earlier request for the same snapshot, that the catalog may still be busy with, stays pending.
            self._pending.remove(new)
        else:
            self._unclear = self._unclear or error
        raise error

    def _landed(self) -> str | None:
        """Return the manifest list of the attempt that the table has, or None."""
        snapshot = self._table.metadata.snapshot_by_id(self._writer.snapshot_id)
        return snapshot.manifest_list if snapshot else None

    def _load(self) -> None:
        fresh = load(self._table)
        if fresh.metadata.table_uuid != self._uuid:
            raise ConflictError("the table was dropped and another one has its name")
        adopt(self._table, fresh)
        self._pending = [new for new in self._pending if not is_overtaken(new.snapshot, fresh.metadata)]


class CommitOutcome:
    """Knows whether an attempt to commit may have been committed although it failed."""

    is_unclear = False

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the failure of a commit."""
        try:
            yield
        except Exception as error:
            self.is_unclear |= not isinstance(error, REFUSALS) and not is_not_committed(error)
            raise


def change_properties(table: Table, properties: Mapping[str, str], removed: Collection[str] = ()) -> None:
    """Set properties, and remove others; again where others commit first, or the catalog fails.

    What is as wanted already is not committed again, which makes it safe to try again what may have been committed.
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
                "answer. Nothing else was done: look at the table's properties."
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
    """Data files of the starting snapshot to remove, and new ones that hold their rows, of any of the table's specs."""

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
    """Replace data files in one snapshot, unless another operation changed the rows that they hold.

    Appends that were made meanwhile survive. The table's ``commit.retry.*`` properties hold.
    """
    name = display_name(table)
    writer = SnapshotWriter(table, replacement.added, snapshot_properties)
    reader = HeadReader(replacement.removed, replacement.added)

    def prepare(snapshot: Snapshot) -> NewSnapshot:
        """Validate the rewrite against the branch as it is now, and write a snapshot on top of it."""
        metadata = table.metadata
        # First of all, for it finds the new files where they must not be deleted.
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
        number = (start.sequence_number or 0) if use_starting_sequence_number else None
        new_files = number if replacement.added else None
        return writer.write(head, released_deletes(head, metadata.specs(), new_files), number)

    committed = CommitAttempts(table, branch, writer, prepare).run(
        f"the rewrite of {name}",
        lambda why: (
            f"Cannot commit rewrite of {name}, because it conflicted with another operation on the same files: {why}. "
            "The new files were deleted and the table is as that operation left it. Run the rewrite again; to lose "
            "less to a conflict, set partial-progress.enabled to true, which commits file groups independently, or "
            "narrow it with where."
        ),
        replacement.added,
    )
    assert committed is not None  # noqa: S101
    return committed.snapshot_id


def check_committable(table: Table) -> None:
    """Refuse a table whose properties no snapshot can be committed with, before anything is read: each is read here."""
    avro_codec(table.metadata)
    partition_summary_limit(table.metadata)
    retrying(table.metadata.properties, is_transient)


def remove_dangling_deletes(table: Table, *, branch: str = "main") -> int:
    """Remove the delete files that apply to no data file of a branch, in a snapshot of its own if there are any.

    What applies is judged anew at the head of every attempt, so that no commit of others is in the way.
    """
    name = display_name(table)
    writer = SnapshotWriter(table, (), {})
    removed = 0

    def prepare(snapshot: Snapshot) -> NewSnapshot | None:
        nonlocal removed
        head, dangling = dangling_deletes(snapshot, table.io, table.metadata.specs())
        removed = len(dangling)
        return writer.write(head, dangling) if dangling else None

    committed = CommitAttempts(table, branch, writer, prepare).run(
        f"the removal of dangling delete files after the rewrite of {name}, which was,",
        lambda why: f"Cannot remove dangling delete files of {name}, because {why}. What was committed before stands.",
    )
    return removed if committed else 0


@dataclass(eq=False)
class CommitManager:
    """Commits batches of file groups to a branch, and counts, so that what stands is known however the rewrite ends.

    The table has the new metadata after every commit.
    """

    table: Table
    branch: str
    options: RewriteOptions
    rewritten_files: int = 0
    rewritten_bytes: int = 0
    added_files: int = 0
    removed_delete_files: int = 0
    failed_files: int = 0
    failure: Exception | None = None  # why a file group failed, the last one that did
    failed_commits: list[Exception] = field(default_factory=list)  # why, where no other operation was in the way
    conflicts: list[RewriteConflictError] = field(default_factory=list)  # what took the file groups in ``lost``
    lost: list[FileGroup] = field(default_factory=list)  # at the last attempt
    lost_in_all: int = 0  # file groups that conflicts took at any attempt, whatever became of them then
    waiting: int = 0  # file groups that were not begun, because the caller wanted no more
    ours: list[int] = field(default_factory=list)  # the snapshots that were committed

    @property
    def count(self) -> int:
        """How many commits were made."""
        return len(self.ours)

    def commit(self, snapshot: Snapshot, results: Sequence[GroupResult], properties: Mapping[str, str]) -> bool:
        """Commit a batch of file groups that were planned on a snapshot; tells whether that was done."""
        # They come as they are done, and are committed in one order whichever was first.
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
