"""Spark's tables are reported on as PyIceberg's, and the figures of ``zorder_report`` are the same, whoever wrote them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.pyiceberg import plan_rewrite
from iceberg_zorder.pyiceberg import report as report_without_spark
from iceberg_zorder.spark import report, rewrite_data_files
from iceberg_zorder.spark.call import procedure_call, string_literal
from iceberg_zorder.spark.rewrite import describe_plan
from tests.golden.report_cases import shared_figures
from tests.pyiceberg.committing import commit_files, new_file
from tests.pyiceberg.lake import data_files
from tests.spark.tables import CATALOG

SCHEMA = (
    "id BIGINT, f DOUBLE, g FLOAT, name STRING, at TIMESTAMP, day DATE, d DECIMAL(20, 3), e DECIMAL(9, 2), ok BOOLEAN, p INT, "
    "s STRUCT<x: INT, `b c`: BINARY>"
)
ROWS = """
    id,
    CASE WHEN id % 50 = 0 THEN double('NaN') WHEN id % 33 = 0 THEN NULL ELSE (id * 7919 % 1000) / 8 - 60 END,
    CAST(id % 71 AS FLOAT) / 3,
    CASE WHEN id % 40 = 0 THEN NULL ELSE concat('\U0001f600 common prefix ', id * 31 % 977) END,
    timestamp_micros(id * 104729 % 100000000), date_add(DATE'1969-12-01', CAST(id % 61 AS INT)),
    CAST((id * 17 % 501 - 250) / 3 AS DECIMAL(20, 3)), CAST((id % 7 - 3) / 4 AS DECIMAL(9, 2)), id % 2000 < 1000,
    CAST(id div 1500 % 3 AS INT),
    IF(id % 10 = 0, NULL, named_struct('x', CAST(id % 5 AS INT), 'b c', unhex(hex(id))))
