"""Replace data files of a table by new ones, in one snapshot, whatever other writers do meanwhile.

PyIceberg's own overwrite does not fit: it commits an ``overwrite``, fails on appends, and lets deleted rows come back.
A commit has one of three outcomes: done; failed, and then the new files are deleted; or unknown, and then nothing is
deleted, because the new files may be the table's.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    ForbiddenError,
    NoSuchTableError,
    UnauthorizedError,
)
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.commit_head import AlreadyCommittedError, HeadReader
from iceberg_zorder.pyiceberg.commit_internals import submit
from iceberg_zorder.pyiceberg.commit_retry import attempts
from iceberg_zorder.pyiceberg.commit_snapshot import NewSnapshot, SnapshotWriter
from iceberg_zorder.pyiceberg.commit_validation import (
    ConflictError,
    check_deletes,
    check_files,
    check_input,
    check_version,
    is_overtaken,
    starting_snapshot,
)

logger = logging.getLogger("iceberg_zorder")

_REFUSALS = (BadRequestError, ForbiddenError, NoSuchTableError, UnauthorizedError)
"""What a catalog answers when it has not even tried to commit."""


@dataclass(frozen=True)
class Replacement:
    """Data files to remove from a table, and the new ones that hold their rows.

    Parameters
    ----------
    removed : tuple of pyiceberg.manifest.DataFile
        Data files of the starting snapshot.
    added : tuple of pyiceberg.manifest.DataFile
        New data files, that no snapshot has; each may be of any of the table's partition specs.

    Examples
    --------
    >>> Replacement(removed=(), added=())
    Replacement(removed=(), added=())
    """

    removed: tuple[DataFile, ...]
    added: tuple[DataFile, ...]


def commit_replacement(
    table: Table,
    replacement: Replacement,
    *,
    starting_snapshot_id: int,
    branch: str = "main",
    use_starting_sequence_number: bool = True,
    snapshot_properties: Mapping[str, str],
) -> int:
    """Replace data files in one snapshot, unless another operation changed the rows that they hold.

    Appends that were made meanwhile survive. The table's ``commit.retry.*`` properties hold.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table; afterwards it has the new metadata.
    replacement : Replacement
        The files.
    starting_snapshot_id : int
        The snapshot that the new files were made from.
    branch : str
        The branch to commit to.
    use_starting_sequence_number : bool
        Whether the new files get the data sequence number of the starting snapshot, so that equality deletes made
        meanwhile apply to them; without it, such a delete is a conflict.
    snapshot_properties : Mapping of str to str
        What the snapshot's summary shall say besides.

    Returns
    -------
    int
        The new snapshot's id.

    Raises
    ------
    RewriteConflictError
        When another operation removed one of the files or deleted rows of it, or took the starting snapshot out of
        the branch's history, or when others committed first at every try. The new files are deleted.
    UnknownOutcomeError
        When the catalog gave no clear answer, or Ctrl-C came before it did. Nothing is deleted.
    InvalidInputError
        When the table's format version is not supported, there is no such branch, or the files cannot be right.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from pyiceberg.catalog.sql import SqlCatalog
    >>> directory = tempfile.TemporaryDirectory()
    >>> catalog = SqlCatalog("lake", uri=f"sqlite:///{directory.name}/catalog.db", warehouse=directory.name)
    >>> catalog.create_namespace("db")
    >>> table = catalog.create_table("db.t", pa.schema([("a", pa.int64())]))
    >>> table.append(pa.table({"a": [1, 2, 3]}))
    >>> files = tuple(task.file for task in table.scan().plan_files())
    >>> start = table.current_snapshot().snapshot_id
    >>> new = commit_replacement(table, Replacement(files, ()), starting_snapshot_id=start, snapshot_properties={})
    >>> table.snapshot_by_id(new).summary.operation, table.scan().count()
    (Operation.REPLACE, 0)
    >>> catalog.close(); directory.cleanup()
    """
    name = _full_name(table)
    check_input(name, table.metadata, branch, replacement.removed, replacement.added)
    commit = _Commit(
        table, replacement, starting_snapshot_id, branch, use_starting_sequence_number, snapshot_properties
    )
    try:
        return commit.run()
    except AlreadyCommittedError as error:
        raise InvalidInputError(
            f"Cannot commit rewrite of {name}, because new data file {error} is in the table already"
        ) from error
    except (ConflictError, CommitFailedException) as error:
        if commit.in_doubt:
            raise _unknown(name) from error
        commit.delete_all()
        raise RewriteConflictError(
            f"Cannot commit rewrite of {name}, because it conflicted with another operation on the same files: {error}."
            " The new files were deleted and the table is as that operation left it. Run the rewrite again; to lose"
            " less to a conflict, set partial-progress.enabled to true, which commits file groups independently, or"
            " narrow it with where."
        ) from error
    except BaseException as error:
        if commit.in_doubt:
            raise _unknown(name) from error
        commit.delete_all()
        raise


class _Commit:
    """One commit with all its attempts."""

    def __init__(
        self,
        table: Table,
        replacement: Replacement,
        starting_snapshot_id: int,
        branch: str,
        use_starting_sequence_number: bool,
        snapshot_properties: Mapping[str, str],
    ) -> None:
        self.in_doubt = False
        """Whether the catalog was asked to commit, and has not said that it did not."""
        self._table = table
        self._uuid = table.metadata.table_uuid
        self._replacement = replacement
        self._starting_snapshot_id = starting_snapshot_id
        self._branch = branch
        self._use_starting_sequence_number = use_starting_sequence_number
        self._properties = snapshot_properties
        self._reader = HeadReader(replacement.removed, replacement.added)
        self._writer: SnapshotWriter | None = None
        self._attempts: dict[str, NewSnapshot] = {}
        self._failure: Exception | None = None

    def run(self) -> int:
        """Try until it is committed; return the snapshot's id."""
        for _ in attempts(self._table.metadata.properties):
            self._load()
            # An attempt that was refused may have been let in after all, and late.
            if landed := self._landed() or self._submit(self._prepare()):
                new = self._attempts[landed]
                self._delete_paths(set(self._written) - new.files)
                return new.snapshot.snapshot_id
        raise CommitFailedException(str(self._failure)) from self._failure

    def delete_all(self) -> None:
        """Delete what was written for the snapshot, and the new data files."""
        self._delete_paths([*self._written, *(file.file_path for file in self._replacement.added)])

    @property
    def _written(self) -> list[str]:
        return self._writer.written if self._writer else []

    def _prepare(self) -> NewSnapshot:
        """Validate the rewrite against the branch as it is now, and write a snapshot on top of it."""
        metadata = self._table.metadata
        check_version(_full_name(self._table), metadata)
        ref = metadata.refs.get(self._branch)
        snapshot = metadata.snapshot_by_id(ref.snapshot_id) if ref else None
        if snapshot is None:
            raise ConflictError(f"branch {self._branch} is no longer there")
        # First of all, for it finds the new files where they must not be deleted.
        head = self._reader.read(snapshot, self._table.io)
        start = starting_snapshot(metadata, snapshot, self._starting_snapshot_id, self._branch)
        check_files(head, self._replacement.removed, start)
        equality_deletes = not self._use_starting_sequence_number
        check_deletes(head, metadata.specs(), start, equality_deletes=equality_deletes)
        if self._writer is None:
            number = (start.sequence_number or 0) if self._use_starting_sequence_number else None
            self._writer = SnapshotWriter(self._table, self._replacement.added, number, self._properties)
        new = self._writer.write(head)
        self._attempts[new.snapshot.manifest_list] = new
        return new

    def _submit(self, new: NewSnapshot) -> str | None:
        """Ask the catalog to commit; return the manifest list it took, or None if it certainly took none."""
        self.in_doubt = True
        try:
            submit(self._table, new.snapshot, self._branch)
        except _REFUSALS:
            self.in_doubt = False
            raise
        except Exception as error:
            return self._after_failure(new, error)
        return new.snapshot.manifest_list

    def _after_failure(self, new: NewSnapshot, error: Exception) -> str | None:
        """Look what became of an attempt that the catalog did not confirm."""
        try:
            # Even a refusal may be the answer to a request that was sent twice, and was granted the first time.
            self._load()
        except Exception:
            raise error from None
        if landed := self._landed():
            return landed
        if isinstance(error, CommitFailedException) or is_overtaken(new.snapshot, self._table.metadata):
            self.in_doubt = False
            self._failure = error
            return None
        raise error

    def _landed(self) -> str | None:
        """Return the manifest list of the attempt that the table has, or None."""
        if self._writer is None:
            return None
        snapshot = self._table.metadata.snapshot_by_id(self._writer.snapshot_id)
        return snapshot.manifest_list if snapshot else None

    def _load(self) -> None:
        fresh = self._table.catalog.load_table(self._table.name())
        if fresh.metadata.table_uuid != self._uuid:
            raise ConflictError("the table was dropped and another one has its name")
        self._table.metadata = fresh.metadata
        self._table.metadata_location = fresh.metadata_location
        self._table.io = fresh.io
        self._table.config = fresh.config

    def _delete_paths(self, paths: Iterable[str]) -> None:
        for path in paths:
            try:
                # A file that is not there was to be written next.
                with suppress(FileNotFoundError):
                    self._table.io.delete(path)
            except Exception:  # noqa: PERF203 - one failure must not keep the others
                logger.warning("Cannot delete %s, which is not needed any more", path, exc_info=True)


def _full_name(table: Table) -> str:
    return ".".join((table.catalog.name, *table.name()))


def _unknown(name: str) -> UnknownOutcomeError:
    return UnknownOutcomeError(
        f"Cannot tell whether the rewrite of {name} was committed, because the catalog gave no clear answer. No file"
        " was deleted. Look at the table's latest snapshot: if it is not this rewrite, run it again and let"
        " remove_orphan_files collect what is left over."
    )
