"""Write the new files of a plan's file groups, and commit them in batches."""

from __future__ import annotations

import hashlib
import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from iceberg_zorder.layout.box_tree import ADAPTIVE, EVEN, BoxTree
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.layout.layout import Layout, layout_hash
from iceberg_zorder.pyiceberg.commit.replacement import CommitManager
from iceberg_zorder.pyiceberg.files import (
    FileGroup,
    GroupResult,
    Progress,
    SampledGroup,
    delete_files,
    silent,
)
from iceberg_zorder.pyiceberg.group_rewrite import RewriteContext, rewrite_groups
from iceberg_zorder.pyiceberg.outcome import failure
from iceberg_zorder.pyiceberg.plan.rewrite_plan import SampledPlan, planned_snapshot
from iceberg_zorder.pyiceberg.plan.rewrite_spec import ResolvedSpec, RewriteSpec
from iceberg_zorder.pyiceberg.plan.scan_measure import column_scans, group_result
from iceberg_zorder.pyiceberg.plan.selection import TargetSize
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.pyiceberg.translation import Translator
from iceberg_zorder.rewrite.options import TRANSLATE, rewrite_options
from iceberg_zorder.rewrite.result import ColumnScan
from iceberg_zorder.rewrite.snapshot_keys import (
    COLUMNS,
    CUTS,
    DURATION,
    LAYOUT_HASH,
    REQUEST,
    REWRITE_ID,
    SCAN_FRACTIONS,
    SETTLED_FROM,
    TARGET,
)
from iceberg_zorder.sort.memory_budget import MemoryBudget
from iceberg_zorder.sort.threads import available_cores

logger = logging.getLogger("iceberg_zorder")

_Written = tuple[SampledGroup, list[DataFile]]
"""A file group and its new files."""


class RewriteRun:
    """What the attempts of one rewrite share: the table, its commits, and the properties of its snapshots.

    With partial progress, ``should_continue`` is asked before each file group whether to begin it.
    """

    def __init__(
        self,
        table: Table,
        spec: RewriteSpec,
        progress: Progress = silent,
        should_continue: Callable[[], bool] = lambda: True,
        summary: Mapping[str, str] | None = None,
    ) -> None:
        self.table = table
        self._options = rewrite_options(spec.options)
        self.commits = CommitManager(table, spec.branch, self._options)
        """The commits and their counts."""
        self.progress = progress
        # The other half is for rows while they are read, sorted or written, and for fragmentation.
        self.budget = MemoryBudget(self._options.memory_limit // 2)
        self._should_continue: Callable[[], bool] = should_continue if self._options.partial_progress else lambda: True
        self.summary = {REWRITE_ID: uuid.uuid4().hex[:16], **(summary or {})}
        """The properties that all its snapshots have."""
        self._since = time.monotonic()
        """The time of the last commit."""

    def write(
        self, resolved: ResolvedSpec, plan: SampledPlan, end_marker: str | None
    ) -> tuple[list[GroupResult], list[FileGroup]]:
        """Rewrite the file groups of a plan, and commit them in batches.

        Returns the committed file groups, and those that conflict with other operations. ``end_marker`` is written by
        a commit that completes the plan.
        """
        commits = self.commits
        commits.forget_conflicts()
        if not plan.groups:
            return [], []
        start = planned_snapshot(self.table, plan)
        assert start is not None  # noqa: S101
        assert plan.measure is not None  # noqa: S101
        assert plan.target is not None  # noqa: S101
        order, layouts = plan.measure.order, [each.layout for each in plan.sampled_groups]
        properties = {
            **self.summary,
            **snapshot_properties(order, layouts, plan.target),
            REQUEST: resolved.request_key(self.table, plan.target),
        }
        context = RewriteContext(
            # A commit refreshes the table; the other file groups must still see it as it was planned.
            copy(self.table),
            order,
            self.budget,
            self._options.spill_directory,
            self.progress,
            available_cores(),
        )
        most = self._options.max_concurrent_file_group_rewrites
        commits.has_begun = True
        committed: list[GroupResult] = []
        with closing(rewrite_groups(context, plan.sampled_groups, most, self._should_continue)) as outcomes:
            for batch in self._batches(outcomes, len(plan.groups)):
                with self._deleted_on_failure(batch):
                    results = [group_result(plan.measure, *each) for each in batch]
                    scans = column_scans(plan.measure, [each.sampled for each in results], results)
                    is_complete = len(committed) + len(batch) == len(plan.groups) and not commits.has_failures
                    of_commit = {
                        SCAN_FRACTIONS: _scan_fractions_json(scans),
                        DURATION: str(round(1000 * (time.monotonic() - self._since))),
                        **({SETTLED_FROM: end_marker} if is_complete and end_marker is not None else {}),
                    }
                # Deletes of others become delete files, which format version 1 lacks.
                can_translate = self._options.on_conflict == TRANSLATE and context.table.format_version > 1
                translator = Translator(context.table, results, self._options.memory_limit) if can_translate else None
                of_commit = {**properties, **of_commit}
                if commits.commit(context.table.metadata, start, results, of_commit, translator):
                    committed += results
                    self._since = time.monotonic()
        return committed, commits.conflicting

    def _batches(
        self, outcomes: Iterable[tuple[SampledGroup, list[DataFile] | Exception]], groups: int
    ) -> Iterator[list[_Written]]:
        """Yield the written file groups of each commit; counts those that failed, and those that were not begun."""
        size = -(-groups // self._options.max_commits) if self._options.partial_progress else groups
        batch: list[_Written] = []
        with self._deleted_on_failure(batch):
            for sampled, outcome in outcomes:
                groups -= 1
                if isinstance(outcome, Exception):
                    self.group_failed("a file group", sampled.group, outcome)
                    continue
                batch.append((sampled, outcome))
                if len(batch) == size:
                    # Who takes the batch commits or deletes its files.
                    due, batch[:] = batch[:], []
                    yield due
            self.commits.waiting += groups
            due, batch[:] = batch[:], []
            if due:
                yield due

    @contextmanager
    def _deleted_on_failure(self, batch: Sequence[_Written]) -> Iterator[None]:
        try:
            yield
        except BaseException:
            delete_files(self.table, [file.file_path for _, files in batch for file in files])
            raise

    def group_failed(self, what: str, group: FileGroup, error: Exception) -> None:
        """Count a failed file group; raises RewriteFailedError without partial progress."""
        commits = self.commits
        if not self._options.partial_progress:
            raise failure(commits, f"{what} failed: {error}") from error
        logger.error(
            "Cannot rewrite file group %s of %s, because %s failed", group.index, commits.name, what, exc_info=error
        )
        commits.failed_files += group.data_files_count
        commits.failure = error


def _scan_fractions_json(scans: Sequence[ColumnScan]) -> str:
    kinds = "before", "predicted", "actual"
    fractions = {
        scan.column: {kind: round(of, 6) for kind in kinds if (of := getattr(scan, kind)) is not None} for scan in scans
    }
    return json.dumps(fractions)


def snapshot_properties(order: ResolvedSortOrder, layouts: Sequence[Layout], target: TargetSize) -> dict[str, str]:
    """Return the summary properties that describe the layouts of a snapshot."""
    hashes = sorted(layout_hash(layout) for layout in layouts)
    is_plain = order.curve == ZORDER and not order.prefix
    return {
        COLUMNS: ",".join(column.name for column in order.columns) if is_plain else order.sort_order,
        CUTS: ADAPTIVE if isinstance(layouts[0].cuts, BoxTree) else EVEN,
        LAYOUT_HASH: hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest(),
        TARGET: f"{target.size} {target.origin}",
    }
