"""Rewrite a table along a z-order curve from a PyIceberg script, without a JVM.

The stages, in order:

    check    the options, the columns, the filter and the branch, before anything is read
    plan     choose data files by Iceberg's rules of sizes and deletes and by what filters gain, and group them
    sample   the clustering columns of every file group, fit its layout, and leave what is not predicted to gain
    fix      if that is asked for, set the metrics modes that columns need, in a commit of the table's properties
    rewrite  read each file group once, send its rows to their files, sort and write them
    commit   one replace snapshot, or several with partial progress; what a conflict takes is planned and done again
    result   RewriteResult, Iceberg's five counts, scan fractions, and why nothing was rewritten if so
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyiceberg.expressions import BooleanExpression
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.catalog.renewal import renewed
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.plan.plan_request import PlanRequest
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, plan_request
from iceberg_zorder.pyiceberg.progress import Progress, silent
from iceberg_zorder.pyiceberg.run.runner import RewriteRunner
from iceberg_zorder.request.arguments import OptionValue, option_text, sort_order_text
from iceberg_zorder.request.result import RewriteResult


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
    """Rewrite a table's data files so that each is a small box in the space of the clustering columns.

    Parameters
    ----------
    table : pyiceberg.table.Table
        A table of format version 1 or 2 with Parquet files; afterwards it has the new metadata.
    columns : sequence of str, or str, optional
        The clustering columns; nested fields are dotted, special characters stand in backticks. Or a sort order in one
        text, as in SQL: ``"region DESC, hilbert(a, b)"``. By default what the table's property ``zorder.columns`` says.
    where : str or pyiceberg.expressions.BooleanExpression, optional
        Rewrite only the data files that may hold rows for which this is true.
    options : mapping of str to bool, int, float, str or mapping, optional
        The options of the Spark engine (with ``dry-run`` nothing is written), and ``memory-limit-bytes``: bytes of
        memory, in [16 MiB, 2^63), by default a quarter of what this process may have (the machine's, or what its
        control groups allow), half of it for rows that wait for their file. What has no room is held on disk, in
        ``spill-directory`` if that is set. They win over those of the table's property ``zorder.options``.
    branch : str, optional
        The branch to rewrite.
    case_sensitive : bool, optional
        Whether names of columns differ by case.
    progress : Progress, optional
        Told of what is done; see :mod:`iceberg_zorder.pyiceberg.progress`.

    Returns
    -------
    RewriteResult
        The counts, the scan fractions, and why nothing was rewritten if so.

    Raises
    ------
    InvalidInputError
        When an argument, or a property of the table, cannot be honoured; no row was read or written then. With
        ``metrics-check`` = ``fail`` also when bounds do not tell sampled values apart; no row was written then.
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
    plan = plan_rewrite(table, columns, where=where, options=options, branch=branch, case_sensitive=case_sensitive)
    with renewed(table):
        return RewriteRunner(plan.request, progress).run(plan)


def plan_rewrite(
    table: Table,
    columns: Sequence[str] | str | None = None,
    *,
    where: str | BooleanExpression | None = None,
    options: Mapping[str, OptionValue] | None = None,
    branch: str | None = None,
    case_sensitive: bool = False,
) -> RewritePlan:
    """Plan what :func:`rewrite_data_files` would do with the same arguments.

    Manifests are read, and no data.

    Parameters
    ----------
    table, columns, where, options, branch, case_sensitive
        As for :func:`rewrite_data_files`; the table has the new metadata afterwards.

    Returns
    -------
    RewritePlan
        The plan: print it, look at its ``groups`` and ``left``, have it ``sampled()``, :func:`execute` it.

    Raises
    ------
    InvalidInputError
        When an argument, or a property of the table, cannot be honoured.

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
    >>> plan = plan_rewrite(table, ["user_id", "ts"])
    >>> plan.groups[0].reason, plan.left
    ('5 files below min-file-size-bytes 12,582,912; no fewer than min-input-files 5', ())
    >>> print(plan.sampled().message)
    Nothing to rewrite in lake.db.events: a rewrite of its 1 file groups is not predicted to read less: scan fraction \
on average over the columns 20.0% today, 20.6% after. To rewrite them anyway, set option rewrite-all to true.
    >>> sampled = plan_rewrite(table, ["user_id", "ts"], options={"rewrite-all": True}).sampled()
    >>> {name: round(fraction, 3) for name, fraction in sampled.scan_fractions.items()}
    {'user_id': 1.0, 'ts': 1.0}
    >>> execute(sampled).rewritten_data_files_count
    5
    >>> execute(sampled)
    Traceback (most recent call last):
    iceberg_zorder.errors.StalePlanError: Cannot execute the plan of lake.db.events, because data file ...
    >>> catalog.close(); directory.cleanup()
    """
    written = {name: option_text(name, value) for name, value in (options or {}).items()}
    by = None if columns is None else sort_order_text(display_name(table), columns)
    request = PlanRequest(table, by, where, written, branch, case_sensitive)
    with renewed(table):
        return plan_request(request)


def execute(plan: RewritePlan, *, progress: Progress = silent) -> RewriteResult:
    """Rewrite the data files of a plan, by its layouts if it is sampled.

    Parameters
    ----------
    plan : RewritePlan
        The plan. What other operations change while it is executed is planned again.
    progress : Progress, optional
        Told of what is done; see :mod:`iceberg_zorder.pyiceberg.progress`.

    Returns
    -------
    RewriteResult
        The counts, the scan fractions, and why nothing was rewritten if so.

    Raises
    ------
    InvalidInputError
        When the plan is stale; nothing was read or written then.
    RewriteFailedError
        As :func:`rewrite_data_files`.
    """
    return execute_by(RewriteRunner(plan.request, progress), plan)


def execute_by(runner: RewriteRunner, plan: RewritePlan) -> RewriteResult:
    """Execute a plan as :func:`execute` does, for a caller who wants to know what stands however that ends."""
    with renewed(plan.request.table):
        plan.check_is_current()
        return runner.run(plan)
