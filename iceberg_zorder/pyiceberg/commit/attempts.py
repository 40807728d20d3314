"""Ask the catalog to commit a snapshot, as often as it takes, and find out what became of each attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

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

from iceberg_zorder.errors import RewriteConflictError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.catalog.renewal import adopt
from iceberg_zorder.pyiceberg.catalog.retry import is_not_committed, load, retry_commit
from iceberg_zorder.pyiceberg.commit.snapshot import NewSnapshot, SnapshotWriter
from iceberg_zorder.pyiceberg.commit.validation import ConflictError, check_format, check_lease, is_overtaken
from iceberg_zorder.pyiceberg.compat.catalogs import submit
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_names import delete_files

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
