"""Carry out a rewrite: plan, sample, rewrite the file groups, commit them; and again what conflicts take."""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from copy import copy
from functools import partial

from pyiceberg.manifest import DataFile

from iceberg_zorder.errors import RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.catalog.retry import why
from iceberg_zorder.pyiceberg.commit.batches import Batch, BatchCommits, Tally
from iceberg_zorder.pyiceberg.commit.replacement import remove_dangling_deletes
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.file_names import WRITE_ID
from iceberg_zorder.pyiceberg.plan.plan_request import PlanRequest
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, plan_request
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext
from iceberg_zorder.pyiceberg.plan.summary import commit_properties, snapshot_properties
from iceberg_zorder.pyiceberg.progress import PLAN, Progress
from iceberg_zorder.pyiceberg.run.file_group_pool import FileGroupPool
from iceberg_zorder.pyiceberg.run.metrics_fix import fix_metrics
from iceberg_zorder.pyiceberg.run.outcome import WrittenFiles, dry_run_result, joined, scan_fractions_text
from iceberg_zorder.pyiceberg.run.rewrite_group import RewriteContext, rewrite_group
from iceberg_zorder.pyiceberg.write.file_writer import delete_files, try_to_write
from iceberg_zorder.request.result import RewriteResult
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.threads import available_cores
from iceberg_zorder.upkeep.gathering import makes_few
from iceberg_zorder.upkeep.settled import REQUEST, REWRITE_ID, SETTLED_FROM

logger = logging.getLogger("iceberg_zorder")

_ATTEMPTS = 3
"""How often a file group is rewritten, when other operations change its files meanwhile."""