"""
ALL = "id, f, g, name, at, day, d, e, ok, s.x, s.`b c`"
PREDICATES = (
    "id = 700",
    "f < -20 OR name IS NULL",
    "at >= TIMESTAMP '1970-01-01 00:00:50' AND id > 4000",
    "p = 1",
    "name = '\U0001f600 common prefix 5'",
    "NOT ok AND day <> DATE '1970-01-01'",
    "isnan(f) AND NOT isnan(g)",
    "NOT isnan(f) OR isnan(g)",
)


def make(
    spark: SparkSession,
    name: str,
    partitioned: str = "",
    *,
    version: int = 2,
    properties: Mapping[str, str] = MappingProxyType({}),
) -> str:
    full = f"{CATALOG}.db.{name}"
    spark.sql(f"DROP TABLE IF EXISTS {full}")
    pairs = {"format-version": str(version), "write.target-file-size-bytes": "40000", "write.distribution-mode": "none"}
    pairs |= properties
    texts = ", ".join(f"'{key}'='{value}'" for key, value in pairs.items())
    spark.sql(f"CREATE TABLE {full} ({SCHEMA}) USING iceberg {partitioned} TBLPROPERTIES ({texts})")
    insert(spark, full, 0)
    insert(spark, full, 1_500, 3)
    return full


def insert(spark: SparkSession, full: str, start: int, files: int = 1) -> None:
    spark.sql(f"INSERT INTO {full} SELECT {ROWS} FROM range({start}, {start + files * 1_500}, 1, {files})")


def described(found: ClusteringReport) -> dict[str, Any]:
    """A report without commands, in which the engines differ."""
    values = found.to_dict()
    for commanded in (*values["findings"], *filter(None, [values["recommendation"]])):
        commanded["command"] = commanded["command"] is not None
    return values


def figures(
    spark: SparkSession, full: str, columns: str | None, where: str | None, branch: str | None
) -> dict[str, Any]:
    """What the procedure returns, of findings the codes."""
    given = {"table": full, "columns": columns, "where": where, "branch": branch}
    texts = {name: string_literal(text) for name, text in given.items() if text is not None}
    (row,) = spark.sql(procedure_call(CATALOG, "zorder_report", texts)).collect()
    return {**row.asDict(), "findings": [each.partition(":")[0] for each in row.findings.splitlines()]}


def same(
    spark: SparkSession,
    catalog: Catalog,
    full: str,
    columns: str | None = ALL,
    predicates: tuple[str, ...] = (),
    **more: Any,
) -> ClusteringReport:
    """Report through Spark, by PyIceberg, and by the procedure, and hold them to the same."""
    ours = report(spark, full, columns, predicates=predicates, **more)
    theirs = report_without_spark(
        catalog.load_table(full.removeprefix(f"{CATALOG}.")), columns, predicates=predicates, **more
    )
    assert described(ours) == described(theirs)
    if "snapshot_id" not in more:
        assert ours.recommendation is not None
        planned = {"planned_files": ours.recommendation.files, "planned_because": ours.recommendation.reason}
        assert figures(spark, full, columns, more.get("where"), more.get("branch")) == shared_figures(ours) | planned
    return ours


def codes(found: ClusteringReport) -> set[str]:
    return {finding.code for finding in found.findings}


@pytest.mark.parametrize(
    "partitioned", ["", "PARTITIONED BY (p)", "PARTITIONED BY (bucket(2, id), truncate(17, name))"]
)
def test_both_engines_report_the_same(spark: SparkSession, catalog: Catalog, partitioned: str) -> None:
    full = make(spark, "report_same", partitioned)
    found = same(spark, catalog, full, predicates=PREDICATES)
    assert found.total_rows == 6_000
    assert {"never-laid-out", "bounds-alike"} <= codes(found)
    assert 0 < (found.predicates[0].scan_fraction or 0) < 1
    same(spark, catalog, full, "p, hilbert(id, at)", where="id < 2000")
    first = spark.sql(f"SELECT snapshot_id FROM {full}.snapshots ORDER BY committed_at LIMIT 1").collect()[0][0]
    assert same(spark, catalog, full, "id", snapshot_id=first).total_rows == 1_500
    for unknown in (5, 2**63):
        with pytest.raises(InvalidInputError, match=f"Cannot report on snapshot {unknown}, because {full} has no such"):
            report(spark, full, "id", snapshot_id=unknown)
    workload = {"version": 1, "queries": [{"filter": "id < 1500", "weight": 2}]}
    by, where = "f DESC NULLS FIRST, zorder(name)", "f IS NULL AND p <> 1"
    same(spark, catalog, full, by, predicates=PREDICATES, where=where, workload=workload)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_deletes_specs_and_history(spark: SparkSession, catalog: Catalog, version: int) -> None:
    full = make(spark, f"report_history_{version}", version=version, properties={"write.delete.mode": "merge-on-read"})
    made = rewrite_data_files(spark, full, "zorder(id, at)", options={"rewrite-all": True})
    # A file of a few rows: more than 5% of the files, and less of the bytes.
    spark.sql(f"INSERT INTO {full} SELECT {ROWS} FROM range(9000, 9005, 1, 1)")
    laid_out = same(spark, catalog, full, None)
    assert laid_out.cluster_by_keys == ("id", "at")
    assert laid_out.history.laid_out_files == made.added_data_files_count
    assert laid_out.history.newer_files == laid_out.total_file_count - made.added_data_files_count > 0
    assert [each.severity for each in laid_out.findings if each.code == "newer-files"] == ["info"]
    if version > 1:
        spark.sql(f"DELETE FROM {full} WHERE id % 7 = 1")
        assert "delete-files" in codes(same(spark, catalog, full, None))
    spark.sql(f"ALTER TABLE {full} ADD PARTITION FIELD p")
    insert(spark, full, 12_000)
    evolved = same(spark, catalog, full, "id", predicates=PREDICATES)
    assert "old-partition-specs" in codes(evolved)
    assert any(each.partition.startswith("spec 0") for each in evolved.partitions)
    spark.sql(f"CALL {CATALOG}.system.rewrite_data_files(table => '{full}', options => map('rewrite-all', 'true'))")
    assert "layout-undone" in codes(same(spark, catalog, full, "id"))


def test_bounds_that_are_not_kept(spark: SparkSession, catalog: Catalog) -> None:
    metrics = {"write.metadata.metrics.column.id": "counts", "write.metadata.metrics.column.name": "none"}
    full = make(spark, "report_unkept", properties=metrics)
    spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('write.metadata.metrics.column.id'='full')")
    insert(spark, full, 9_000)
    found = same(spark, catalog, full, "id, name, at", predicates=PREDICATES)
    assert {"bounds-missing", "bounds-not-kept"} <= codes(found)
    spark.sql(f"ALTER TABLE {full} ADD COLUMN later BIGINT")
    assert same(spark, catalog, full, "later, at").columns[0].files_without_bounds == found.total_file_count


def test_sizes_are_those_of_a_rewrite(spark: SparkSession, catalog: Catalog) -> None:
    full = make(spark, "report_sizes", "PARTITIONED BY (p)")
    spark.sql(f"ALTER TABLE {full} UNSET TBLPROPERTIES ('write.target-file-size-bytes')")
    found = same(spark, catalog, full, "id, at")
    # Four files of one partition, two of each of the others.
    assert sorted(each.total_file_count for each in found.partitions) == [2, 2, 4]
    assert (found.file_sizes.target_file_size_bytes, found.file_sizes.files_below_min) == (4 << 20, 8)
    options = "min-input-files=3; target-file-size-bytes=1000000; compression-factor=90"
    spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('zorder.options' = '{options}')")
    found = same(spark, catalog, full, "id, at")
    assert found.file_sizes.target_file_size_bytes == 1_000_000
    assert found.file_sizes.files_after_rewrite > 8
    same(spark, catalog, full, "id, at", where="p = 0")


def test_a_table_without_data(spark: SparkSession, catalog: Catalog) -> None:
    full = f"{CATALOG}.db.report_none"
    spark.sql(f"DROP TABLE IF EXISTS {full}")
    spark.sql(f"CREATE TABLE {full} ({SCHEMA}) USING iceberg PARTITIONED BY (p)")
    found = same(spark, catalog, full, predicates=PREDICATES)
    assert (found.total_file_count, found.snapshot_id, found.findings) == (0, None, ())


def test_files_whose_entries_count_no_row(spark: SparkSession, catalog: Catalog) -> None:
    """The report tells of them; plans and rewrites leave them, whether they hold rows or not."""
    full, name = f"{CATALOG}.db.report_no_rows", "db.report_no_rows"
    spark.sql(f"DROP TABLE IF EXISTS {full}")
    table = catalog.create_table(name, pa.schema([("id", pa.int64()), ("at", pa.int64())]))
    rows = pa.table({"id": range(100), "at": range(100)})
    files = [new_file(table, rows, has_statistics=each < 2) for each in range(4)]
    for file in files[2:]:
        file._data[4] = 0
    commit_files(table, *files, new_file(table, rows.slice(0, 0)), one_manifest=True)
    found = same(spark, catalog, full, "id, at")
    assert (found.total_rows, found.total_file_count, found.files_without_rows) == (200, 5, 3)
    assert "files-without-rows" in codes(found)
    options = {"rewrite-all": "true"}
    plans = [describe_plan(spark, full, "id, at", options=options)]
    plans.append(plan_rewrite(table.refresh(), "id, at", options=options).to_dict())
    for plan in plans:
        assert [each["data_files_count"] for each in (*plan["file_groups"], *plan["left"])] == [2, 3]
        assert plan["left"] == plans[0]["left"]
    assert rewrite_data_files(spark, full, "id, at", options=options).rewritten_data_files_count == 2
    left = {file.file_path for file in data_files(table.refresh())}
    assert {file.file_path for file in files[2:]} < left
    assert len(left) == 4
    spark.sql(f"DROP TABLE {full}")
