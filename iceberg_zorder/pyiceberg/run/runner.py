"""The steps of one rewrite that leave traces: what was written, committed, lost or failed is known however it ends."""

from __future__ import annotations

import hashlib
import json
import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from copy import copy
from dataclasses import replace
from functools import partial

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.layout.box_tree import ADAPTIVE, BoxTree
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.layout.cuts import EVEN
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.layout_json import layout_hash
from iceberg_zorder.maintain.past_rewrites import SCAN_FRACTIONS
from iceberg_zorder.pyiceberg.catalog.retry import why
from iceberg_zorder.pyiceberg.commit.batches import CommitManager
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup, GroupResult, SampledGroup
from iceberg_zorder.pyiceberg.file_names import delete_files
from iceberg_zorder.pyiceberg.kept_bounds import fix_metrics
from iceberg_zorder.pyiceberg.plan.layouts import fit_plan
from iceberg_zorder.pyiceberg.plan.planner import key_of_request
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, SampledPlan
from iceberg_zorder.pyiceberg.plan.rewrite_spec import ResolvedSpec, RewriteSpec
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.scan_fractions import ScanFractions
from iceberg_zorder.pyiceberg.plan.selection.target_size import TargetSize
from iceberg_zorder.pyiceberg.progress import PLAN, Progress, silent
from iceberg_zorder.pyiceberg.run.rewrite_group import RewriteContext, rewrite_group
from iceberg_zorder.report.history import COLUMNS, CUTS, DURATION, LAYOUT_HASH, TARGET
from iceberg_zorder.request.result import ColumnScan, RewriteResult
from iceberg_zorder.request.rewrite_options import rewrite_options
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.threads import available_cores
from iceberg_zorder.upkeep.settled import REQUEST, REWRITE_ID, SETTLED_FROM

logger = logging.getLogger("iceberg_zorder")


