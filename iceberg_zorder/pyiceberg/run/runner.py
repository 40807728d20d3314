"""Carry out a rewrite: plan, sample, rewrite the file groups, commit them; and again what conflicts take."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from copy import copy
from functools import partial

from pyiceberg.manifest import DataFile

from iceberg_zorder.errors import RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.catalog.retry import why
from iceberg_zorder.pyiceberg.commit.batches import Batch, CommitManager
from iceberg_zorder.pyiceberg.commit.replacement import remove_dangling_deletes
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup, size_of
from iceberg_zorder.pyiceberg.kept_bounds import fix_metrics
from iceberg_zorder.pyiceberg.plan.plan_request import PlanRequest
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, plan_request
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext
from iceberg_zorder.pyiceberg.plan.scan_fractions import MeasuredGroup
from iceberg_zorder.pyiceberg.plan.summary import commit_properties, snapshot_properties
from iceberg_zorder.pyiceberg.progress import PLAN, Progress
from iceberg_zorder.pyiceberg.run.file_group_pool import FileGroupPool
from iceberg_zorder.pyiceberg.run.rewrite_group import RewriteContext, rewrite_group
from iceberg_zorder.pyiceberg.write.file_writer import delete_files, try_to_write
from iceberg_zorder.request.result import ColumnScan, RewriteResult
from iceberg_zorder.request.rewrite_messages import DRY_RUN
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.threads import available_cores
from iceberg_zorder.upkeep.settled import REQUEST, REWRITE_ID, SETTLED_FROM

logger = logging.getLogger("iceberg_zorder")

_ATTEMPTS = 3
"""How often a file group is rewritten, when other operations change its files meanwhile."""


class RewriteRunner:
    """Carries one rewrite out, from its plan to its result; what was done is known however it ends.

    With partial progress, ``goes_on`` is asked before each file group whether to begin it.
    """

    def __init__(self, request: PlanRequest, progress: Progress, goes_on: Callable[[], bool] = lambda: True) -> None:
        self.commits = CommitManager(request.table, request.branch_name, request.options)
        """The commits, and what they have done."""
        self._request = request
        self._table = request.table
        self._name = display_name(request.table)
        self._options = request.options
        self._progress = progress
        # The other half is for rows that are being read, sorted or written, and for holes that freed memory leaves.
        self._budget = MemoryBudget(request.options.memory_limit // 2)
        self._goes_on: Callable[[], bool] = goes_on if request.options.partial_progress else lambda: True
        self._committed: list[MeasuredGroup] = []
        self._set: list[str] = []
        self._open = 0
        """File groups of the plan at hand that are not committed."""
        self._has_written = False
        self._settled_from: int | None = None
        """The snapshot that was planned on first, if nothing is left for later."""
        self._id = uuid.uuid4().hex[:16]
        self._done: set[str] = set()
        self._since = time.monotonic()

    def run(self, plan: RewritePlan) -> RewriteResult:
        """Rewrite, commit, and plan again as often as conflicts ask for it; raises as ``rewrite_data_files`` does."""
        self._since = time.monotonic()
        if self._options.layout.dry_run:
            return _dry_run_result(plan.sampled(self._progress))
        if not plan.groups:
            return RewriteResult(0, 0, 0, 0, 0, plan.message)
        commits = self.commits
        with self._telling_what_is_left():
            try_to_write(self._table)
            plan = self._sampled(plan)
        plan.metrics.check()
        if plan.is_whole and plan.snapshot is not None:
            self._settled_from = plan.snapshot.snapshot_id
        with self._telling_what_is_left():
            warnings = self._with_fixed_metrics(plan)
            plan, message = self._attempts(plan)
            commits.failed_files += sum(len(group.tasks) for group in commits.lost)
            self._check_failed_commits()
            if self._options.remove_dangling_deletes:
                commits.removed_delete_files += remove_dangling_deletes(self._table, branch=self._request.branch_name)
        measure = plan.measure if self._committed else None
        scans = measure.column_scans(self._committed) if measure else ()
        if scans:
            logger.info("Scan fractions of the rewrite of %s: %s", self._name, _scan_fractions_text(scans))
        waiting = f"{commits.waiting:,} file groups were not begun, because there was no time left."
        return RewriteResult(
            commits.rewritten_files,
            commits.added_files,
            commits.rewritten_bytes,
            commits.failed_files,
            commits.removed_delete_files,
            _joined(message, *warnings, waiting if commits.waiting else None),
            scans,
            workload=measure.workload_scan(self._committed) if measure else None,
        )

    @contextmanager
    def _telling_what_is_left(self) -> Iterator[None]:
        """Have whatever goes wrong in a block end in a message that says what of the rewrite stands."""
        commits = self.commits
        try:
            yield
        except BaseException as error:
            if self._set:
                logger.warning("What the rewrite of %s set before it ended stays: %s", self._name, ", ".join(self._set))
            if isinstance(error, UnknownOutcomeError) and commits.count:
                raise UnknownOutcomeError(
                    f"{error} {commits.count} commits before it stand, which have rewritten "
                    f"{commits.rewritten_files} data files."
                ) from error
            if isinstance(error, RewriteFailedError) or not isinstance(error, Exception):
                raise
            raise self._failure(why(error)) from error

    def _with_fixed_metrics(self, plan: RewritePlan) -> list[str]:
        """Set the metrics modes that the plan's columns want, and say so among its warnings."""
        wanted = plan.metrics.fixes
        fixed = fix_metrics(self._table, wanted) if wanted else []
        for each in fixed:
            logger.info("%s", each.setting())
            self._set.append(f"{each.key} = '{each.wanted}'")
        told = {each.setting(would=True): each.setting() if each in fixed else "" for each in wanted}
        return [told.get(warning, warning) for warning in plan.warnings]

    def _attempts(self, plan: RewritePlan) -> tuple[RewritePlan, str | None]:
        """Rewrite and commit what is sampled, and again what conflicts take; say so if nothing is left to do."""
        message = None if plan.groups else plan.message
        commits = self.commits
        for attempt in range(1, _ATTEMPTS + 1):
            commits.conflicts, commits.lost = [], []
            self._rewrite(plan)
            if not commits.lost:
                break
            logger.warning(
                "%s file groups of %s are %s: %s",
                len(commits.lost),
                self._name,
                "given up" if attempt == _ATTEMPTS else "planned and rewritten again",
                commits.conflicts[-1],
            )
            if attempt < _ATTEMPTS:
                again = plan_request(self._request, commits.lost, self._done)
                if not again.groups:
                    message = self._nothing_left()
                    commits.conflicts, commits.lost = [], []
                    return plan, message
                plan = self._sampled(again)
                message = None if plan.groups or commits.rewritten_files else plan.message
        return plan, message

    def _nothing_left(self) -> str | None:
        """Say why nothing was rewritten, if other operations took all there was."""
        lost, conflict = len(self.commits.lost), self.commits.conflicts[-1]
        if self.commits.rewritten_files:
            logger.warning("%s file groups of %s are no longer there: %s", lost, self._name, conflict)
            return None
        return (
            f"Nothing left to rewrite in {self._name}: other operations changed the data files of {lost} file groups "
            f"meanwhile. {conflict}"
        )

    def _check_failed_commits(self) -> None:
        commits = self.commits
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
                f"{self._options.max_failed_commits}. The log says why each failed; the other commits stand."
            )

    def _rewrite(self, plan: RewritePlan) -> None:
        """Rewrite the file groups of a sampled plan, and commit them in batches."""
        if not plan.groups:
            return
        assert plan.target is not None  # noqa: S101
        layouts = [each.layout for each in plan.layouts]
        properties = {
            REWRITE_ID: self._id,
            **plan.request.summary,
            **snapshot_properties(plan.order, layouts, plan.target),
        }
        wanted = self._open = len(plan.groups)
        size = -(-wanted // self._options.max_commits) if self._options.partial_progress else wanted
        context = RewriteContext(
            # A commit refreshes the table while other file groups are read and written as it was.
            copy(self._table),
            plan.order,
            self._budget,
            self._options.spill_directory,
            self._progress,
            available_cores(),
            write_id=properties[REWRITE_ID],
        )
        pool = FileGroupPool(context, rewrite_group, self._options.max_concurrent_file_group_rewrites, self._goes_on)
        batch: list[tuple[FileGroup, list[DataFile]]] = []
        self._has_written = True
        try:
            with closing(pool.outcomes(list(zip(plan.groups, layouts, strict=True)))) as outcomes:
                for group, outcome in outcomes:
                    wanted -= 1
                    if isinstance(outcome, Exception):
                        self._failed("a file group", group, outcome)
                        continue
                    # From here on its files are deleted with those of the batch, should anything come between.
                    batch.append((group, outcome))
                    if len(batch) == size:
                        due, batch = batch, []
                        self._commit(plan, due, properties)
            self.commits.waiting += wanted
            due, batch = batch, []
            self._commit(plan, due, properties)
        except BaseException:
            self._delete(batch)
            raise

    def _delete(self, batch: Batch) -> None:
        delete_files(self._table, [file.file_path for _, files in batch for file in files])

    def _sampled(self, plan: RewritePlan) -> RewritePlan:
        """Take the layouts of a plan that has file groups, or fit them to those that can be read."""
        self._progress(PLAN, sum(group.rows for group in plan.groups), sum(group.input_size for group in plan.groups))
        # Partitions may have several file groups, of which some are lost: those alone are planned again.
        self._done.update(path for group in plan.groups for path in group.paths)
        if plan.is_sampled:
            return plan
        context = SampleContext(
            self._table,
            plan.order,
            self._options.layout,
            self._progress,
            partial(self._failed, "sampling"),
            self._budget,
            workload=plan.request.workload,
        )
        return plan.sampled_in(context)

    def _commit(self, plan: RewritePlan, batch: Batch, properties: dict[str, str]) -> None:
        if not batch:
            return
        assert plan.snapshot is not None  # noqa: S101
        assert plan.target is not None  # noqa: S101
        assert plan.measure is not None  # noqa: S101
        measure = plan.measure
        try:
            measured = {group.index: each.measured for group, each in zip(plan.groups, plan.layouts, strict=True)}
            written = [measure.with_written(measured[group.index], files) for group, files in batch]
            seconds = time.monotonic() - self._since
            of_commit = commit_properties(measure.actual(written), measure.predicted(written), seconds)
            of_commit[REQUEST] = plan.request.key(plan.order, plan.target)
            is_last = len(batch) == self._open and not (self.commits.failed_files or self.commits.lost)
            if self._settled_from is not None and is_last:
                of_commit[SETTLED_FROM] = str(self._settled_from)
        except BaseException:
            self._delete(batch)
            raise
        if self.commits.commit(plan.snapshot, batch, {**properties, **of_commit}):
            self._open -= len(batch)
            self._committed += written
            self._done.update(file.file_path for _, files in batch for file in files)
            self._since = time.monotonic()

    def _failed(self, what: str, group: FileGroup, error: Exception) -> None:
        """Count a file group that failed, or end the rewrite where it is committed as a whole."""
        if not self._options.partial_progress:
            raise self._failure(f"{what} failed: {error}") from error
        logger.error(
            "Cannot rewrite file group %s of %s, because %s failed", group.index, self._name, what, exc_info=error
        )
        self.commits.failed_files += len(group.tasks)
        self.commits.failure = error

    def _failure(self, reason: str, kind: type[RewriteFailedError] = RewriteFailedError) -> RewriteFailedError:
        """Say why the rewrite cannot go on, and what is left of it."""
        count = self.commits.count
        left = (
            f"What {count} commits have rewritten stands, and the other new files were deleted."
            if count
            else f"Nothing was committed{', and the new files were deleted' if self._has_written else ''}."
        )
        return kind(f"Cannot complete the rewrite of {self._name}, because {reason.rstrip('.')}. {left}")


def _dry_run_result(plan: RewritePlan) -> RewriteResult:
    """Tell what a sampled plan would do; nothing is written."""
    measured = [each.measured for each in plan.layouts]
    measure = plan.measure if plan.groups else None
    return RewriteResult(
        sum(len(group.tasks) for group in plan.groups),
        sum(each.layout.files for each in plan.layouts),
        sum(size_of(group.tasks) for group in plan.groups),
        0,
        0,
        _joined(DRY_RUN, plan.message, *plan.warnings),
        measure.column_scans(measured) if measure else (),
        dry_run=True,
        expected_seconds=plan.expected_seconds,
        predicates=plan.predicates,
        workload=measure.workload_scan(measured) if measure else None,
    )


def _joined(*sentences: str | None) -> str | None:
    return " ".join(each for each in sentences if each) or None


def _scan_fractions_text(scans: Sequence[ColumnScan]) -> str:
    """Write scan fractions in a line.

    Examples
    --------
    >>> _scan_fractions_text([ColumnScan("a", 0.5, 0.125, 0.13), ColumnScan("b", 1.0, 0.2, None)])
    'a 50.0% before, 12.5% predicted, 13.0% actual; b 100.0% before, 20.0% predicted'
    """
    return "; ".join(
        f"{scan.column} "
        + ", ".join(
            f"{100 * value:.1f}% {name}"
            for name, value in (("before", scan.before), ("predicted", scan.predicted), ("actual", scan.actual))
            if value is not None
        )
        for scan in scans
    )
