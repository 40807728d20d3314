"""Files that are cut for the queries of a workload: they read less, gains are measured by them, and errors are told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_zorder.spark.rewrite import describe_plan
from tests.spark.tables import Table, create, unchanged

ROWS = "SELECT id * 7919 % 20011 AS a, id * 104729 % 19997 AS b, repeat('x', 40) AS s FROM range(0, 20000, 1, 4)"
BY = "zorder(a, b)"
RANGE = "a >= 500 AND a < 560"


def workload(*queries: tuple[str, float]) -> str:
    return json.dumps({"version": 1, "queries": [{"filter": text, "weight": weight} for text, weight in queries]})


def planned(table: Table, options: Mapping[str, Any], predicates: Sequence[str] = (RANGE,)) -> dict[str, Any]:
    plan: dict[str, Any] = describe_plan(
        table.spark, table.full_name, BY, options=options, sampled=True, predicates=predicates
    )
    return plan


def test_a_range_that_is_asked_for_is_read_less(spark: SparkSession) -> None:
    table = create(spark, ROWS)
    options = {"rewrite-all": "true", **table.target_for(16)}
    without = planned(table, options)["predicates"][0]
    skewed = {**options, "workload": workload((RANGE, 10.0), ("b = 7", 1.0))}
    given = planned(table, skewed)["predicates"][0]
    assert given["predicted"] < 0.6 * without["predicted"] < 0.6 * without["before"]
    with unchanged(table):
        table.call(BY, options=skewed)
    read = table.spark.sql(
        f"SELECT sum(file_size_in_bytes) FROM {table.full_name}.files "
        "WHERE readable_metrics.a.lower_bound < 560 AND readable_metrics.a.upper_bound >= 500"
    ).collect()[0][0]
    assert read / table.bytes() == pytest.approx(given["predicted"], abs=0.02)


def test_gains_are_measured_by_the_queries(spark: SparkSession) -> None:
    table = create(spark, ROWS)
    useless = {**table.target_for(8), "workload": workload(("TRUE", 1.0))}
    left = planned(table, useless)
    assert left["file_groups"] == []
    means = "scan fraction on average over the queries of the workload 100.0% today, 100.0% after"
    assert means in left["message"]
    # What no size calls for is left for what the bounds tell already.
    assert any(each["reason"].split(";")[0].endswith(means) for each in left["left"])
    half = {**useless, "workload": workload(("TRUE", 1.0), (RANGE, 1.0), ("a IS NULL", 1.0))}
    with unchanged(table):
        told = table.call(BY, options={"rewrite-all": "false", **half})
    assert told["rewritten_data_files_count"] == 4


def test_what_is_no_workload_is_refused(spark: SparkSession) -> None:
    table = create(spark, ROWS)
    refused: list[tuple[dict[str, str], str]] = [
        *(
            ({"workload": text}, f"Cannot read workload of option workload, because {why}")
            for text, why in (
                ("{", "it is no JSON: "),
                ('{"version": 1, "version": 1, "queries": []}', "key version stands twice in an object"),
                ('{"version": 1, "queries": [{"filter": "a = 1"}]}', r"queries\[0\].weight is missing"),
                (workload(("a = 1", 1e308), ("a = 1", 1e308)), "its weights add up to infinity"),
            )
        ),
        ({"workload": workload(("c = 1", 1))}, "Cannot use the filter 'c = 1' on "),
        ({"workload": "/dev/zero"}, "Cannot read workload /dev/zero, because .*/dev/zero is no file"),
        ({"workload": "file:///nowhere/w.json"}, "Cannot read workload file:///nowhere/w.json, because .*nowhere"),
        ({"workload": workload(("a = 1", 0))}, "Cannot use workload of option workload, because it has no query"),
    ]
    for options, why in refused:
        with pytest.raises(PySparkException, match=why):
            table.call(BY, options=options)
