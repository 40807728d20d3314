"""Rewrite a table, or plan it, from PySpark, classic or Spark Connect.

``CALL zorder_rewrite`` equals ``rewrite_data_files`` with ``strategy => 'zorder'``, but returns JSON. Everything goes
through ``spark.sql``, so no access to the JVM is needed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.rewrite.options import OptionValue, name_parts, option_text, sort_order_text
from iceberg_zorder.rewrite.result import ColumnScan, PredicateScan, RewriteResult, TableFiles, WorkloadScan
from iceberg_zorder.spark.call import (
    catalog_of,
    escapes_string_literals,
    procedure_call,
    rewrite_error,
    rows_of,
    string_literal,
)

logger = logging.getLogger("iceberg_zorder")


def describe_plan(
    spark: SparkSession,
    table: str,
    columns: Sequence[str] | str | None = None,
    *,
    sampled: bool = False,
    predicates: Sequence[str] = (),
    **asked: Any,
) -> dict[str, Any]:
    """Return the plan of :func:`iceberg_zorder.spark.rewrite_data_files` with the same arguments.

    Examples
    --------
    >>> plan = describe_plan(spark, "lake.db.events", ["user_id", "ts"])  # doctest: +SKIP
    >>> [group["reason"] for group in plan["file_groups"]]  # doctest: +SKIP
    ['6 files below min-file-size-bytes 402,653,184; no fewer than min-input-files 5']
    """
    if predicates and not sampled:
        raise InvalidInputError("Cannot use predicates, because they need argument sampled")
    call = checked_call(table, columns, **asked)
    try:
        plan = _plan(spark, call)
        described: dict[str, Any] = json.loads((plan.sampled(list(predicates)) if sampled else plan).toJson())
    except (PySparkException, Py4JError) as error:
        raise rewrite_error(error) from error
    return described


def dry_run(
    spark: SparkSession,
    table: str,
    columns: Sequence[str] | str | None = None,
    *,
    options: Mapping[str, OptionValue] | None = None,
    predicates: Sequence[str] = (),
    **asked: Any,
) -> RewriteResult:
    """Return the expected result of a rewrite, and the predicted reads of conditions; writes nothing.

    Examples
    --------
    >>> result = dry_run(spark, "lake.db.events", ["user_id", "ts"], predicates=["user_id = 5"])  # doctest: +SKIP
    >>> result.predicates  # doctest: +SKIP
    (PredicateScan(predicate='user_id = 5', before=1.0, predicted=0.125),)
    """
    call = checked_call(table, columns, options={**(options or {}), "dry-run": True}, **asked)
    try:
        text: str = _plan(spark, call).sampled(list(predicates)).execute().toJson()
    except (PySparkException, Py4JError) as error:
        raise rewrite_error(error) from error
    return told_result(text)


def _plan(spark: SparkSession, call: RewriteCall) -> Any:
    """Plan a checked request; raises the errors of PySpark and Py4J."""
    jvm: Any = spark.sparkContext._jvm
    builder = jvm.io.icebergzorder.spark.api.ZOrderRewrite.of(spark._jsparkSession, call.table)
    builder.sortOrder(call.sort_order).where(call.where).branch(call.branch)
    for name, value in call.options.items():
        builder.option(name, value)
    return builder.plan()


def rewrite_data_files(
    spark: SparkSession,
    table: str,
    columns: Sequence[str] | str | None = None,
    *,
    where: str | None = None,
    options: Mapping[str, OptionValue] | None = None,
    branch: str | None = None,
) -> RewriteResult:
    """Rewrite a table's data files so that each file holds a narrow range of every clustering column.

    Parameters
    ----------
    spark : SparkSession
        A session with the plugin, see :func:`configure_spark`; Spark Connect works too.
    table : str
        Table name, with a catalog or in the current catalog.
    columns : sequence of str, or str, optional
        The clustering columns, with dots for nested fields and backticks around special characters. Or a sort order as
        in SQL: ``"region DESC, hilbert(a, b)"``. The default is the table's property ``zorder.columns``.
    where : str, optional
        Rewrite only the data files that may hold rows for which this condition of Spark SQL is true.
    options : mapping of str to bool, int, float, str or mapping, optional
        Options of Iceberg's rewrite, such as ``rewrite-all``, and of iceberg-zorder, such as ``cuts`` and
        ``column-weights``. They override the table's property ``zorder.options``.
    branch : str, optional
        The branch to rewrite.

    Returns
    -------
    RewriteResult
        Counts of files, the shares of the table that filters read, and the reason if nothing was rewritten.

    Raises
    ------
    InvalidInputError
        When an argument is malformed, or Spark or the plugin refuses it; nothing has been read or written.
    RewriteConflictError
        When other writers changed the same files. The new files are deleted.
    UnknownOutcomeError
        When the catalog gave no clear answer to a commit. Nothing is deleted.
    RewriteFailedError
        When a file group or a commit failed; the message says what was committed. The two errors above are
        subclasses. The ``__cause__`` of each error is PySpark's exception.

    Examples
    --------
    >>> result = rewrite_data_files(
    ...     spark, "lake.db.events", ["user_id", "ts"], where="ts >= '2026-01-01'", options={"rewrite-all": True}
    ... )  # doctest: +SKIP
    """
    call = checked_call(table, columns, where=where, options=options, branch=branch)
    escapes = escapes_string_literals(spark)
    statement = rewrite_statement(call, catalog_of(spark, table), escaped_string_literals=escapes)
    return told_result(rows_of(spark, statement)[0]["result"])


def execute_plan(spark: SparkSession, table: str, plan: str) -> RewriteResult:
    """Execute a plan in JSON, made by either engine; raises as :func:`rewrite_data_files`."""
    escapes = escapes_string_literals(spark)
    arguments = {"table": quoted_name(tuple(name_parts(table))), "plan": plan}
    literals = {name: string_literal(text, escaped_string_literals=escapes) for name, text in arguments.items()}
    statement = procedure_call(catalog_of(spark, table), "zorder_rewrite", literals)
    return told_result(rows_of(spark, statement)[0]["result"])


def told_result(text: str) -> RewriteResult:
    """Parse a result from the plugin's JSON, and log its message.

    Examples
    --------
    >>> counts = '"rewritten_data_files_count": 6, "added_data_files_count": 2, "rewritten_bytes_count": 1000'
    >>> more = '"failed_data_files_count": 0, "removed_delete_files_count": 0, "scan_fractions": []'
    >>> scan = '{"predicate": "a = 5", "before": 1.0, "predicted": 0.25}'
    >>> told_result(f'{{{counts}, {more}, "predicates": [{scan}]}}').predicates
    (PredicateScan(predicate='a = 5', before=1.0, predicted=0.25),)
    """
    found = json.loads(text)
    found["scan_fractions"] = tuple(ColumnScan(**each) for each in found["scan_fractions"])
    found["predicates"] = tuple(PredicateScan(**each) for each in found["predicates"])
    found |= {name: TableFiles(**found[name]) for name in ("before", "after") if found.get(name)}
    workload = found.pop("workload", None)
    result = RewriteResult(**found, workload=WorkloadScan(**workload) if workload else None)
    if result.message:
        logger.info("%s", result.message)
    return result


@dataclass(frozen=True)
class RewriteCall:
    """One checked request."""

    table: str
    sort_order: str | None
    where: str | None
    options: dict[str, str]
    branch: str | None


def checked_call(
    table: str,
    columns: Sequence[str] | str | None = None,
    *,
    where: str | None = None,
    options: Mapping[str, OptionValue] | None = None,
    branch: str | None = None,
) -> RewriteCall:
    """Check a request; raises InvalidInputError when a name or value is malformed."""
    return RewriteCall(
        quoted_name(tuple(name_parts(table))),
        None if columns is None else sort_order_text(table, columns),
        where,
        {name: option_text(name, value) for name, value in (options or {}).items()},
        branch,
    )


def rewrite_statement(call: RewriteCall, catalog: str, *, escaped_string_literals: bool = False) -> str:
    """Return the CALL of ``zorder_rewrite``.

    Examples
    --------
    >>> print(rewrite_statement(checked_call("db.t", ["a", "b.c"], options={"rewrite-all": True}), "lake"))
    CALL `lake`.system.zorder_rewrite(table => 'db.t', sort_order => 'zorder(`a`, `b`.`c`)', \
options => map('rewrite-all', 'true'))
    """

    def literal(text: str) -> str:
        return string_literal(text, escaped_string_literals=escaped_string_literals)

    entries = ", ".join(literal(text) for option in call.options.items() for text in option)
    arguments = {
        name: f"map({entries})" if name == "options" else literal(value)
        for name, value in asdict(call).items()
        if value not in (None, {})
    }
    return procedure_call(catalog, "zorder_rewrite", arguments)
