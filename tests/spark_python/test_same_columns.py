"""Both engines have a workload choose the same columns, in the same order, and stay with what the other has chosen."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import plan_rewrite
from iceberg_zorder.spark import rewrite_data_files as rewrite_on_spark
from iceberg_zorder.spark.plan import describe_plan
from tests.conftest import CATALOG
from tests.spark_python.test_same_workload import workload

FILTERS = [
    *(f"at.a BETWEEN {low} AND {low + 200}" for low in (0, 7_000, 12_000)),
    *("text = 'some text 17' AND d > -1", "b < 100 OR b IS NULL", "day = DATE '2024-01-10' AND n > 12.5"),
    *("d = double('NaN')", "p = 3", "part = 1 AND b > 900", "text LIKE 'some text 1%' AND n < 3", "TRUE"),
]
ROWS = 60_000
SELECT = (
    "SELECT named_struct('a', id * 7919 % 20011) AS at, CASE WHEN id % 97 > 0 THEN id * 104729 % 997 END AS b, "
    "concat('some text ', id * 31 % 409) AS text, CASE WHEN id % 41 = 0 THEN double('NaN') ELSE id * 13 % 7001 / 8 END AS d, "
    "DATE '2024-01-01' + CAST(id * 17 % 61 AS INT) AS day, CAST(id % 1009 / 7 AS DECIMAL(9, 2)) AS n, "
    "CAST(id % 3 AS INT) AS part, id AS p "
    f"FROM range(0, {ROWS}, 1, 3)"
)


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, str]:
    names = {}
    for kind, by in (("whole", ""), ("parted", "PARTITIONED BY (part, bucket(2, p))")):
        names[kind] = name = f"{CATALOG}.db.columns_{kind}"
        spark.sql(f"CREATE TABLE {name} USING iceberg {by} AS {SELECT}")
    return names


def planned(spark: SparkSession, catalog: Catalog, name: str, **arguments: Any) -> dict[str, Any]:
    """Plan with both engines, and hold one against the other."""
    table = catalog.load_table(name.removeprefix(f"{CATALOG}."))
    without: dict[str, Any] = plan_rewrite(table, **arguments).to_dict()
    on_spark = describe_plan(spark, name, **arguments)
    for key in ("sort_order", "message", "workload", "options"):
        assert on_spark[key] == without[key], key
    for key in ("file_groups", "left"):
        of_both = [sorted(each[key], key=lambda group: group["partition"]) for each in (on_spark, without)]
        assert of_both[0] == of_both[1]
    return without


def test_both_engines_choose_the_same_columns(spark: SparkSession, catalog: Catalog, tables: dict[str, str]) -> None:
    options = {"target-file-size-bytes": 80_000, "workload": workload(FILTERS)}
    # More rows than are looked at, which come in another order from each engine.
    all_rows = {**options, "sample-rows": ROWS}
    assert planned(spark, catalog, tables["whole"], options=all_rows)["sort_order"] == "zorder(at.a, b, d, text)"
    few_rows = {
        **options,
        "sample-rows": 3_000,
        "boundaries": 60,
        "workload-columns": 12,
        "target-file-size-bytes": 20_000,
    }
    plan = planned(spark, catalog, tables["parted"], where="part < 2", options=few_rows)
    assert plan["sort_order"].count(",") >= 3
    assert plan["workload"]["chosen_columns"] is True


def test_what_one_engine_has_chosen_is_settled_for_the_other(
    spark: SparkSession, catalog: Catalog, tables: dict[str, str]
) -> None:
    options: dict[str, Any] = {"target-file-size-bytes": 80_000, "sample-rows": 3_000}
    options["workload"] = workload(["at.a < 300", "b = 7"])
    assert rewrite_on_spark(spark, tables["whole"], options=options).added_data_files_count > 4
    plan = planned(spark, catalog, tables["whole"], options=options)
    assert "as a rewrite by the same request left them" in plan["message"]
    spark.sql(f"ALTER TABLE {tables['whole']} ADD PARTITION FIELD part")
    moved = {**options, "workload": workload(FILTERS)}
    assert "part" not in planned(spark, catalog, tables["whole"], options=moved)["sort_order"]
    nothing = {**options, "workload": workload(["TRUE", "at.a >= 0"])}
    assert "by no column would the queries" in planned(spark, catalog, tables["parted"], options=nothing)["message"]