class RewriteRun:
    """One rewrite: its books, its new files, and what the summaries of its snapshots say.

    With partial progress, ``goes_on`` is asked before each file group whether to begin it.
    """

    def __init__(
        self,
        table: Table,
        spec: RewriteSpec,
        progress: Progress = silent,
        goes_on: Callable[[], bool] = lambda: True,
        summary: Mapping[str, str] | None = None,
    ) -> None:
        self.table, self._name = table, display_name(table)
        self._options = rewrite_options(spec.options)
        self.commits = CommitManager(table, spec.branch, self._options)
        """The commits, and what they have done."""
        self.done: set[str] = set()
        """Data files that are in the table, or were, because of this rewrite, and those that it planned."""
        self.progress = progress
        # The other half is for rows that are being read, sorted or written, and for holes that freed memory leaves.
        self.budget = MemoryBudget(self._options.memory_limit // 2)
        self._goes_on: Callable[[], bool] = goes_on if self._options.partial_progress else lambda: True
        self._summary = {REWRITE_ID: uuid.uuid4().hex[:16], **(summary or {})}
        self._results: list[GroupResult] = []
        self._measure: ScanFractions | None = None
        self._set: list[str] = []
        self._open = 0
        """File groups of the plan at hand that are not committed."""
        self._has_written = False
        self._settled_from: int | None = None
        """The snapshot that was planned on first, if nothing is left for later."""
        self._since = time.monotonic()

    @contextmanager
    def telling_what_stands(self) -> Iterator[None]:
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

    def sampled(self, work: ResolvedSpec, plan: RewritePlan) -> SampledPlan:
        """Fit the layouts of a plan that has file groups to those that can be read, unless it has them."""
        rows, size = sum(group.rows for group in plan.groups), sum(group.input_size for group in plan.groups)
        self.progress(PLAN, rows, size)
        # Partitions may have several file groups, of which some are lost: those alone are planned again.
        self.done.update(path for group in plan.groups for path in group.data_files)
        if isinstance(plan, SampledPlan):
            return plan
        return fit_plan(work, plan, self.progress, self.budget, partial(self._failed, "sampling"))

    def begin(self, plan: SampledPlan) -> list[str]:
        """Set the metrics modes that a plan's columns want; returns the plan's warnings, which say so."""
        self._settled_from = plan.snapshot_id if plan.is_whole else None
        wanted = plan.metrics.fixes
        fixed = fix_metrics(self.table, wanted) if wanted else []
        for each in fixed:
            logger.info("%s", each.setting())
            self._set.append(f"{each.key} = '{each.wanted}'")
        told = {each.setting(would=True): each.setting() if each in fixed else "" for each in wanted}
        return [told.get(warning, warning) for warning in plan.warnings]

    def write(self, work: ResolvedSpec, plan: SampledPlan) -> Sequence[FileGroup]:
        """Rewrite the file groups of a plan, and commit them in batches; returns those that conflicts took."""
        self.commits.conflicts, self.commits.lost = [], []
        if not plan.groups:
            return ()
        assert plan.order is not None  # noqa: S101
        assert plan.target is not None  # noqa: S101
        layouts = [each.layout for each in plan.sampled_groups]
        properties = {
            **self._summary,
            **snapshot_properties(plan.order, layouts, plan.target),
            REQUEST: key_of_request(work, plan.order, plan.target),
        }
        self._measure = ScanFractions(self.table, plan.order, plan.kept, plan.lengths, work.workload)
        wanted = self._open = len(plan.groups)
        size = -(-wanted // self._options.max_commits) if self._options.partial_progress else wanted
        context = RewriteContext(
            # A commit refreshes the table while other file groups are read and written as it was.
            copy(self.table),
            plan.order,
            self.budget,
            self._options.spill_directory,
            self.progress,
            available_cores(),
            write_id=properties[REWRITE_ID],
        )
        commit = partial(self._commit, self.table.snapshot_by_id(plan.snapshot_id or 0), properties, self._measure)
        most = self._options.max_concurrent_file_group_rewrites
        pool = _rewritten_groups(context, plan.sampled_groups, most, self._goes_on)
        batch: list[tuple[SampledGroup, list[DataFile]]] = []
        self._has_written = True
        try:
            with closing(pool) as outcomes:
                for sampled, outcome in outcomes:
                    wanted -= 1
                    if isinstance(outcome, Exception):
                        self._failed("a file group", sampled.group, outcome)
                        continue
                    # From here on its files are deleted with those of the batch, should anything come between.
                    batch.append((sampled, outcome))
                    if len(batch) == size:
                        due, batch = batch, []
                        commit(due)
            self.commits.waiting += wanted
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
        measure: ScanFractions,
        batch: Sequence[tuple[SampledGroup, list[DataFile]]],
    ) -> None:
        if not batch:
            return
        assert start is not None  # noqa: S101
        try:
            results = [measure.result(*each) for each in batch]
            predicted = measure.predicted([each.sampled for each in results])
            seconds = time.monotonic() - self._since
            of_commit = commit_properties(measure.actual(results), predicted, seconds)
            is_last = len(batch) == self._open and not (self.commits.failed_files or self.commits.lost)
            if self._settled_from is not None and is_last:
                of_commit[SETTLED_FROM] = str(self._settled_from)
        except BaseException:
            self._delete(batch)
            raise
        if self.commits.commit(start, results, {**properties, **of_commit}):
            self._open -= len(batch)
            self._results += results
            self.done.update(file.file_path for each in results for file in each.files)
            self._since = time.monotonic()

    def _delete(self, batch: Sequence[tuple[SampledGroup, list[DataFile]]]) -> None:
        delete_files(self.table, [file.file_path for _, files in batch for file in files])

    def nothing_left(self, lost: Sequence[FileGroup]) -> str | None:
        """Say why nothing was rewritten, if other operations took all there was."""
        conflict = self.commits.conflicts[-1]
        self.commits.conflicts, self.commits.lost = [], []
        if self.commits.rewritten_files:
            logger.warning("%s file groups of %s are no longer there: %s", len(lost), self._name, conflict)
            return None
        return (
            f"Nothing left to rewrite in {self._name}: other operations changed the data files of {len(lost)} file "
            f"groups meanwhile. {conflict}"
        )

    def check(self) -> None:
        """Count what conflicts took for good, and raise if more failed than is tolerated."""
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
                f"{self._options.max_failed_commits}. The log says why each failed; the other commits stand."
            )

    def result(self, message: str | None, warnings: Sequence[str]) -> RewriteResult:
        """Tell what was done."""
        commits, measure, results = self.commits, self._measure if self._results else None, self._results
        sampled = [each.sampled for each in results]
        scans = measure.column_scans(sampled, results) if measure else ()
        if scans:
            logger.info("Scan fractions of the rewrite of %s: %s", self._name, _scan_fractions_text(scans))
        waiting = f"{commits.waiting:,} file groups were not begun, because there was no time left."
        said = [message, *warnings, waiting if commits.waiting else None]
        return RewriteResult(
            commits.rewritten_files,
            commits.added_files,
            commits.rewritten_bytes,
            commits.failed_files,
            commits.removed_delete_files,
            joined(*said),
            scans,
            workload=measure.workload_scan(sampled, results) if measure else None,
        )

    def _failed(self, what: str, group: FileGroup, error: Exception) -> None:
        """Count a file group that failed, or end the rewrite where it is committed as a whole."""
        if not self._options.partial_progress:
            raise self._failure(f"{what} failed: {error}") from error
        logger.error(
            "Cannot rewrite file group %s of %s, because %s failed", group.index, self._name, what, exc_info=error
        )
        self.commits.failed_files += group.data_files_count
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


