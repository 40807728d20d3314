"""Rewrite a table from a PyIceberg script, without a JVM.

All steps of a rewrite, from :class:`RewriteSpec` to :class:`RewriteResult`:

    list     plan_spec      resolve a spec on the table: columns, filter, branch, queries, data files
    select                  choose data files by size, deletes, age and gain: a RewritePlan
    sample   fit_plan       read a sample of each file group's clustering columns
    fit                     fit its layout, and drop groups without predicted gain: a SampledPlan
    write    run.write      read each file group once, route its rows to their files, sort and write them
    commit                  one replace snapshot, or several with partial progress; returns groups lost to conflicts
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyiceberg.expressions import BooleanExpression
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.pyiceberg.catalog import renewed
from iceberg_zorder.pyiceberg.commit.replacement import DanglingDeletesCommit
from iceberg_zorder.pyiceberg.files import Progress, display_name, silent
from iceberg_zorder.pyiceberg.listing.listing import Listing
from iceberg_zorder.pyiceberg.plan.layouts import fit_plan
from iceberg_zorder.pyiceberg.plan.planner import current, plan_again, plan_spec
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, SampledPlan
from iceberg_zorder.pyiceberg.plan.rewrite_spec import (
    ResolvedSpec,
    RewriteSpec,
)
from iceberg_zorder.pyiceberg.plan.scan_measure import predicate_scan
from iceberg_zorder.pyiceberg.run import RewriteRun
from iceberg_zorder.pyiceberg.write.file_writer import try_to_write
from iceberg_zorder.rewrite.messages import DRY_RUN
from iceberg_zorder.rewrite.options import OptionValue, option_text, sort_order_text
from iceberg_zorder.rewrite.result import RewriteResult
from iceberg_zorder.sort.memory_budget import MemoryBudget

_LOG = logging.getLogger("iceberg_zorder")
_ATTEMPTS = 3
"""Attempts to rewrite a file group that loses to concurrent operations."""


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
        A table of format version 1 or 2 with Parquet files. The call refreshes its metadata.
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
        work, plan = plan_spec(table, spec)
        return run_plan(RewriteRun(table, plan.spec, progress), work, plan)


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
    conditions = [(str(each), Listing(table, each, case_sensitive=by_case)) for each in predicates]
    with renewed(table):
        work, plan = current(table, plan)
        sampled = _sampled(work, plan, progress)
    fields = sampled.measure.fields if sampled.measure else ()
    scans = (predicate_scan(*each, sampled.groups, sampled.sampled_groups, fields) for each in conditions)
    return replace(sampled, predicates=tuple(scans)) if conditions else sampled


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


def run_plan(run: RewriteRun, work: ResolvedSpec, plan: RewritePlan) -> RewriteResult:
    """Sample, fit, write and commit; plan groups lost to conflicts again. Raises as :func:`rewrite_data_files`."""
    if work.options.layout.dry_run:
        return _dry_run_result(_sampled(work, plan, run.progress))
    if not plan.groups:
        return RewriteResult(0, 0, 0, 0, 0, plan.message)
    with run.report_commits_on_failure():
        try_to_write(run.table)
        sampled = run.sample(work, plan)
    sampled.metrics.check()
    with run.report_commits_on_failure():
        warnings, message = run.set_metrics_modes(sampled), None if sampled.groups else sampled.message
        modes_set = [each for each in warnings if each not in sampled.warnings]
        for attempt in range(1, _ATTEMPTS + 1):
            lost = run.write(work, sampled)
            if not lost:
                break
            then = "given up" if attempt == _ATTEMPTS else "planned and rewritten again"
            said = len(lost), plan.table, then, run.commits.conflicts[-1]
            _LOG.warning("%s file groups of %s are %s: %s", *said)
            if attempt < _ATTEMPTS:
                work, plan = plan_again(run.table, sampled, lost)
                if not plan.groups:
                    message = run.drop_vanished_groups(lost)
                    break
                sampled = run.sample(work, plan)
                message = None if sampled.groups or run.commits.rewritten_files else sampled.message
                if not run.commits.rewritten_files:
                    warnings = [*modes_set, *sampled.warnings]
        run.check_failures()
        if work.options.remove_dangling_deletes:
            dangling = DanglingDeletesCommit(run.table, branch=plan.spec.branch, snapshot_properties=run.summary)
            dangling.run()
            run.commits.removed_delete_files += dangling.removed
    return run.result(message, warnings)


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


def _sampled(work: ResolvedSpec, plan: RewritePlan, progress: Progress) -> SampledPlan:
    """Sample a plan for display, unless it is sampled."""
    if isinstance(plan, SampledPlan):
        return plan
    try:
        sampled = fit_plan(work, plan, progress, MemoryBudget(work.options.memory_limit // 2))
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
