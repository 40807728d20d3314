"""Plan a rewrite through the plugin's Java API, which has what a CALL cannot give: layouts, predictions, and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_zorder.request.arguments import OptionValue
from iceberg_zorder.spark.failures import rewrite_error
from iceberg_zorder.spark.rewrite import RewriteCall


def describe_plan(
    spark: SparkSession,
    table: str,
    columns: Sequence[str] | str | None = None,
    *,
    where: str | None = None,
    options: Mapping[str, OptionValue] | None = None,
    branch: str | None = None,
    sampled: bool = False,
) -> dict[str, Any]:
    """Plan what :func:`iceberg_zorder.spark.rewrite_data_files` would do with the same arguments.

    Parameters
    ----------
    spark : SparkSession
        A session with the plugin whose JVM this process has started; one of Spark Connect has none to offer.
    table, columns, where, options, branch
        As for :func:`iceberg_zorder.spark.rewrite_data_files`.
    sampled : bool, optional
        Read a sample of the clustering columns, too, for the layouts and the predicted scan fractions.

    Returns
    -------
    dict
        As :meth:`iceberg_zorder.pyiceberg.RewritePlan.to_dict`.

    Raises
    ------
    InvalidInputError
        When an argument is malformed, or Spark or the plugin refuses it.
    RewriteFailedError
        When the manifests, or the sample, cannot be read.

    Examples
    --------
    >>> plan = describe_plan(spark, "lake.db.events", ["user_id", "ts"])  # doctest: +SKIP
    >>> [group["reason"] for group in plan["file_groups"]]  # doctest: +SKIP
    ['6 files below min-file-size-bytes 402,653,184; no fewer than min-input-files 5']
    """
    call = RewriteCall.of(table, columns, where=where, options=options, branch=branch)
    jvm: Any = spark.sparkContext._jvm
    try:
        builder = jvm.io.icebergzorder.spark.api.ZOrderRewrite.of(spark._jsparkSession, call.table)
        builder.sortOrder(call.sort_order).where(call.where).branch(call.branch)
        for name, value in call.options:
            builder.option(name, value)
        plan = builder.plan()
        described: dict[str, Any] = json.loads((plan.sampled() if sampled else plan).toJson())
    except (PySparkException, Py4JError) as error:
        raise rewrite_error(error) from error
    return described
