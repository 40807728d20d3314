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
from typing import Any

from pyiceberg.expressions import BooleanExpression
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError
from iceberg_zorder.layout import Layout
from iceberg_zorder.pyiceberg.clustering import RowOrder, resolve
from iceberg_zorder.pyiceberg.commit import Replacement, commit_replacement
from iceberg_zorder.pyiceberg.delete_index import partition_values
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.internals import display_name
from iceberg_zorder.pyiceberg.partitions import partition_columns
from iceberg_zorder.pyiceberg.plan import Planner, no_snapshot
from iceberg_zorder.pyiceberg.progress import PLAN, Progress, silent
from iceberg_zorder.pyiceberg.rewrite_group import rewrite_group
from iceberg_zorder.pyiceberg.sampling import fit_layouts
from iceberg_zorder.pyiceberg.spill import MemoryBudget
from iceberg_zorder.pyiceberg.summary import snapshot_properties
from iceberg_zorder.pyiceberg.write import delete_files
from iceberg_zorder.rewrite_options import RewriteOptions, rewrite_options
from iceberg_zorder.rewrite_request import OptionValue, RewriteResult, option_text, sort_order_text
from iceberg_zorder.sort_order import parse_sort_order

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
        The options of the Spark engine, and ``memory-limit-bytes``: bytes of memory, in [16 MiB, 2^63), a quarter of
        this machine's by default, half of it for rows that wait for their file. What has no room is held on disk.
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
        When an argument cannot be honoured; nothing was read or written then.
    RewriteConflictError
        When other operations changed the same files again and again. The new files are deleted.
    UnknownOutcomeError
        When the catalog gave no clear answer to a commit. Nothing is deleted.
    RuntimeError
        When a file group failed. Without partial progress, nothing was committed and the new files are deleted.

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
        name = self.branch or MAIN_BRANCH
        ref = self.table.refs().get(name)
        if self.table.current_snapshot() and (ref is None or ref.snapshot_ref_type != SnapshotRefType.BRANCH):
            raise InvalidInputError(
                f"Cannot rewrite data files for branch {name}, because {display_name(self.table)} has no such branch: "
                "branch does not exist"
            )
        return None if ref is None else self.table.snapshot_by_id(ref.snapshot_id)


@dataclass
class _Tally:
    """What was done so far."""

    rewritten_files: int = 0
    added_files: int = 0
    rewritten_bytes: int = 0
    failed_files: int = 0
    removed_delete_files: int = 0
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
        self._options = request.options
        self._progress = progress
        # The other half is for rows that are being read, sorted or written, and for holes that freed memory leaves.
        self._budget = MemoryBudget(request.options.memory_limit // 2)
        self._tally = _Tally()

    def run(self) -> RewriteResult:
        tally = self._tally
        wanted: set[Any] | None = None
        for attempt in range(1, _ATTEMPTS + 1):
            self._table.refresh()
            snapshot = self._request.snapshot()
            planner, order = self._request.planner(), self._request.order()
            if snapshot is None:
                return tally.result(no_snapshot(self._table))
            plan = planner.plan(snapshot)
            groups = [group for group in plan.groups if wanted is None or _key(group) in wanted]
            if attempt == 1 and not groups:
                return tally.result(plan.reason)
            tally.conflicts, tally.lost = [], []
            self._rewrite(snapshot, groups, order)
            if not tally.lost:
                break
            wanted = {_key(group) for group in tally.lost}
            logger.warning(
                "%s file groups of %s are %s: %s",
                len(tally.lost),
                display_name(self._table),
                "given up" if attempt == _ATTEMPTS else "planned and rewritten again",
                tally.conflicts[-1],
            )
        self._check_conflicts()
        return tally.result()

    def _check_conflicts(self) -> None:
        failed = len(self._tally.conflicts)
        if not failed:
            return
        if not self._options.partial_progress:
            raise self._tally.conflicts[-1]
        if failed > self._options.max_failed_commits:
            raise RewriteConflictError(
                f"Cannot complete the rewrite of {display_name(self._table)}, because partial-progress.enabled is true "
                f"but {failed} rewrite commits failed. This is more than the maximum allowed failures of "
                f"{self._options.max_failed_commits}. The log says why each failed; the other commits stand."
            )

    def _rewrite(self, snapshot: Snapshot, groups: Sequence[FileGroup], order: RowOrder) -> None:
        """Rewrite file groups of a snapshot, and commit them in batches."""
        if not groups:
            return
        self._progress(PLAN, sum(group.rows for group in groups), sum(group.input_size for group in groups))
        if any(group.partition is None for group in groups):
            spec = self._table.specs()[groups[0].spec_id]
            order = replace(order, partition=partition_columns(self._table.schema(), spec))
        layouts = self._layouts(groups, order)
        properties = snapshot_properties(order, layouts)
        size = -(-len(groups) // self._options.max_commits) if self._options.partial_progress else len(groups)
        batch: list[tuple[FileGroup, list[DataFile]]] = []
        try:
            for group, layout in zip(groups, layouts, strict=True):
                try:
                    files = rewrite_group(self._table, group, layout, order, self._budget, self._progress)
                except InvalidInputError:
                    raise
                except Exception as error:
                    self._failed(group, error)
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

    def _layouts(self, groups: Sequence[FileGroup], order: RowOrder) -> list[Layout]:
        try:
            return fit_layouts(self._table, groups, order, self._options.layout, self._progress)
        except InvalidInputError:
            raise
        except Exception as error:
            raise RuntimeError(
                f"Cannot complete the rewrite of {display_name(self._table)}, because sampling failed: {error}. "
                "Nothing was written."
            ) from error

    def _failed(self, group: FileGroup, error: Exception) -> None:
        name = display_name(self._table)
        if not self._options.partial_progress:
            raise RuntimeError(
                f"Cannot complete the rewrite of {name}, because a file group failed: {error}. Nothing was committed, "
                "and the new files were deleted."
            ) from error
        logger.error("Cannot rewrite file group %s of %s", group.index, name, exc_info=error)
        self._tally.failed_files += len(group.tasks)

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
                branch=self._request.branch or MAIN_BRANCH,
                use_starting_sequence_number=self._options.use_starting_sequence_number,
                snapshot_properties=properties,
            )
        except RewriteConflictError as error:
            self._tally.conflicts.append(error)
            self._tally.lost += [group for group, _ in batch]
            return
        self._tally.rewritten_files += len(removed)
        self._tally.added_files += len(added)
        self._tally.rewritten_bytes += sum(file.file_size_in_bytes for file in removed)
        new = self._table.snapshot_by_id(committed)
        if new and new.summary:
            self._tally.removed_delete_files += int(new.summary.get("removed-delete-files", "0") or 0)


def _key(group: FileGroup) -> Any:
    """Tell file groups apart: by the partition, of which each is one."""
    return None if group.partition is None else partition_values(group.tasks[0].data_file)