def joined(*sentences: str | None) -> str | None:
    """Join sentences; None without any."""
    return " ".join(each for each in sentences if each) or None


def _scan_fractions_text(scans: Sequence[ColumnScan]) -> str:
    """Write scan fractions in a line."""
    return "; ".join(
        f"{scan.column} "
        + ", ".join(
            f"{100 * value:.1f}% {name}"
            for name, value in (("before", scan.before), ("predicted", scan.predicted), ("actual", scan.actual))
            if value is not None
        )
        for scan in scans
    )


def _rewritten_groups(
    context: RewriteContext,
    groups: Sequence[SampledGroup],
    most: int,
    goes_on: Callable[[], bool],
) -> Generator[tuple[SampledGroup, list[DataFile] | Exception], None, None]:
    """Rewrite file groups, so many at a time at most, each in a thread of its own with some threads more.

    The threads of the context are those of all that run at a time. It is asked before each is begun whether to go on;
    all end when the generator is closed.
    """
    waiting, running = deque(groups), dict[Future[list[DataFile]], tuple[SampledGroup, int]]()
    with ThreadPoolExecutor(min(most, max(1, len(groups))), "iceberg-zorder-group") as pool:
        try:
            while True:
                # Start file groups while there are threads for the next one.
                while waiting and len(running) < most:
                    # A thread for each new file, and its part of all.
                    wanted = max(waiting[0].group.expected_output_files, context.threads // len(groups), 1)
                    share = min(context.threads, wanted)
                    if sum(busy for _, busy in running.values()) + share > context.threads or not goes_on():
                        break
                    each = waiting.popleft()
                    shared = replace(context, threads=share)
                    running[pool.submit(rewrite_group, shared, each.group, each.layout)] = each, share
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(finished, key=lambda done: running[done][0].group.index):
                    sampled, _ = running.pop(future)
                    error = future.exception()
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    yield sampled, error or future.result()
        finally:
            context.stopped.set()
            for future in running:
                # Wait for a file group, and take its files if it has not failed.
                if not future.exception():
                    delete_files(context.table, [file.file_path for file in future.result()])


def snapshot_properties(order: RowOrder, layouts: Sequence[Layout], target: TargetSize) -> dict[str, str]:
    """Describe layouts for the summary of the snapshot that they were used for."""
    hashes = sorted(layout_hash(layout) for layout in layouts)
    is_plain = order.curve == ZORDER and not order.prefix
    return {
        COLUMNS: ",".join(column.name for column in order.columns) if is_plain else order.sort_order,
        CUTS: ADAPTIVE if isinstance(layouts[0].cuts, BoxTree) else EVEN,
        LAYOUT_HASH: hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest(),
        TARGET: f"{target.size} {target.origin}",
    }


def commit_properties(
    scan_fractions: Mapping[str, float], predicted: Mapping[str, float], seconds: float
) -> dict[str, str]:
    """Describe one commit of a rewrite.

    Examples
    --------
    >>> commit_properties({"a": 0.125}, {"a": 0.12}, 1.5)
    {'zorder.scan-fractions': '{"a": {"predicted": 0.12, "actual": 0.125}}', 'zorder.rewrite-duration-ms': '1500'}
    """
    told = (("predicted", predicted), ("actual", scan_fractions))
    columns = dict.fromkeys((*predicted, *scan_fractions))
    fractions = {name: {key: round(of[name], 6) for key, of in told if name in of} for name in columns}
    return {SCAN_FRACTIONS: json.dumps(fractions), DURATION: str(round(1000 * seconds))}