class RewriteRunner:
    """Carries one rewrite out, from its request to its result.

    Parameters
    ----------
    request : PlanRequest
        What is asked for.
    progress : Progress
        Told of what is done.
    tally : Tally
        What is done is counted here, and is known however the rewrite ends.
    goes_on : callable
        With partial progress, asked before each file group whether to begin it.
    """

    def __init__(self, request: PlanRequest, progress: Progress, tally: Tally, goes_on: Callable[[], bool]) -> None:
        self._request = request
        self._table = request.table
        self._name = display_name(request.table)
        self._options = request.options
        self._progress = progress
        # The other half is for rows that are being read, sorted or written, and for holes that freed memory leaves.
        self._budget = MemoryBudget(request.options.memory_limit // 2)
        self._tally = tally
        self._goes_on: Callable[[], bool] = goes_on if request.options.partial_progress else lambda: True
        self._commits = BatchCommits(request.table, request.branch_name, request.options, self._tally)
        self._written = WrittenFiles()
        self._set: list[str] = []
        self._left: list[FileGroup] = []
        self._open = 0
        """File groups of the plan at hand that are neither committed nor left."""
        self._has_written = False
        self._settled_from: int | None = None
        self._id = uuid.uuid4().hex[:16]
        """The snapshot that was planned on first, if nothing is left for later."""
        self._done: set[str] = set()
        self._since = time.monotonic()

    def run(self, plan: RewritePlan) -> RewriteResult:
        """Rewrite, commit, and plan again as often as conflicts ask for it; raises as ``rewrite_data_files`` does."""
        tally = self._tally
        self._since = time.monotonic()
        if self._options.layout.dry_run:
            return dry_run_result(plan.sampled(self._progress))
        if not plan.groups:
            return RewriteResult(0, 0, 0, 0, 0, plan.message)
        with self._telling_what_is_left():
            try_to_write(self._table)
            sampled = self._sampled(plan)
        sampled.metrics.check()
        if sampled.is_whole and sampled.snapshot is not None:
            self._settled_from = sampled.snapshot.snapshot_id
        with self._telling_what_is_left():
            warnings = self._with_fixed_metrics(sampled)
            message = self._attempts(sampled)
            self._request.left_groups().remember(self._left)
            tally.failed_files += sum(len(group.tasks) for group in tally.lost)
            self._check_failed_commits()
            if self._options.remove_dangling_deletes:
                tally.removed_delete_files += remove_dangling_deletes(self._table, branch=self._request.branch_name)
        scan_fractions = self._written.scan_fractions()
        if scan_fractions:
            logger.info("Scan fractions of the rewrite of %s: %s", self._name, scan_fractions_text(scan_fractions))
        return RewriteResult(
            tally.rewritten_files,
            tally.added_files,
            tally.rewritten_bytes,
            tally.failed_files,
            tally.removed_delete_files,
            joined([message, *warnings, self._written.why_left(self._name), *self._why_less(sampled)]),
            scan_fractions,
            workload=self._written.workload_scan(),
        )

    def _why_less(self, plan: RewritePlan) -> list[str | None]:
        """Say what was not begun, and what has waited in vain for what was left once it was written."""
        waiting = self._tally.waiting
        not_begun = f"{waiting:,} file groups were not begun, because there was no time left." if waiting else None
        is_nothing = self._left and not self._tally.rewritten_files
        return [not_begun, plan.planned.limit_message.strip() if is_nothing and plan.planned else None]

    @contextmanager
    def _telling_what_is_left(self) -> Iterator[None]:
        """Have whatever goes wrong in a block end in a message that says what of the rewrite stands."""
        tally = self._tally
        try:
            with self._telling_what_was_set():
                yield
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
            raise self._failure(why(error)) from error

    @contextmanager
    def _telling_what_was_set(self) -> Iterator[None]:
        """Warn of the table properties that a rewrite leaves behind when it ends early."""
        try:
            yield
        except BaseException:
            if self._set:
                logger.warning("What the rewrite of %s set before it ended stays: %s", self._name, ", ".join(self._set))
            raise

    def _with_fixed_metrics(self, plan: RewritePlan) -> list[str]:
        """Set the metrics modes that the plan's columns want, and say so among its warnings."""
        wanted = plan.metrics.fixes
        fixed = fix_metrics(self._table, wanted) if wanted else []
        for each in fixed:
            logger.info("%s", each.setting())
            self._set.append(f"{each.key} = '{each.wanted}'")
        told = {each.setting(would=True): each.setting() if each in fixed else "" for each in wanted}
        return [told.get(warning, warning) for warning in plan.warnings]

    def _attempts(self, plan: RewritePlan) -> str | None:
        """Rewrite and commit what is sampled, and again what conflicts take; say so if nothing is left to do."""
        message = None if plan.groups else plan.message
        tally = self._tally
        for attempt in range(1, _ATTEMPTS + 1):
            tally.conflicts, tally.lost = [], []
            self._rewrite(plan)
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
                plan, message = self._planned_again()
        return message

    def _planned_again(self) -> tuple[RewritePlan, str | None]:
        """Plan and sample what conflicts took; say why nothing is rewritten, if that was all."""
        planned = plan_request(self._request, self._tally.lost, self._done)
        if not planned.groups:
            return planned, self._nothing_left()
        sampled = self._sampled(planned)
        is_all = not (sampled.groups or self._tally.rewritten_files)
        return sampled, sampled.message if is_all else None

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
            reason = f"no file group could be rewritten: {failed[-1] if failed else self._tally.failure}"
            raise self._failure(reason, RewriteConflictError if self._tally.conflicts else RewriteFailedError)
        if len(failed) > self._options.max_failed_commits:
            kind = RewriteConflictError if self._tally.conflicts else RewriteFailedError
            raise kind(
                f"Cannot complete the rewrite of {self._name}, because partial-progress.enabled is true but "
                f"{len(failed)} rewrite commits failed. This is more than the maximum allowed failures of "
                f"{self._options.max_failed_commits}. The log says why each failed; the other commits stand."
            )

    def _rewrite(self, plan: RewritePlan) -> None:
        """Rewrite the file groups of a sampled plan, and commit them in batches."""
        order, workload = plan.order, plan.request.workload
        if not plan.groups or plan.snapshot is None or plan.target is None or order is None:
            return
        self._written.begin(plan)
        layouts = [each.layout for each in plan.layouts]
        key = None if workload is None else workload.key
        properties = {**plan.request.summary, **snapshot_properties(order, layouts, plan.target, key)}
        wanted = self._open = len(plan.groups)
        size = -(-wanted // self._options.max_commits) if self._options.partial_progress else wanted
        # A commit refreshes the table while other file groups are read and written as it was.
        table = copy(self._table)
        context = RewriteContext(
            table,
            order,
            self._budget,
            self._options.spill_directory,
            self._progress,
            available_cores(),
            write_id=properties.get(WRITE_ID, ""),
        )
        most = self._options.max_concurrent_file_group_rewrites
        pool = FileGroupPool(context, rewrite_group, most, self._goes_on)
        batch: list[tuple[FileGroup, list[DataFile]]] = []
        self._has_written = True
        try:
            fitted = list(zip(plan.groups, layouts, strict=True))
            with closing(pool.outcomes(fitted)) as outcomes:
                for group, outcome in outcomes:
                    wanted -= 1
                    if isinstance(outcome, Exception):
                        self._failed("a file group", group, outcome)
                        continue
                    # From here on its files are deleted with those of the batch, should anything come between.
                    batch.append((group, outcome))
                    if self._is_left(group, outcome):
                        batch.pop()
                    elif len(batch) == size:
                        due, batch = batch, []
                        self._commit(plan, due, properties)
            self._tally.waiting += wanted
            due, batch = batch, []
            self._commit(plan, due, properties)
        except BaseException:
            delete_files(self._table, [file.file_path for _, files in batch for file in files])
            raise

    def _is_left(self, group: FileGroup, files: list[DataFile]) -> bool:
        """Leave a file group whose new files turn out to gain nothing, unless it is to be rewritten all the same."""
        if self._options.rewrite_all or group.is_due:
            return False
        written = self._written.files([(group, files)])
        are_few = makes_few(len(group.tasks), len(files))
        if are_few and math.isinf(self._options.max_scan_ratio):
            return False
        if not self._written.gain_nothing(written, are_few=are_few):
            return False
        delete_files(self._table, [file.file_path for file in files])
        self._written.left(written)
        self._left.append(group)
        self._open -= 1
        return True

    def _sampled(self, plan: RewritePlan) -> RewritePlan:
        """Take the layouts of a plan that has file groups, or fit them to those that can be read."""
        self._progress(PLAN, sum(group.rows for group in plan.groups), sum(group.input_size for group in plan.groups))
        # Partitions may have several file groups, of which some are lost: those alone are planned again.
        self._done.update(path for group in plan.groups for path in group.paths)
        if plan.is_sampled or plan.order is None:
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
        sampled = plan.sampled_in(context)
        self._done.update(path for group in sampled.groups for path in group.paths)
        return sampled

    def _commit(self, plan: RewritePlan, batch: Batch, properties: dict[str, str]) -> None:
        if not batch or plan.snapshot is None or plan.target is None or plan.order is None:
            return
        try:
            written = self._written.files(batch)
            of_commit = commit_properties(
                self._written.actual(written), self._written.predicted(written), time.monotonic() - self._since
            )
            of_commit |= {REQUEST: plan.request.key(plan.order, plan.target), REWRITE_ID: self._id}
            if self._settled_from is not None and self._is_last(batch):
                of_commit[SETTLED_FROM] = str(self._settled_from)
        except BaseException:
            delete_files(self._table, [file.file_path for _, files in batch for file in files])
            raise
        if self._commits.commit(plan.snapshot, batch, {**properties, **of_commit}):
            self._open -= len(batch)
            self._written.committed(written)
            self._done.update(file.file_path for _, files in batch for file in files)
            self._since = time.monotonic()

    def _is_last(self, batch: Batch) -> bool:
        """Tell whether all is done with a batch, and nothing has failed."""
        return len(batch) == self._open and not (self._tally.failed_files or self._tally.lost)

    def _failed(self, what: str, group: FileGroup, error: Exception) -> None:
        """Count a file group that failed, or end the rewrite where it is committed as a whole."""
        if not self._options.partial_progress:
            raise self._failure(f"{what} failed: {error}") from error
        logger.error(
            "Cannot rewrite file group %s of %s, because %s failed", group.index, self._name, what, exc_info=error
        )
        self._tally.failed_files += len(group.tasks)
        self._tally.failure = error

    def _failure(self, reason: str, kind: type[RewriteFailedError] = RewriteFailedError) -> RewriteFailedError:
        """Say why the rewrite cannot go on, and what is left of it."""
        commits = self._tally.commits
        left = (
            f"What {commits} commits have rewritten stands, and the other new files were deleted."
            if commits
            else f"Nothing was committed{', and the new files were deleted' if self._has_written else ''}."
        )
        return kind(f"Cannot complete the rewrite of {self._name}, because {reason.rstrip('.')}. {left}")
