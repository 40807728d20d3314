"""Rewrite a table from a PyIceberg script, without a JVM.

All steps of a rewrite, from :class:`RewriteSpec` to :class:`RewriteResult`:

    list     plan_spec      resolve a spec on the table: columns, filter, branch, queries, data files
    select                  choose data files by size, deletes, age and gain: a RewritePlan
    sample   sample_plan    read a sample of each file group's clustering columns
    fit                     fit its layout, and drop groups without predicted gain: a SampledPlan
    write    run.write      read each file group once, route its rows to their files, sort and write them
    commit                  one replace snapshot, or several with partial progress; returns groups with conflicts
    result   result_of      counts, scan fractions and a message
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from pyiceberg.expressions import BooleanExpression
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, RewriteFailedError
from iceberg_zorder.figures import count
from iceberg_zorder.pyiceberg.bounds import fix_metrics
from iceberg_zorder.pyiceberg.catalog import renewed
from iceberg_zorder.pyiceberg.commit.replacement import CommitManager, DanglingDeletesCommit
from iceberg_zorder.pyiceberg.files import FileGroup, GroupResult, Progress, display_name, silent
from iceberg_zorder.pyiceberg.listing.listing import FileFilter, kept_fields
from iceberg_zorder.pyiceberg.outcome import check_failures, failure, naming_commits, result_of
from iceberg_zorder.pyiceberg.plan.layouts import sample_plan
from iceberg_zorder.pyiceberg.plan.planner import current, plan_again, plan_spec
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, SampledPlan
from iceberg_zorder.pyiceberg.plan.rewrite_spec import ResolvedSpec, RewriteSpec
from iceberg_zorder.pyiceberg.plan.scan_measure import predicate_scan
from iceberg_zorder.pyiceberg.run import RewriteRun
from iceberg_zorder.pyiceberg.write.file_writer import try_to_write
from iceberg_zorder.rewrite.messages import DRY_RUN
from iceberg_zorder.rewrite.options import OptionValue, option_text, sort_order_text
from iceberg_zorder.rewrite.result import RewriteResult
from iceberg_zorder.sort.memory_budget import MemoryBudget

_LOG = logging.getLogger("iceberg_zorder")
_ATTEMPTS = 3
"""Attempts to rewrite a file group that conflicts with other operations."""


def rewrite_data_files(
    table: Table,
    columns: Sequence[str] | str | None = None,
    *,
    where: str | BooleanExpression | None = None,
    options: Mapping[str, OptionValue] | None = None,
    branch: str | None = None,
    case_sensitive: bool = False,
    progress: Progress = silent,
) -> RewriteResult:
    """Rewrite a table's data files so that each file holds a narrow range of every clustering column.

    Parameters
    ----------
    table : pyiceberg.table.Table
        A table with Parquet files. The call refreshes its metadata.
    columns : sequence of str, or str, optional
        The clustering columns, with dots for nested fields and backticks around special characters. Or a sort order as
        in SQL: ``"region DESC, hilbert(a, b)"``. The default is the table's property ``zorder.columns``.
    where : str or pyiceberg.expressions.BooleanExpression, optional
        Rewrite only the data files that may hold rows for which this condition is true.
    options : mapping of str to bool, int, float, str or mapping, optional
        The options of the Spark engine, and two more. ``memory-limit-bytes`` limits the memory for rows, in
        [16 MiB, 2^63) bytes; the default is a quarter of the memory that this process may use. Rows above the limit
        go to disk, into ``spill-directory``. Options override the table's property ``zorder.options``.
    branch : str, optional
        The branch to rewrite.
    case_sensitive : bool, optional
        Whether names of columns are case-sensitive.
    progress : Progress, optional
        A callback that receives progress; see :mod:`iceberg_zorder.pyiceberg.files`.

    Returns
    -------
    RewriteResult
        Counts of files, the shares of the table that filters read, and the reason if nothing was rewritten.

    Raises
    ------
    InvalidInputError
        When an argument or a table property is invalid; no row has been read. With ``metrics-check`` = ``fail``, also
        when a column's lower/upper bounds are missing or too short; no row has been written.
    RewriteConflictError
        When other writers changed the same files in every attempt. The new files are deleted.
    UnknownOutcomeError
        When the catalog gave no clear answer to a commit. Nothing is deleted.
    RewriteFailedError
        When a file group or a commit failed. The message says what was committed; uncommitted files are deleted. The
        two errors above are subclasses.

    Examples
    --------
    >>> table = lake.load_table("db.events")  # of five files
    >>> result = rewrite_data_files(table, ["user_id", "ts"], options={"rewrite-all": True})
    >>> result.rewritten_data_files_count, result.added_data_files_count, table.scan().count()
    (5, 1, 5000)
    >>> rewrite_data_files(table, ["user_id", "nope"])
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot cluster by column 'nope', because lake.db.events has no such \
column: it has user_id, ts
    """
    spec = _spec(table, columns, where, options, branch, case_sensitive)
    with renewed(table):
        resolved, plan = plan_spec(table, spec)
        return run_plan(RewriteRun(table, plan.spec, progress), resolved, plan)


def plan_rewrite(
    table: Table,
    columns: Sequence[str] | str | None = None,
    *,
    where: str | BooleanExpression | None = None,
    options: Mapping[str, OptionValue] | None = None,
    branch: str | None = None,
    case_sensitive: bool = False,
) -> RewritePlan:
    """Plan the rewrite that :func:`rewrite_data_files` would do with the same arguments.

    Planning reads manifests, and no data.

    Parameters
    ----------
    table, columns, where, options, branch, case_sensitive
        As for :func:`rewrite_data_files`. The call refreshes the table's metadata.

    Returns
    -------
    RewritePlan
        The plan: print it, look at its ``groups`` and ``left``, :func:`sample` it, :func:`execute` it.

    Raises
    ------
    InvalidInputError
        When an argument or a table property is invalid.

    Examples
    --------
    >>> table = lake.load_table("db.events")  # of five files
    >>> plan = plan_rewrite(table, ["user_id", "ts"])
    >>> plan.groups[0].reason
    '5 files below min-file-size-bytes 3,145,728'
    >>> plan = plan_rewrite(table, ["user_id", "ts"], options={"rewrite-all": True})
    >>> sampled = sample(table, plan)
    >>> [(scan.column, scan.predicted, scan.files_predicted) for scan in sampled.scans]
    [('user_id', 1.0, 1.0), ('ts', 1.0, 1.0)]
    >>> execute(table, sampled).rewritten_data_files_count
    5
    >>> execute(table, sampled)
    Traceback (most recent call last):
    iceberg_zorder.errors.StalePlanError: Cannot execute the plan of lake.db.events, because data file ...
    """
    spec = _spec(table, columns, where, options, branch, case_sensitive)
    with renewed(table):
        return plan_spec(table, spec)[1]


def sample(
    table: Table,
    plan: RewritePlan,
    *,
    predicates: Sequence[str | BooleanExpression] = (),
    progress: Progress = silent,
) -> SampledPlan:
    """Read a sample of the clustering columns, and add layouts and predictions to the plan.

    A rewrite of this plan computes the same layouts. Predictions read a second sample of the same size. A file group
    moves to ``left`` if its rewrite would not make filters cost less, unless it must be rewritten. The call writes
    nothing.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table of the plan.
    plan : RewritePlan
        The plan. A sampled plan keeps its layouts.
    predicates : sequence of str or pyiceberg.expressions.BooleanExpression, optional
        Conditions; the result has the share of the planned files that each reads, before and after the rewrite.
    progress : Progress, optional
        A callback that receives every file that was read.

    Returns
    -------
    SampledPlan
        The plan with layouts and predictions.

    Raises
    ------
    InvalidInputError
        When the plan is stale or a condition is invalid. With ``metrics-check`` = ``fail``, also when a column's
        lower/upper bounds are missing or too short.
    RewriteFailedError
        When a data file or a delete file cannot be read.
    """
    by_case = plan.spec.case_sensitive
    with renewed(table):
        resolved, plan = current(table, plan)
        filters = [FileFilter.from_where(table, each, case_sensitive=by_case) for each in predicates]
        sampled = _sampled(table, resolved, plan, progress)
    fields = sampled.measure.fields if sampled.measure else ()
    scans = (
        predicate_scan(str(text), by, kept_fields(table, [by]), sampled.groups, sampled.sampled_groups, fields)
        for text, by in zip(predicates, filters, strict=True)
    )
    return replace(sampled, predicates=tuple(scans)) if predicates else sampled


def execute(table: Table, plan: RewritePlan, *, progress: Progress = silent) -> RewriteResult:
    """Rewrite the data files of a plan; a sampled plan keeps its layouts.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table of the plan.
    plan : RewritePlan
        A plan of this engine, or a plan of Spark's that :meth:`RewritePlan.from_json` has read. If another
        writer changes files of a file group first, the call plans the group's remaining files again, and no others.
    progress : Progress, optional
        A callback that receives progress; see :mod:`iceberg_zorder.pyiceberg.files`.

    Returns
    -------
    RewriteResult
        Counts of files, the shares of the table that filters read, and the reason if nothing was rewritten.

    Raises
    ------
    InvalidInputError
        When the plan is stale, or belongs to another table; no row has been read or written.
    RewriteFailedError
        As :func:`rewrite_data_files`.
    """
    return execute_with(RewriteRun(table, plan.spec, progress), plan)


def execute_with(run: RewriteRun, plan: RewritePlan) -> RewriteResult:
    """Execute a plan as :func:`execute` does; ``run`` shows what was committed, also after an error."""
    with renewed(run.table):
        return run_plan(run, *current(run.table, plan))


def run_plan(run: RewriteRun, resolved: ResolvedSpec, plan: RewritePlan) -> RewriteResult:
    """Sample, fit, write and commit; plan groups with conflicts again. Raises as :func:`rewrite_data_files`."""
    if resolved.options.layout.dry_run:
        return _dry_run_result(_sampled(run.table, resolved, plan, run.progress))
    if not plan.groups:
        return RewriteResult(0, 0, 0, 0, 0, plan.message)
    commits, sampling_failed = run.commits, partial(run.group_failed, "sampling")
    with naming_commits(commits):
        try_to_write(run.table)
        sampled = sample_plan(run.table, resolved, plan, run.progress, run.budget, sampling_failed)
    sampled.metrics.check()
    attempts: list[tuple[SampledPlan, list[GroupResult]]] = []
    with naming_commits(commits):
        modes = _set_metrics_modes(commits, sampled)
        end_marker = sampled.end_marker
        for remaining in reversed(range(_ATTEMPTS)):
            committed, conflicting = run.write(resolved, sampled, end_marker)
            attempts.append((sampled, committed))
            if not conflicting:
                break
            then, cause = "planned and rewritten again" if remaining else "given up", commits.conflicts[-1]
            _LOG.warning("%s file groups of %s are %s: %s", len(conflicting), plan.table, then, cause)
            if not remaining:
                break
            resolved, plan = _planned_again(run, resolved, sampled, conflicting)
            if not plan.groups:
                commits.forget_conflicts()
                attempts[-1] = replace(sampled, message=_why_gone(commits, len(conflicting), cause)), committed
                break
            sampled = sample_plan(run.table, resolved, plan, run.progress, run.budget, sampling_failed)
        check_failures(commits)
        if resolved.options.remove_dangling_deletes:
            dangling = DanglingDeletesCommit(run.table, branch=plan.spec.branch, snapshot_properties=run.summary)
            dangling.run()
            commits.removed_delete_files += dangling.removed
    measure = next((plan.measure for plan, _ in reversed(attempts) if plan.groups), None)
    message = _message(attempts, modes, commits)
    return result_of(commits, message, measure, [each for _, committed in attempts for each in committed])


def _planned_again(
    run: RewriteRun, resolved: ResolvedSpec, plan: SampledPlan, conflicting: Sequence[FileGroup]
) -> tuple[ResolvedSpec, RewritePlan]:
    """Plan file groups with conflicts again, by the same columns; raises RewriteConflictError if that is refused."""
    try:
        again, remaining = plan_again(run.table, plan, conflicting)
        if _columns(again) != _columns(resolved):
            raise InvalidInputError("the columns that the table is clustered by have changed")
    except InvalidInputError as error:
        # The schema or the partition spec may have changed, too.
        why = f"its file groups conflict with other operations and cannot be planned again: {error}"
        raise failure(run.commits, why, RewriteConflictError) from error
    return again, remaining


def _columns(resolved: ResolvedSpec) -> list[str]:
    return [each.name for each in resolved.order.named] if resolved.order else []


def _why_gone(commits: CommitManager, groups: int, cause: Exception) -> str | None:
    """Return why nothing was rewritten if the files of all remaining file groups are gone; None if something was."""
    if commits.count:
        _LOG.warning("%s file groups of %s were removed by other operations: %s", groups, commits.name, cause)
        return None
    return (
        f"Nothing left to rewrite in {commits.name}: other operations changed the data files of {groups} file groups "
        f"meanwhile. {cause}"
    )


def _set_metrics_modes(commits: CommitManager, plan: SampledPlan) -> dict[str, str]:
    """Set the metrics modes that a plan's columns need; returns what was done, by the text of the intention."""
    wanted = plan.metrics.fixes
    fixed = fix_metrics(commits.table, wanted) if wanted else []
    for each in fixed:
        _LOG.info("%s", each.setting())
        commits.properties_set.append(f"{each.key} = '{each.wanted}'")
    return {each.setting(would=True): each.setting() if each in fixed else "" for each in wanted}


