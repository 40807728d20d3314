"""What Spark's reader of workloads refuses; ``tests/spark_python/test_same_workload.py`` has what comes of those that it takes."""

from __future__ import annotations

import json

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.spark.tables import create


def workload(*queries: tuple[str, float]) -> str:
    return json.dumps({"version": 1, "queries": [{"filter": text, "weight": weight} for text, weight in queries]})


def test_what_is_no_workload_is_refused(spark: SparkSession) -> None:
    table = create(spark, "SELECT id AS a, id AS b FROM range(9)")
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
            table.call("zorder(a, b)", options=options)
