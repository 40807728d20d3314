"""Run a rewrite: write the new files of each file group, commit; report what was committed, even on failure."""

from __future__ import annotations

import hashlib
import json
import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy
from functools import partial

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.layout.box_tree import ADAPTIVE, EVEN, BoxTree
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.layout.layout import Layout, layout_hash
from iceberg_zorder.pyiceberg.bounds import fix_metrics
from iceberg_zorder.pyiceberg.catalog import why
from iceberg_zorder.pyiceberg.commit.replacement import CommitManager
from iceberg_zorder.pyiceberg.files import (
    FileGroup,
    GroupResult,
    Progress,
    SampledGroup,
    delete_files,
    display_name,
    silent,
)
from iceberg_zorder.pyiceberg.group_rewrite import RewriteContext, rewrite_groups
from iceberg_zorder.pyiceberg.plan.layouts import fit_plan
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, SampledPlan, planned_snapshot
from iceberg_zorder.pyiceberg.plan.rewrite_spec import ResolvedSpec, RewriteSpec
from iceberg_zorder.pyiceberg.plan.scan_measure import (
    ScanMeasure,
    column_scans,
    group_result,
    table_files,
    workload_scan,
)
from iceberg_zorder.pyiceberg.plan.selection import TargetSize
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.rewrite.options import rewrite_options
from iceberg_zorder.rewrite.result import ColumnScan, RewriteResult
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


