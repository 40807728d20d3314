"""Carry out a rewrite: plan, sample, rewrite the file groups, commit them; and again what conflicts take."""

from __future__ import annotations

import logging
from contextlib import closing
from copy import copy
from dataclasses import dataclass, field
from functools import partial

from pyiceberg.manifest import DataFile
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.commit.replacement import Replacement, commit_replacement, remove_dangling_deletes
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_group_pool import FileGroupPool
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.plan.layouts import fit_layouts
from iceberg_zorder.pyiceberg.plan.plan_request import PlanRequest
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, plan_request
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext
from iceberg_zorder.pyiceberg.plan.summary import snapshot_properties
from iceberg_zorder.pyiceberg.progress import PLAN, Progress
from iceberg_zorder.pyiceberg.rewrite_group import RewriteContext, rewrite_group
from iceberg_zorder.pyiceberg.write.file_writer import delete_files
from iceberg_zorder.request.result import RewriteResult
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.threads import available_cores

logger = logging.getLogger("iceberg_zorder")

_ATTEMPTS = 3
"""How often a file group is rewritten, when other operations change its files meanwhile."""


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


class RewriteRunner:
    """Carries one rewrite out, from its request to its result.

    Parameters
    ----------
    request : PlanRequest
        What is asked for.
    progress : Progress
        Told of what is done.
    """

    def __init__(self, request: PlanRequest, progress: Progress) -> None:
        self._request = request
        self._table = request.table
        self._name = display_name(request.table)
        self._options = request.options
        self._progress = progress
        # The other half is for rows that are being read, sorted or written, and for holes that freed memory leaves.
        self._budget = MemoryBudget(request.options.memory_limit // 2)
        self._tally = _Tally()

    def run(self, plan: RewritePlan) -> RewriteResult:
        """Rewrite, commit, and plan again as often as conflicts ask for it; raises as ``rewrite_data_files`` does."""
        tally = self._tally
        if not plan.groups:
            return tally.result(plan.message)
        try:
            message = self._attempts(plan)
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

    def _attempts(self, plan: RewritePlan) -> str | None:
        """Rewrite and commit what there is to do, and again what conflicts take; say so if others left nothing."""
        message = None
        tally = self._tally
        for attempt in range(1, _ATTEMPTS + 1):
            if not plan.groups:
                message = self._nothing_left()
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
                plan = plan_request(self._request, tally.lost)
        return message

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
            why = f"no file group could be rewritten: {failed[-1] if failed else self._tally.failure}"
            raise self._failure(why, RewriteConflictError if self._tally.conflicts else RewriteFailedError)
        if len(failed) > self._options.max_failed_commits:
            kind = RewriteConflictError if self._tally.conflicts else RewriteFailedError
            raise kind(
                f"Cannot complete the rewrite of {self._name}, because partial-progress.enabled is true but "
                f"{len(failed)} rewrite commits failed. This is more than the maximum allowed failures of "
                f"{self._options.max_failed_commits}. The log says why each failed; the other commits stand."
            )

    def _rewrite(self, plan: RewritePlan) -> None:
        """Rewrite file groups of a snapshot, and commit them in batches."""
        groups, order, snapshot = plan.groups, plan.order, plan.snapshot
        if not groups or snapshot is None:
            return
        self._progress(PLAN, sum(group.rows for group in groups), sum(group.input_size for group in groups))
        fitted = self._fitted(plan)
        if not fitted:
            return
        properties = snapshot_properties(order, [layout for _, layout in fitted])
        size = -(-len(groups) // self._options.max_commits) if self._options.partial_progress else len(groups)
        # A commit refreshes the table while other file groups are read and written as it was.
        table = copy(self._table)
        context = RewriteContext(
            table, order, self._budget, self._options.spill_directory, self._progress, available_cores()
        )
        pool = FileGroupPool(context, rewrite_group, self._options.max_concurrent_file_group_rewrites)
        batch: list[tuple[FileGroup, list[DataFile]]] = []
        try:
            with closing(pool.outcomes(fitted)) as outcomes:
                for group, outcome in outcomes:
                    if isinstance(outcome, Exception):
                        self._failed("a file group", group, outcome)
                        continue
                    batch.append((group, outcome))
                    if len(batch) == size:
                        due, batch = batch, []
                        self._commit(snapshot, due, properties)
            due, batch = batch, []
            self._commit(snapshot, due, properties)
        except BaseException:
            delete_files(self._table, [file.file_path for _, files in batch for file in files])
            raise

    def _fitted(self, plan: RewritePlan) -> list[tuple[FileGroup, Layout]]:
        """Take the layouts of the plan, or fit them, to those file groups that can be read."""
        if plan.is_sampled:
            return [(group, each.layout) for group, each in zip(plan.groups, plan.layouts, strict=True)]
        context = SampleContext(
            self._table,
            plan.order,
            self._options.layout,
            self._progress,
            partial(self._failed, "sampling"),
            self._budget,
        )
        return fit_layouts(context, plan.groups)

    def _failed(self, what: str, group: FileGroup, error: Exception) -> None:
        """Count a file group that failed, or end the rewrite where it is committed as a whole."""
        if not self._options.partial_progress:
            raise self._failure(f"{what} failed: {error}") from error
        logger.error(
            "Cannot rewrite file group %s of %s, because %s failed", group.index, self._name, what, exc_info=error
        )
        self._tally.failed_files += len(group.tasks)
        self._tally.failure = error

    def _failure(self, why: str, kind: type[RewriteFailedError] = RewriteFailedError) -> RewriteFailedError:
        """Say why the rewrite cannot go on, and what is left of it."""
        commits = self._tally.commits
        left = (
            f"What {commits} commits have rewritten stands, and the other new files were deleted."
            if commits
            else "Nothing was committed, and the new files were deleted."
        )
        return kind(f"Cannot complete the rewrite of {self._name}, because {why.rstrip('.')}. {left}")

    def _commit(
        self, snapshot: Snapshot, batch: list[tuple[FileGroup, list[DataFile]]], properties: dict[str, str]
    ) -> None:
        if not batch:
            return
        # They come as they are done, and are committed in one order whichever was first.
        batch = sorted(batch, key=lambda each: each[0].index)
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
