"""Filters that are found in queries are conditions that both engines understand, and understand alike."""

from __future__ import annotations

import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import plan_rewrite
from iceberg_zorder.spark.plan import describe_plan
from tests.conftest import CATALOG
from tests.workload.test_cases import cases

OPTIONS = {"rewrite-all": "true", "target-file-size-bytes": "20000"}
FILTERS = sorted(
    {
        line.removeprefix("> ").partition(" with ")[0].partition(" x ")[0]
        for *_, wanted in cases()
        for line in wanted
        # Spark has no name for the type of UUIDs.
        if line.startswith("> ") and " u = " not in line
    }
)


@pytest.fixture(scope="module")
def full(spark: SparkSession) -> str:
    name = f"{CATALOG}.db.events_of_cases"
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, user_id BIGINT, kind STRING, day DATE, ts TIMESTAMP, wall TIMESTAMP_NTZ, "
        "amount DECIMAL(9, 2), score DOUBLE, flag BOOLEAN, device STRUCT<os: STRING, `model name`: STRING>, "
        "tags ARRAY<STRING>, payload BINARY) USING iceberg"
    )
    for start in range(0, 3_000, 1_000):
        spark.sql(
            f"INSERT INTO {name} SELECT /*+ REPARTITION(1) */ id % 40, id % 25, concat(char(97 + id % 26), 'l', id % 7), "
            "DATE '2024-01-01' + CAST(id % 200 AS INT), TIMESTAMP '2024-01-01 00:00:00' + make_dt_interval(0, CAST(id AS INT)), "
            "TIMESTAMP_NTZ '2024-05-10 00:00:00' + make_dt_interval(0, CAST(id AS INT)), id / 100, id / 3, id % 2 = 0, "
            f"named_struct('os', 'ios', 'model name', NULL), array('a'), X'00' FROM range({start}, {start + 1_000})"
        )
    return name


def test_both_engines_read_the_same_of_the_table(spark: SparkSession, catalog: Catalog, full: str) -> None:
    by = "zorder(id, day, kind)"
    table = catalog.load_table(full.removeprefix(f"{CATALOG}."))
    without = plan_rewrite(table, by, options=OPTIONS).sampled(predicates=FILTERS).to_dict()
    on_spark = describe_plan(spark, full, by, options=OPTIONS, sampled=True, predicates=FILTERS)
    assert on_spark["predicates"] == without["predicates"]
    assert len(on_spark["predicates"]) == len(FILTERS) > 60
    assert any((each["predicted"] or 1.0) < 1.0 for each in on_spark["predicates"])