class RewriteRun:
    """The state of one rewrite: its commits, its new files, and the properties of its snapshots.

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
        self.table, self._name = table, display_name(table)
        self._options = rewrite_options(spec.options)
        self.commits = CommitManager(table, spec.branch, self._options)
        """The commits and their counts."""
        self.progress = progress
        # The other half is for rows while they are read, sorted or written, and for fragmentation.
        self.budget = MemoryBudget(self._options.memory_limit // 2)
        self._should_continue: Callable[[], bool] = should_continue if self._options.partial_progress else lambda: True
        self.summary = {REWRITE_ID: uuid.uuid4().hex[:16], **(summary or {})}
        """The properties that all its snapshots have."""
        self._results: list[GroupResult] = []
        self._measure: ScanMeasure | None = None
        self._set: list[str] = []
        self._open = 0
        """The number of file groups of the current plan that are not committed yet."""
        self._has_written = False
        self._end_marker: str | None = None
        """The end marker of the first plan."""
        self._since = time.monotonic()

    @contextmanager
    def report_commits_on_failure(self) -> Iterator[None]:
        """Make the errors of a block say what the rewrite has committed."""
        commits = self.commits
        try:
            yield
        except BaseException as error:
            if self._set:
                logger.warning("The failed rewrite of %s has set properties: %s", self._name, ", ".join(self._set))
            if isinstance(error, UnknownOutcomeError) and commits.count:
                raise UnknownOutcomeError(
                    f"{error} Earlier commits remain: {commits.count}, with {commits.rewritten_files} rewritten data "
                    "files."
                ) from error
            if isinstance(error, RewriteFailedError) or not isinstance(error, Exception):
                raise
            raise self._failure(why(error)) from error

    def sample(self, work: ResolvedSpec, plan: RewritePlan) -> SampledPlan:
        """Sample a plan and fit its layouts, unless it has them; a file group that cannot be read has failed."""
        return fit_plan(work, plan, self.progress, self.budget, partial(self._failed, "sampling"))

    def set_metrics_modes(self, plan: SampledPlan) -> list[str]:
        """Set the metrics modes that a plan's columns need; returns its warnings, with the modes that were set."""
        wanted = plan.metrics.fixes
        fixed = fix_metrics(self.table, wanted) if wanted else []
        for each in fixed:
            logger.info("%s", each.setting())
            self._set.append(f"{each.key} = '{each.wanted}'")
        reworded = {each.setting(would=True): each.setting() if each in fixed else "" for each in wanted}
        return [reworded.get(warning, warning) for warning in plan.warnings]

    def write(self, work: ResolvedSpec, plan: SampledPlan) -> Sequence[FileGroup]:
        """Rewrite the file groups of a plan, and commit them in batches; returns those that lost to another writer."""
        self.commits.conflicts, self.commits.lost = [], []
        if not plan.groups:
            return ()
        assert plan.measure is not None  # noqa: S101
        assert plan.target is not None  # noqa: S101
        order = plan.measure.order
        layouts = [each.layout for each in plan.sampled_groups]
        properties = {
            **self.summary,
            **snapshot_properties(order, layouts, plan.target),
            REQUEST: work.request_key(self.table.properties, plan.target),
        }
        self._measure = plan.measure
        waiting = self._open = len(plan.groups)
        per_commit = -(-waiting // self._options.max_commits) if self._options.partial_progress else waiting
        context = RewriteContext(
            # A commit refreshes the table; the other file groups must still see it as it was planned.
            copy(self.table),
            order,
            self.budget,
            self._options.spill_directory,
            self.progress,
            available_cores(),
        )
        commit = partial(self._commit, planned_snapshot(self.table, plan), properties, self._measure)
        most = self._options.max_concurrent_file_group_rewrites
        pool = rewrite_groups(context, plan.sampled_groups, most, self._should_continue)
        batch: list[tuple[SampledGroup, list[DataFile]]] = []
        if not self._has_written:
            self._end_marker = plan.end_marker
        self._has_written = True
        try:
            with closing(pool) as outcomes:
                for sampled, outcome in outcomes:
                    waiting -= 1
                    if isinstance(outcome, Exception):
                        self._failed("a file group", sampled.group, outcome)
                        continue
                    # If anything fails before the commit, the handler below deletes the files of the batch.
                    batch.append((sampled, outcome))
                    if len(batch) == per_commit:
                        due, batch = batch, []
                        commit(due)
            self.commits.waiting += waiting
            due, batch = batch, []
            commit(due)
        except BaseException:
            self._delete(batch)
            raise
        return self.commits.lost

    def _commit(
        self,
        start: Snapshot | None,
        properties: Mapping[str, str],
        measure: ScanMeasure,
        batch: Sequence[tuple[SampledGroup, list[DataFile]]],
    ) -> None:
        if not batch:
            return
        assert start is not None  # noqa: S101
        try:
            results = [group_result(measure, *each) for each in batch]
            scans = column_scans(measure, [each.sampled for each in results], results)
            kinds = "before", "predicted", "actual"
            fractions = {
                scan.column: {kind: round(of, 6) for kind in kinds if (of := getattr(scan, kind)) is not None}
                for scan in scans
            }
            seconds = time.monotonic() - self._since
            commit_properties = {SCAN_FRACTIONS: json.dumps(fractions), DURATION: str(round(1000 * seconds))}
            is_last = len(batch) == self._open and not (self.commits.failed_files or self.commits.lost)
            if self._end_marker is not None and is_last:
                commit_properties[SETTLED_FROM] = self._end_marker
        except BaseException:
            self._delete(batch)
            raise
        if self.commits.commit(start, results, {**properties, **commit_properties}):
            self._open -= len(batch)
            self._results += results
            self._since = time.monotonic()

    def _delete(self, batch: Sequence[tuple[SampledGroup, list[DataFile]]]) -> None:
        delete_files(self.table, [file.file_path for _, files in batch for file in files])

    def drop_vanished_groups(self, lost: Sequence[FileGroup]) -> str | None:
        """Drop lost file groups whose files are gone; returns why nothing was rewritten, or None if something was."""
        conflict = self.commits.conflicts[-1]
        self.commits.conflicts, self.commits.lost = [], []
        if self.commits.rewritten_files:
            logger.warning("%s file groups of %s were removed by other operations: %s", len(lost), self._name, conflict)
            return None
        return (
            f"Nothing left to rewrite in {self._name}: other operations changed the data files of {len(lost)} file "
            f"groups meanwhile. {conflict}"
        )

    def check_failures(self) -> None:
        """Count the lost file groups as failed; raises if more commits failed than the options allow."""
        commits = self.commits
        commits.failed_files += sum(group.data_files_count for group in commits.lost)
        failed = [*commits.failed_commits, *commits.conflicts]
        kind = RewriteConflictError if commits.conflicts else RewriteFailedError
        if failed and not self._options.partial_progress:
            raise failed[-1]
        if commits.failed_files and not commits.count:
            reason = f"no file group could be rewritten: {failed[-1] if failed else commits.failure}"
            raise self._failure(reason, kind)
        if len(failed) > self._options.max_failed_commits:
            raise kind(
                f"Cannot complete the rewrite of {self._name}, because partial-progress.enabled is true but "
                f"{len(failed)} rewrite commits failed. This is more than the maximum allowed failures of "
                f"{self._options.max_failed_commits}. The log has the causes; the other commits remain."
            )

    def result(self, message: str | None, warnings: Sequence[str]) -> RewriteResult:
        """Return the counts, scan fractions and messages of the rewrite."""
        commits, measure, results = self.commits, self._measure if self._results else None, self._results
        sampled = [each.sampled for each in results]
        scans = column_scans(measure, sampled, results) if measure else ()
        if scans:
            logger.info("Scan fractions of the rewrite of %s: %s", self._name, _scan_fractions_text(scans))
        waiting = f"{commits.waiting:,} file groups were not begun, because there was no time left."
        said = (message, *warnings, waiting if commits.waiting else None)
        return RewriteResult(
            commits.rewritten_files,
            commits.added_files,
            commits.rewritten_bytes,
            commits.failed_files,
            commits.removed_delete_files,
            " ".join(filter(None, said)) or None,
            scans,
            workload=workload_scan(measure, sampled, results) if measure else None,
            before=table_files(measure, [each.today for each in sampled]) if measure else None,
            after=table_files(measure, [each.written for each in results]) if measure else None,
        )

    def _failed(self, what: str, group: FileGroup, error: Exception) -> None:
        """Count a failed file group; raises RewriteFailedError without partial progress."""
        if not self._options.partial_progress:
            raise self._failure(f"{what} failed: {error}") from error
        logger.error(
            "Cannot rewrite file group %s of %s, because %s failed", group.index, self._name, what, exc_info=error
        )
        self.commits.failed_files += group.data_files_count
        self.commits.failure = error

    def _failure(self, reason: str, kind: type[RewriteFailedError] = RewriteFailedError) -> RewriteFailedError:
        """Return the error that ends the rewrite, with the reason and what was committed."""
        count = self.commits.count
        left = (
            f"{count} commits remain, and the other new files were deleted."
            if count
            else f"Nothing was committed{', and the new files were deleted' if self._has_written else ''}."
        )
        return kind(f"Cannot complete the rewrite of {self._name}, because {reason.rstrip('.')}. {left}")


def _scan_fractions_text(scans: Sequence[ColumnScan]) -> str:
    """Return scan fractions as one line of text."""
    return "; ".join(
        f"{scan.column} "
        + ", ".join(
            f"{100 * value:.1f}% {name}"
            for name, value in (("before", scan.before), ("predicted", scan.predicted), ("actual", scan.actual))
            if value is not None
        )
        for scan in scans
    )


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