def _message(
    attempts: Sequence[tuple[SampledPlan, list[GroupResult]]], modes: Mapping[str, str], commits: CommitManager
) -> str | None:
    """Return the message and the warnings of the first plan with a commit, or else of the last one."""
    waiting = commits.waiting
    plan = next((plan for plan, committed in attempts if committed), attempts[-1][0])
    set_before = [done for intention, done in modes.items() if intention not in plan.warnings]
    warnings = [*set_before, *(modes.get(each, each) for each in plan.warnings)]
    not_begun = f"{waiting:,} file groups were not begun, because there was no time left." if waiting else None
    translated = (
        f"Other writers deleted or moved {count(commits.translated_deletes, 'row')} meanwhile: they are deleted from "
        f"the new files by {count(commits.translated_delete_files, 'delete file')}, which took "
        f"{commits.translation_seconds:.1f} seconds."
        if commits.translated_deletes
        else None
    )
    if translated:
        _LOG.info("%s: %s", commits.name, translated)
    return " ".join(filter(None, (plan.message, *warnings, not_begun, translated))) or None


def _spec(
    table: Table,
    columns: Sequence[str] | str | None,
    where: str | BooleanExpression | None,
    options: Mapping[str, OptionValue] | None,
    branch: str | None,
    case_sensitive: bool,
) -> RewriteSpec:
    written = {name: option_text(name, value) for name, value in (options or {}).items()}
    by = None if columns is None else sort_order_text(display_name(table), columns)
    return RewriteSpec(by, where, written, branch or MAIN_BRANCH, case_sensitive)


