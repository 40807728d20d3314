"""Files that are cut for the queries of a workload: they read less, gains are measured by them, and errors are told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_zorder.spark.plan import describe_plan
from tests.spark.tables import Table, create, unchanged, untouched

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


def hashes(plan: Mapping[str, Any]) -> list[str]:
    return [group["layout"]["hash"] for group in plan["file_groups"]]


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


def test_a_workload_is_the_same_wherever_it_lies(spark: SparkSession, tmp_path: Path) -> None:
    table = create(spark, ROWS)
    text = workload((RANGE, 2.0), ("TRUE", 1.0), ("a > 1 AND a < 2", 3.0))
    file = tmp_path / "w\u00f6rkload.json"
    file.write_text(text, encoding="utf-8")
    options = {"rewrite-all": "true", **table.target_for(8)}
    wanted = hashes(planned(table, {**options, "workload": f"  {text}"}))
    assert wanted != hashes(planned(table, options))
    assert wanted != hashes(planned(table, {**options, "workload": text, "workload-share": "0"}))
    for place in (str(file), f"file://{file}"):
        assert hashes(planned(table, {**options, "workload": place})) == wanted
    remembering = create(spark, ROWS, properties={"zorder.options": f"workload={file}"})
    assert remembering.bytes() == table.bytes()
    assert hashes(planned(remembering, options)) == wanted


def test_a_share_of_nothing_is_as_no_workload(spark: SparkSession) -> None:
    table = create(spark, ROWS)
    options = {"rewrite-all": "true", "size-tolerance": "0.25", **table.target_for(8)}
    nothing = {**options, "workload": workload(("a > 1 AND a < 2", 3.0))}
    assert hashes(planned(table, nothing)) == hashes(planned(table, options))


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


def test_another_workload_is_another_request(spark: SparkSession, tmp_path: Path) -> None:
    table = create(spark, ROWS)
    options = {"rewrite-all": "false", **table.target_for(8), "workload": workload((RANGE, 1.0), ("b = 9", 1.0))}
    with unchanged(table):
        table.call(BY, options=options)
    file = tmp_path / "workload.json"
    same = "as a rewrite by the same request left them"
    for text, is_same in (
        (workload(("b = 9 ", 1.0), (RANGE, 1.0)), True),
        (workload(("b = 9", 1.0), (RANGE, 0.5), (RANGE, 0.5)), True),
        (workload(("b = 9", 1.0), (RANGE, 1.5)), False),
        (workload(("b = 8", 1.0), (RANGE, 1.0)), False),
    ):
        file.write_text(text, encoding="utf-8")
        for place in (text, str(file)):
            message = planned(table, {**options, "workload": place})["message"] or ""
            assert (same in message) == is_same, text
    assert same not in (planned(table, {**options, "workload-share": "0.9"})["message"] or "")


REFUSED = [
    ("{", "because it is no JSON: "),
    ('{"version": 1, "queries": []} x', "because it is no JSON: "),
    ('{"queries": []}', "because version is missing"),
    ('{"version": 1}', "because queries is missing"),
    ('{"version": 2, "queries": []}', "because version must be 1 and is 2"),
    ('{"version": 1, "version": 1, "queries": []}', "because key version stands twice in an object"),
    ('{"version": 1, "queries": {}}', "because queries is no list"),
    ('{"version": 1, "queries": [], "x": 1}', "because x is unknown"),
    ('{"version": 1, "queries": [7]}', "because queries[0] is no object"),
    ('{"version": 1, "queries": [{"filter": "a = 1"}]}', "because queries[0].weight is missing"),
    ('{"version": 1, "queries": [{"filter": 1, "weight": 1}]}', "because queries[0].filter is no text"),
    (workload(("a = 1", -1)), "because queries[0].weight: -1 is no number of at least 0"),
    ('{"version": 1, "queries": [{"filter": "a = 1", "weight": "1"}]}', "because queries[0].weight: 1 is no number"),
    ('{"version": 1, "queries": [{"filter": "a = 1", "weight": 1, "weaker": 2}]}',
     "because queries[0].weaker is more than its weight"),
    (workload(("a = 1", 1e308), ("a = 1", 1e308)), "because its weights add up to infinity"),
]  # fmt: skip


def test_what_is_no_workload_is_refused(spark: SparkSession) -> None:
    table = create(spark, ROWS)
    with untouched(table):
        for text, why in REFUSED:
            with pytest.raises(PySparkException) as refused:
                table.call(BY, options={"workload": text})
            assert f"Cannot read workload of option workload, {why}" in str(refused.value), text
        for options, why in (
            ({"workload": workload(("a =", 1))}, "Cannot use the filter 'a =' on "),
            ({"workload": workload(("c = 1", 1))}, "Cannot use the filter 'c = 1' on "),
            ({"workload": "/dev/zero"}, "Cannot read workload /dev/zero, because .*/dev/zero is no file"),
            ({"workload": "/nowhere/w.json"}, "Cannot read workload /nowhere/w.json, because .*/nowhere/w.json"),
            ({"workload": "file:///nowhere/w.json"}, "Cannot read workload file:///nowhere/w.json, because .*nowhere"),
            ({"workload": workload(("a = 1", 1e308), ("a = 2", 1e308))}, "because its weights add up to Infinity, and"),
            ({"workload": workload(("a = 1", 1e-310))}, "because its weights add up to 1.0E-310, and not to between"),
            ({"workload": workload(("a = 1", 0))}, "Cannot use workload of option workload, because it has no query"),
            ({"workload-share": "0.5"}, "Cannot use option workload-share, because option workload is not given"),
            ({"workload": workload(), "cuts": "even"}, "Cannot use option workload with cuts 'even'"),
            ({"workload": workload(), "workload-share": "2"}, "Cannot set workload-share to '2'"),
        ):
            with pytest.raises(PySparkException, match=why):
                table.call(BY, options=options)
