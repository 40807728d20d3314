"""Rewrite a table along a z-order curve from a PyIceberg script, without a JVM.

The stages, in order:

    check    the options, the columns, the filter and the branch, before anything is read
    plan     Iceberg's rules choose the data files and their file groups
    sample   the clustering columns of every file group, and fit its layout
    rewrite  read each file group once, send its rows to their files, sort and write them
    commit   one replace snapshot, or several with partial progress; what a conflict takes is planned and done again
    result   RewriteResult, Iceberg's five counts, and why nothing was rewritten if so
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pyiceberg.expressions import BooleanExpression
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.catalog.renewal import refresh, renewed
from iceberg_zorder.pyiceberg.commit.replacement import (
    Replacement,
    check_committable,
    commit_replacement,
    remove_dangling_deletes,
)
from iceberg_zorder.pyiceberg.compat.expressions import display_name, sanitize_column_names, schema_to_pyarrow
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_columns
from iceberg_zorder.pyiceberg.plan.planner import Planner, no_snapshot
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder, resolve
from iceberg_zorder.pyiceberg.plan.sampling import fit_layouts
from iceberg_zorder.pyiceberg.plan.summary import snapshot_properties
from iceberg_zorder.pyiceberg.progress import PLAN, Progress, silent
from iceberg_zorder.pyiceberg.rewrite_group import rewrite_group
from iceberg_zorder.pyiceberg.write.file_writer import check_writable, delete_files
from iceberg_zorder.request.arguments import OptionValue, option_text, sort_order_text
from iceberg_zorder.request.result import RewriteResult
from iceberg_zorder.request.rewrite_options import RewriteOptions, rewrite_options
from iceberg_zorder.request.sort_order import parse_sort_order
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.spill import check_directory

logger = logging.getLogger("iceberg_zorder")

_ATTEMPTS = 3
"""How often a file group is rewritten, when other operations change its files meanwhile."""


def rewrite_data_files(
    table: Table,
    columns: Sequence[str] | str,
    *,
    where: str | BooleanExpression | None = None,
    options: Mapping[str, OptionValue] | None = None,
    branch: str | None = None,
    case_sensitive: bool = False,
    progress: Progress = silent,
) -> RewriteResult:
    """Rewrite a table's data files so that each is a small box in the space of the clustering columns.

    Parameters
    ----------
    table : pyiceberg.table.Table
        A table of format version 1 or 2 with Parquet files; afterwards it has the new metadata.
    columns : sequence of str, or str
        The clustering columns; nested fields are dotted, special characters stand in backticks. Or a sort order in one
        text, as in SQL: ``"region DESC, hilbert(a, b)"``.
    where : str or pyiceberg.expressions.BooleanExpression, optional
        Rewrite only the data files that may hold rows for which this is true.
    options : mapping of str to bool, int, float or str, optional
        The options of the Spark engine, and ``memory-limit-bytes``: bytes of memory, in [16 MiB, 2^63), by default a
        quarter of what this process may have (the machine's, or what its control groups allow), half of it for rows
        that wait for their file. What has no room is held on disk, in ``spill-directory`` if that is set.
    branch : str, optional
        The branch to rewrite.
    case_sensitive : bool, optional
        Whether names of columns differ by case.
    progress : Progress, optional
        Told of what is done; see :mod:`iceberg_zorder.pyiceberg.progress`.

    Returns
    -------
    RewriteResult
        The counts, and why nothing was rewritten if so.

    Raises
    ------
    InvalidInputError
        When an argument, or a property of the table, cannot be honoured; no row was read or written then.
    RewriteConflictError
        When other operations changed the same files again and again. The new files are deleted.
    UnknownOutcomeError
        When the catalog gave no clear answer to a commit. Nothing is deleted.
    RewriteFailedError
        When a file group or a commit failed; the message says what was committed. What was not, is deleted. The two
        above are such errors, too.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from pyiceberg.catalog.sql import SqlCatalog
    >>> directory = tempfile.TemporaryDirectory()
    >>> catalog = SqlCatalog("lake", uri=f"sqlite:///{directory.name}/catalog.db", warehouse=directory.name)
    >>> catalog.create_namespace("db")
    >>> table = catalog.create_table("db.events", pa.schema([("user_id", pa.int64()), ("ts", pa.int64())]))
    >>> for start in range(0, 5000, 1000):
    ...     ids = pa.array(range(start, start + 1000))
    ...     table.append(pa.table({"user_id": ids, "ts": ids}))
    >>> result = rewrite_data_files(table, ["user_id", "ts"], options={"rewrite-all": True})
    >>> result.rewritten_data_files_count, result.added_data_files_count, table.scan().count()
    (5, 1, 5000)
    >>> rewrite_data_files(table, ["user_id", "nope"])
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot cluster by column 'nope', because lake.db.events has no such \
column: it has user_id, ts
    >>> catalog.close(); directory.cleanup()
    """
    read = rewrite_options({name: option_text(name, value) for name, value in (options or {}).items()})
    request = _Request(table, sort_order_text(display_name(table), columns), where, read, branch, case_sensitive)
    with renewed(table):
        return _Rewrite(request, progress).run()


@dataclass(frozen=True)
class _Request:
    """What is to be rewritten, and how."""

    table: Table
    sort_order: str
    where: str | BooleanExpression | None
    options: RewriteOptions
    branch: str | None
    case_sensitive: bool

    @property
    def branch_name(self) -> str:
        return self.branch or MAIN_BRANCH

    def planner(self) -> Planner:
        return Planner(self.table, self.options, self.where, case_sensitive=self.case_sensitive)

    def order(self) -> RowOrder:
        spec_id = self.options.output_spec_id
        return resolve(
            self.table,
            parse_sort_order(self.sort_order),
            self.options.layout.column_weights,
            output_spec=None if spec_id is None else self.table.specs()[spec_id],
            case_sensitive=self.case_sensitive,
        )

    def snapshot(self) -> Snapshot | None:
        """Find the branch's newest snapshot; none if the table has none yet."""
        name = self.branch_name
        ref = self.table.refs().get(name)
        if self.table.current_snapshot() and (ref is None or ref.snapshot_ref_type != SnapshotRefType.BRANCH):
            raise InvalidInputError(
                f"Cannot rewrite data files for branch {name}, because {display_name(self.table)} has no such branch: "
                "branch does not exist"
            )
        return None if ref is None else self.table.snapshot_by_id(ref.snapshot_id)


@dataclass(frozen=True)
class _Work:
    """What there is to do: file groups of a snapshot, or the reason why there are none."""

    snapshot: Snapshot | None
    groups: tuple[FileGroup, ...]
    order: RowOrder
    reason: str | None


@dataclass
class _Tally:
    """What was done so far."""

    rewritten_files: int = 0
    added_files: int = 0
    rewritten_bytes: int = 0
    failed_files: int = 0
    removed_delete_files: int = 0
    commits: int = 0
    failure: Exception | None = None
    """Why a file group failed, the last one that did."""
    failed_commits: list[Exception] = field(default_factory=list)
    """Why commits failed that no other operation was in the way of."""
    conflicts: list[RewriteConflictError] = field(default_factory=list)
    """Of the last attempt: what took the file groups in ``lost``."""
    lost: list[FileGroup] = field(default_factory=list)

    def result(self, message: str | None = None) -> RewriteResult:
        return RewriteResult(
            self.rewritten_files,
            self.added_files,
            self.rewritten_bytes,
            self.failed_files,
            self.removed_delete_files,
            message,
        )


class _Rewrite:
    """One rewrite, from its request to its result."""

    def __init__(self, request: _Request, progress: Progress) -> None:
        self._request = request
        self._table = request.table
        self._name = display_name(request.table)
        self._options = request.options
        self._progress = progress
        # The other half is for rows that are being read, sorted or written, and for holes that freed memory leaves.
        self._budget = MemoryBudget(request.options.memory_limit // 2)
        self._tally = _Tally()

    def run(self) -> RewriteResult:
        tally = self._tally
        work = self._planned()
        if not work.groups:
            return tally.result(work.reason)
        try:
            message = self._attempts(work)
            tally.failed_files += sum(len(group.tasks) for group in tally.lost)
            self._check_failed_commits()
            if self._options.remove_dangling_deletes:
                tally.removed_delete_files += remove_dangling_deletes(self._table, branch=self._request.branch_name)
        except UnknownOutcomeError as error:
            if not tally.commits:
                raise
            raise UnknownOutcomeError(
                f"{error} {tally.commits} commits before it stand, which have rewritten "
                f"{tally.rewritten_files} data files."
            ) from error
        except RewriteFailedError:
            raise
        except Exception as error:
            raise self._failure(str(error)) from error
        return tally.result(message)

    def _attempts(self, work: _Work) -> str | None:
        """Rewrite and commit what there is to do, and again what conflicts take; say so if others left nothing."""
        message = None
        tally = self._tally
        for attempt in range(1, _ATTEMPTS + 1):
            if not work.groups:
                message = self._nothing_left()
            tally.conflicts, tally.lost = [], []
            self._rewrite(work)
            if not tally.lost:
                break
            logger.warning(
                "%s file groups of %s are %s: %s",
                len(tally.lost),
                self._name,
                "given up" if attempt == _ATTEMPTS else "planned and rewritten again",
                tally.conflicts[-1],
            )
            if attempt < _ATTEMPTS:
                work = self._planned(tally.lost)
        return message

    def _planned(self, lost: Sequence[FileGroup] = ()) -> _Work:
        """Check the request against the table as it is now, and plan its file groups, or those that were lost again."""
        refresh(self._table)
        snapshot = self._request.snapshot()
        planner, order = self._request.planner(), self._request.order()
        check_writable(self._table)
        if self._options.spill_directory is not None:
            check_directory(self._options.spill_directory)
        check_committable(self._table)
        if snapshot is None:
            return _Work(None, (), order, no_snapshot(self._table))
        plan = planner.plan(snapshot, lost)
        groups = plan.groups
        if any(group.partition is None for group in groups):
            spec, schema = self._table.specs()[groups[0].spec_id], self._table.schema()
            order = replace(order, partition=partition_columns(schema, spec))
            # Refuses what cannot be partitioned by.
            Partitions(spec, schema, schema_to_pyarrow(sanitize_column_names(schema)))
        return _Work(snapshot, groups, order, plan.reason)

    def _nothing_left(self) -> str | None:
        """Say why nothing was rewritten, if other operations took all there was."""
        lost, conflict = len(self._tally.lost), self._tally.conflicts[-1]
        if self._tally.rewritten_files:
            logger.warning("%s file groups of %s are no longer there: %s", lost, self._name, conflict)
            return None
        return (
            f"Nothing left to rewrite in {self._name}: other operations changed the data files of {lost} file groups "
            f"meanwhile. {conflict}"
        )

    def _check_failed_commits(self) -> None:
        failed = [*self._tally.failed_commits, *self._tally.conflicts]
        if failed and not self._options.partial_progress:
            raise failed[-1]
        if self._tally.failed_files and not self._tally.commits:
            raise self._failure(f"no file group could be rewritten: {failed[-1] if failed else self._tally.failure}")
        if len(failed) > self._options.max_failed_commits:
            kind = RewriteConflictError if self._tally.conflicts else RewriteFailedError
            raise kind(
                f"Cannot complete the rewrite of {self._name}, because partial-progress.enabled is true but "
                f"{len(failed)} rewrite commits failed. This is more than the maximum allowed failures of "
                f"{self._options.max_failed_commits}. The log says why each failed; the other commits stand."
            )

    def _rewrite(self, work: _Work) -> None:
        """Rewrite file groups of a snapshot, and commit them in batches."""
        groups, order, snapshot = work.groups, work.order, work.snapshot
        if not groups or snapshot is None:
            return
        self._progress(PLAN, sum(group.rows for group in groups), sum(group.input_size for group in groups))
        fitted = fit_layouts(
            self._table,
            groups,
            order,
            self._options.layout,
            self._progress,
            partial(self._failed, "sampling"),
            self._budget,
        )
        if not fitted:
            return
        properties = snapshot_properties(order, [layout for _, layout in fitted])
        size = -(-len(groups) // self._options.max_commits) if self._options.partial_progress else len(groups)
        batch: list[tuple[FileGroup, list[DataFile]]] = []
        try:
            for group, layout in fitted:
                try:
                    files = rewrite_group(
                        self._table,
                        group,
                        layout,
                        order,
                        self._budget,
                        self._progress,
                        spill_directory=self._options.spill_directory,
                    )
                except Exception as error:
                    self._failed("a file group", group, error)
                    continue
                batch.append((group, files))
                if len(batch) == size:
                    due, batch = batch, []
                    self._commit(snapshot, due, properties)
            due, batch = batch, []
            self._commit(snapshot, due, properties)
        except BaseException:
            delete_files(self._table, [file.file_path for _, files in batch for file in files])
            raise

    def _failed(self, what: str, group: FileGroup, error: Exception) -> None:
        """Count a file group that failed, or end the rewrite where it is committed as a whole."""
        if not self._options.partial_progress:
            raise self._failure(f"{what} failed: {error}") from error
        logger.error(
            "Cannot rewrite file group %s of %s, because %s failed", group.index, self._name, what, exc_info=error
        )
        self._tally.failed_files += len(group.tasks)
        self._tally.failure = error

    def _failure(self, why: str) -> RewriteFailedError:
        """Say why the rewrite cannot go on, and what is left of it."""
        commits = self._tally.commits
        left = (
            f"What {commits} commits have rewritten stands, and the other new files were deleted."
            if commits
            else "Nothing was committed, and the new files were deleted."
        )
        return RewriteFailedError(f"Cannot complete the rewrite of {self._name}, because {why.rstrip('.')}. {left}")

    def _commit(
        self, snapshot: Snapshot, batch: list[tuple[FileGroup, list[DataFile]]], properties: dict[str, str]
    ) -> None:
        if not batch:
            return
        removed = tuple(task.data_file for group, _ in batch for task in group.tasks)
        added = tuple(file for _, files in batch for file in files)
        try:
            committed = commit_replacement(
                self._table,
                Replacement(removed, added),
                starting_snapshot_id=snapshot.snapshot_id,
                branch=self._request.branch_name,
                use_starting_sequence_number=self._options.use_starting_sequence_number,
                snapshot_properties=properties,
            )
        except RewriteConflictError as error:
            self._tally.conflicts.append(error)
            self._tally.lost += [group for group, _ in batch]
            return
        except UnknownOutcomeError:
            raise
        except Exception as error:
            if not self._options.partial_progress:
                raise
            logger.error("A commit of %s failed, and its new files were deleted: %s", self._name, error, exc_info=error)
            self._tally.failed_commits.append(error)
            self._tally.failed_files += len(removed)
            return
        self._tally.commits += 1
        self._tally.rewritten_files += len(removed)
        self._tally.added_files += len(added)
        self._tally.rewritten_bytes += sum(file.file_size_in_bytes for file in removed)
        new = self._table.snapshot_by_id(committed)
        if new and new.summary:
            self._tally.removed_delete_files += int(new.summary.get("removed-delete-files", "0") or 0)