def _sampled(table: Table, resolved: ResolvedSpec, plan: RewritePlan, progress: Progress) -> SampledPlan:
    """Sample a plan for display, unless it is sampled."""
    if isinstance(plan, SampledPlan):
        return plan
    try:
        sampled = sample_plan(table, resolved, plan, progress, MemoryBudget(resolved.options.memory_limit // 2))
    except Exception as error:
        why = f"{str(error).rstrip('.')}. Nothing was written."
        raise RewriteFailedError(f"Cannot sample {plan.table}, because {why}") from error
    sampled.metrics.check()
    for intended in sampled.metrics.intended:
        _LOG.warning("%s", intended)
    return sampled


def _dry_run_result(plan: SampledPlan) -> RewriteResult:
    """Return the expected result of a sampled plan."""
    return RewriteResult(
        sum(group.data_files_count for group in plan.groups),
        sum(each.layout.files for each in plan.sampled_groups),
        sum(group.input_size for group in plan.groups),
        0,
        0,
        " ".join(filter(None, (DRY_RUN, plan.message, *plan.warnings))),
        plan.scans,
        dry_run=True,
        expected_seconds=plan.expected_seconds,
        predicates=plan.predicates,
        workload=plan.workload if plan.groups else None,
        before=plan.before,
        after=plan.after,
    )
