"""Filters that are found in queries are conditions that both engines understand, and understand alike."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg import plan_rewrite, rewrite_data_files, sample
from iceberg_zorder.spark import rewrite_data_files as rewrite_on_spark
from iceberg_zorder.spark.rewrite import describe_plan
from tests.spark.tables import CATALOG, local_path
from tests.workload.test_cases import cases

OPTIONS: dict[str, Any] = {"rewrite-all": "true", "target-file-size-bytes": "20000"}
# Files as small as these are worth a rewrite only where opening them is for nothing.
BY_BYTES = "TBLPROPERTIES ('read.split.open-file-cost' = '1')"
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


def workload(filters: Sequence[str]) -> dict[str, Any]:
    """Of some filters, each of another weight."""
    queries = [{"filter": text, "weight": 1 + number % 7 / 3} for number, text in enumerate(filters)]
    joins = [{"key": "db.d.id", "filter": "name = 'x'", "keys": 7, "weight": 1.0}]
    return {"version": 1, "queries": queries, "elsewhere": 3, "joins": joins}


@pytest.mark.parametrize(
    "by",
    ["zorder(id, day, kind)", "kind DESC NULLS FIRST, hilbert(user_id, score, amount)", "zorder(ts, wall, device.os)"],
)
@pytest.mark.parametrize("share", [None, 0.5, 1])
def test_both_engines_cut_files_alike_for_the_same_queries(
    spark: SparkSession, catalog: Catalog, full: str, by: str, share: float | None
) -> None:
    options = OPTIONS if share is None else {**OPTIONS, "workload-share": share}
    same_plans(spark, catalog, full, by, {**options, "workload": workload(FILTERS)})


def same_plans(spark: SparkSession, catalog: Catalog, name: str, by: str, options: dict[str, Any]) -> None:
    table = catalog.load_table(name.removeprefix(f"{CATALOG}."))
    without = sample(table, plan_rewrite(table, by, options=options)).to_dict()
    on_spark = describe_plan(spark, name, by, options=options, sampled=True)
    assert on_spark["workload"] == without["workload"]
    groups = [sorted(each["file_groups"], key=lambda group: group["partition"]) for each in (on_spark, without)]
    assert groups[0] == groups[1]
    assert on_spark["file_groups"][0]["layout"]["data_files_count"] > 1


def test_both_engines_cut_each_partition_for_its_own_queries(spark: SparkSession, catalog: Catalog, full: str) -> None:
    name = f"{CATALOG}.db.parts_of_a_workload"
    spark.sql(
        f"CREATE TABLE {name} USING iceberg PARTITIONED BY (kind, bucket(2, id)) AS SELECT * FROM {full} WHERE kind < 'c'"
    )
    filters = ["kind = 'al0' AND user_id < 5", "kind > 'b' AND score > 300", "id = 3", "kind IS NULL", "amount < 3"]
    by = "zorder(user_id, score, amount)"
    same_plans(spark, catalog, name, by, {**OPTIONS, "target-file-size-bytes": "1500", "workload": workload(filters)})
    with_even = {**OPTIONS, "cuts": "even"}
    spark.sql(
        f"ALTER TABLE {name} SET TBLPROPERTIES ('zorder.workload' = '/none', 'zorder.options' = 'workload-share=0.5')"
    )
    for options in (with_even, {**OPTIONS, "workload": ""}):
        assert describe_plan(spark, name, by, options=options)["workload"] is None
    for place in ("/none", "file:///none", "s3://none/none"):
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('zorder.workload' = '{place}')")
        with pytest.raises(
            InvalidInputError, match=f"because {place} is not below the table's location file:"
        ) as on_spark:
            describe_plan(spark, name, by, options=OPTIONS)
        with pytest.raises(InvalidInputError) as without:
            plan_rewrite(catalog.load_table(name.removeprefix(f"{CATALOG}.")), by, options=OPTIONS)
        assert str(on_spark.value) == str(without.value)
    file = Path(local_path(catalog.load_table(name.removeprefix(f"{CATALOG}.")).location())) / "w.json"
    file.write_text(json.dumps(workload(filters)))
    for place in (f"file:{file}", f"file://{file}"):
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('zorder.workload' = '{place}')")
        same_plans(spark, catalog, name, by, {**OPTIONS, "target-file-size-bytes": "1500"})


def test_both_engines_tell_what_queries_read_before_and_after(spark: SparkSession, catalog: Catalog, full: str) -> None:
    filters = ["user_id < 3 AND NOT flag", "id = 30", "kind > 'm' AND user_id = 7", "flag", "TRUE"]
    names = [f"{CATALOG}.db.told_of_a_workload_{engine}" for engine in ("spark", "pyiceberg")]
    for name in names:
        spark.sql(f"CREATE TABLE {name} USING iceberg PARTITIONED BY (flag) {BY_BYTES} AS SELECT * FROM {full}")
    tables = [catalog.load_table(name.removeprefix(f"{CATALOG}.")) for name in names]
    by, options = (
        "zorder(user_id, kind, id)",
        {**OPTIONS, "target-file-size-bytes": "4000", "workload": workload(filters)},
    )
    dry = rewrite_on_spark(spark, names[0], by, options={**options, "dry-run": True}).workload
    assert dry == rewrite_data_files(tables[0], by, options={**options, "dry-run": True}).workload
    assert dry is not None
    assert dry.actual is None
    done = [
        rewrite_on_spark(spark, names[0], by, options=options).workload,
        rewrite_data_files(tables[1], by, options=options).workload,
    ]
    for table, found in zip(tables, done, strict=True):
        assert found is not None
        assert found.before is not None
        assert found.actual is not None
        assert found.actual == pytest.approx(read_by_scans(table, filters), rel=1e-9)
        assert found.actual < 0.7 * found.before
    assert replace(done[0], actual=None) == dry  # type: ignore[type-var]
    rest = rewrite_on_spark(spark, names[0], by, options={**options, "rewrite-all": "false"})
    assert (rest.rewritten_data_files_count, rest.workload) == (0, None)
    assert rewrite_on_spark(spark, names[0], by, options=OPTIONS).workload is None


def read_by_scans(table: Table, filters: Sequence[str]) -> float:
    """The share of the bytes that scans of PyIceberg read, by the weights of :func:`workload`."""
    table.refresh()

    def size(condition: str) -> int:
        return sum(task.file.file_size_in_bytes for task in table.scan(row_filter=condition).plan_files())

    weights = [query["weight"] for query in workload(filters)["queries"]]
    known = {"flag": "flag = true", "user_id < 3 AND NOT flag": "user_id < 3 AND flag = false"}
    read = [size(known.get(text, text)) for text in filters]
    return float(np.average(read, weights=weights)) / size("TRUE")


def test_a_workload_that_a_table_remembers_is_settled_for_the_other_engine(
    spark: SparkSession, catalog: Catalog, full: str
) -> None:
    name = f"{CATALOG}.db.of_a_workload"
    spark.sql(f"CREATE TABLE {name} USING iceberg {BY_BYTES} AS SELECT * FROM {full}")
    address = f"{catalog.load_table(name.removeprefix(f'{CATALOG}.')).location()}/workload.json"
    file = Path(local_path(address))
    file.write_text(json.dumps(workload(["id < 3", "id = 30 AND kind > 'm'"])))
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('zorder.columns' = 'id, kind', 'zorder.workload' = '{address}')")
    options = {"target-file-size-bytes": "5000"}
    first = rewrite_on_spark(spark, name, options=options)
    assert first.added_data_files_count > 3
    table = catalog.load_table(name.removeprefix(f"{CATALOG}."))
    again = plan_rewrite(table, options=options)
    assert "unchanged since a rewrite by the same request" in (again.message or "")
    file.write_text(json.dumps(workload(["id < 3", "id = 31 AND kind > 'm'"])))
    changed = plan_rewrite(table, options=options)
    assert "by the same request" not in (changed.message or "")


def test_both_engines_choose_the_same_files_for_queries(spark: SparkSession, catalog: Catalog, full: str) -> None:
    name = f"{CATALOG}.db.chosen_for_a_workload"
    spark.sql(f"CREATE TABLE {name} USING iceberg PARTITIONED BY (flag) {BY_BYTES} AS SELECT * FROM {full}")
    by, size = "zorder(user_id, kind, ts)", {"target-file-size-bytes": "4000"}
    table = catalog.load_table(name.removeprefix(f"{CATALOG}."))
    rewrite_data_files(table, by, options={**size, "rewrite-all": "true"})
    spark.sql(f"INSERT INTO {name} SELECT * FROM {full} WHERE id % 20 = 7")
    spark.sql(f"REFRESH TABLE {name}")
    reasons: list[str] = []
    bounds = {"max-scan-ratio": "1.05", "max-file-group-size-bytes": "40000"}
    for filters, others in (
        (FILTERS[::3], {}),
        (["user_id < 3 AND flag", "kind IN ('al0', 'bl1') AND user_id = 4"], bounds),
        (["amount < 3", "TRUE"], {}),
    ):
        asked: dict[str, Any] = {**size, "workload": workload(filters), **others}
        without = plan_rewrite(table, by, options=asked).to_dict()
        on_spark = describe_plan(spark, name, by, options=asked)
        assert on_spark["message"] == without["message"]
        for key in ("file_groups", "left"):
            assert sorted(on_spark[key], key=str) == sorted(without[key], key=str)
        reasons += [group["reason"] for group in without["file_groups"]]
    assert any(each.startswith("a query of the workload costs") for each in reasons)
