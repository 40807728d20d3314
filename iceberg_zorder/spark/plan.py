"""Plan a rewrite through the plugin's Java API, which has what a CALL cannot give: JSON, and dry runs by conditions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.arguments import OptionValue
from iceberg_zorder.request.result import RewriteResult
from iceberg_zorder.spark.failures import rewrite_error
from iceberg_zorder.spark.rewrite import RewriteCall, checked_call, told_result


def describe_plan(
    spark: SparkSession,
    table: str,
    columns: Sequence[str] | str | None = None,
    *,
    sampled: bool = False,
    predicates: Sequence[str] = (),
    **asked: Any,
) -> dict[str, Any]:
    """Plan what :func:`iceberg_zorder.spark.rewrite_data_files` would do with the same arguments.

    Examples
    --------
    >>> plan = describe_plan(spark, "lake.db.events", ["user_id", "ts"])  # doctest: +SKIP
    >>> [group["reason"] for group in plan["file_groups"]]  # doctest: +SKIP
    ['6 files below min-file-size-bytes 402,653,184; no fewer than min-input-files 5']
    """
    if predicates and not sampled:
        raise InvalidInputError("Cannot use predicates, because it is for sampled")
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
    """Tell what a rewrite would do, and what conditions would read; nothing is written.

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
    """Plan a checked request; raises what PySpark and Py4J do."""
    jvm: Any = spark.sparkContext._jvm
    builder = jvm.io.icebergzorder.spark.api.ZOrderRewrite.of(spark._jsparkSession, call.table)
    builder.sortOrder(call.sort_order).where(call.where).branch(call.branch)
    for name, value in call.options.items():
        builder.option(name, value)
    return builder.plan()
