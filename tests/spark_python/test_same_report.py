"""Both engines report the same of the same snapshot, whoever wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg import report as report_without_spark
from iceberg_zorder.report.clustering_report import ClusteringReport
from iceberg_zorder.spark import report, rewrite_data_files
from iceberg_zorder.spark.sql_text import string_literal
from tests.conftest import CATALOG
from tests.pyiceberg.committing import commit_files
from tests.pyiceberg.lake import equality_delete
from tests.spark.tables import needs_branch_argument

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
    pairs = {"format-version": str(version), "write.target-file-size-bytes": "40000", **properties}
    texts = ", ".join(f"'{key}'='{value}'" for key, value in pairs.items())
    spark.sql(f"CREATE TABLE {full} ({SCHEMA}) USING iceberg {partitioned} TBLPROPERTIES ({texts})")
    for start in range(0, 6_000, 1_500):
        insert(spark, full, start)
    return full


def insert(spark: SparkSession, full: str, start: int) -> None:
    spark.sql(f"INSERT INTO {full} SELECT /*+ REPARTITION(1) */ {ROWS} FROM range({start}, {start + 1_500})")


def described(found: ClusteringReport) -> dict[str, Any]:
    """A report without the commands of its findings, in which the engines differ."""
    values = found.to_dict(boxes=True)
    for finding in values["findings"]:
        del finding["command"]
    return values


def same(
    spark: SparkSession,
    catalog: Catalog,
    full: str,
    columns: str | None = ALL,
    predicates: tuple[str, ...] = (),
    **more: Any,
) -> ClusteringReport:
    """Report by both engines, and hold them to the same, boxes included."""
    ours = report(spark, full, columns, predicates=predicates, boxes=True, **more)
    theirs = report_without_spark(
        catalog.load_table(full.removeprefix(f"{CATALOG}.")), columns, predicates=predicates, **more
    )
    assert described(ours) == described(theirs)
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
    # By two columns there are too few files in each partition.
    assert ("badly-sized-files" in codes(found)) == ("bucket" not in partitioned)
    assert 0 < (found.predicates[0].scan_fraction or 0) < 1
    same(spark, catalog, full, "p, hilbert(id, at)", where="id < 2000")
    workload = {"version": 1, "queries": [{"filter": "id < 1500", "weight": 2}]}
    by, where = "f DESC NULLS FIRST, zorder(name)", "f IS NULL AND p <> 1"
    same(spark, catalog, full, by, predicates=PREDICATES, where=where, workload=workload)


def test_both_engines_tell_the_same_of_what_queries_read(
    spark: SparkSession, catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    full = make(spark, "report_workload", "PARTITIONED BY (p)")
    queries = [{"filter": text, "weight": 0.1 * number + 1e-3} for number, text in enumerate(PREDICATES)]
    workload = {"version": 1, "queries": [*queries, {"filter": "TRUE", "weight": 0.01}, queries[0]]}
    found = same(spark, catalog, full, "id", PREDICATES, workload=workload)
    assert found.workload is not None
    assert found.workload.queries == 1 + len(PREDICATES)
    alone = {each.predicate: each for each in found.predicates}
    assert all(each.scan_fraction == alone[each.filter].scan_fraction for each in found.workload.costliest)
    # That of the table, unless another or none is asked for.
    spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('zorder.workload' = {string_literal(json.dumps(workload))})")
    assert same(spark, catalog, full, "id").workload == found.workload
    other = {"version": 1, "queries": [{"filter": "id < 1500", "weight": 2}]}
    read = same(spark, catalog, full, "id", workload=other, where="p = 1").workload
    assert read is not None
    assert [each.filter for each in read.costliest] == ["id < 1500"]
    assert same(spark, catalog, full, "id", workload="").workload is None
    spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('zorder.workload' = '/no/such/workload.json')")
    assert same(spark, catalog, full, "id").workload is None
    assert "Reported without the workload of property zorder.workload" in caplog.text
    deep = json.dumps({"version": 1, "queries": [{"filter": "(" * 5_000 + "id = 1" + ")" * 5_000, "weight": 1}]})
    spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('zorder.workload' = {string_literal(deep)})")
    assert same(spark, catalog, full, "id").workload is None
    for wrong, said in {
        deep: "it is nested too deeply",
        "/no/such/other.json": "Cannot read workload",
        '{"version": 1, "queries": []}': "no query",
    }.items():
        with pytest.raises(InvalidInputError, match=said):
            report(spark, full, "id", workload=wrong)


def test_what_queries_read_of_an_older_snapshot(spark: SparkSession, catalog: Catalog) -> None:
    full = make(spark, "report_workload_before")
    first = spark.sql(f"SELECT snapshot_id FROM {full}.snapshots ORDER BY committed_at LIMIT 1").first()
    assert first is not None
    spark.sql(f"ALTER TABLE {full} RENAME COLUMN id TO number")
    spark.sql(f"ALTER TABLE {full} ADD COLUMN id STRING")
    workload = {
        "version": 1,
        "queries": [{"filter": "number >= 1500", "weight": 3}, {"filter": "id = 'a'", "weight": 1}],
    }
    now = same(spark, catalog, full, "number", workload=workload).workload
    then = same(spark, catalog, full, "number", workload=workload, snapshot_id=first["snapshot_id"]).workload
    assert now is not None
    assert then is not None
    # The first files have none of these numbers. Of the column that came later files tell nothing.
    assert {each.filter: each.total_file_count for each in now.costliest} == {"number >= 1500": 6, "id = 'a'": 8}
    assert {each.filter: each.total_file_count for each in then.costliest} == {"number >= 1500": 0, "id = 'a'": 2}


@pytest.mark.parametrize(
    "options", ["column-weights=ID=9,at=0.5;boundaries=50", "cuts=even;size-tolerance=0", "column-weights=name=2,id=1"]
)
def test_options_and_weights_that_are_remembered(spark: SparkSession, catalog: Catalog, options: str) -> None:
    full = make(spark, "report_options", properties={"zorder.options": options})
    found = same(spark, catalog, full, "hilbert(id, at)")
    spark.sql(f"ALTER TABLE {full} UNSET TBLPROPERTIES ('zorder.options')")
    plain = same(spark, catalog, full, "hilbert(id, at)")
    are_others = "name" in options
    attained = [[column.attainable for column in each.columns] for each in (found, plain)]
    assert (attained[0] == attained[1]) == are_others


@pytest.mark.parametrize("version", [1, 2, 3])
def test_deletes_specs_and_history(spark: SparkSession, catalog: Catalog, version: int) -> None:
    full = make(spark, f"report_history_{version}", version=version, properties={"write.delete.mode": "merge-on-read"})
    made = rewrite_data_files(spark, full, "zorder(id, at)", options={"rewrite-all": True})
    insert(spark, full, 9_000)
    laid_out = same(spark, catalog, full, None)
    assert laid_out.cluster_by_keys == ("id", "at")
    assert laid_out.history.laid_out_files == made.added_data_files_count
    assert laid_out.history.settled_files == 0
    assert laid_out.history.newer_files == laid_out.total_file_count - made.added_data_files_count > 0
    assert "newer-files" in codes(laid_out)
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


def test_deletes_by_equality(spark: SparkSession, catalog: Catalog) -> None:
    full = make(spark, "report_equality")
    table = catalog.load_table("db.report_equality")
    commit_files(table, equality_delete(table, [{"id": 7}], ["id"]))
    spark.sql(f"REFRESH TABLE {full}")
    assert same(spark, catalog, full).equality_delete_files == 1


def test_bounds_that_are_not_kept(spark: SparkSession, catalog: Catalog) -> None:
    metrics = {"write.metadata.metrics.column.id": "counts", "write.metadata.metrics.column.name": "none"}
    full = make(spark, "report_unkept", properties=metrics)
    spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('write.metadata.metrics.column.id'='full')")
    insert(spark, full, 9_000)
    found = same(spark, catalog, full, "id, name, at", predicates=PREDICATES)
    assert {"bounds-missing", "bounds-not-kept"} <= codes(found)
    spark.sql(f"ALTER TABLE {full} ADD COLUMN later BIGINT")
    assert same(spark, catalog, full, "later, at").columns[0].files_without_bounds == found.total_file_count


def test_upper_bounds_that_no_cut_one_can_be(spark: SparkSession, catalog: Catalog) -> None:
    full = f"{CATALOG}.db.report_endless"
    spark.sql(f"DROP TABLE IF EXISTS {full}")
    last = "repeat(decode(unhex('F48FBFBF'), 'UTF-8'), 20)"
    spark.sql(
        f"CREATE TABLE {full} USING iceberg TBLPROPERTIES ('format-version' = '2') AS "
        f"SELECT concat({last}, id) AS t, cast(concat(id, 'b') AS binary) AS b FROM range(0, 40, 1, 4)"
    )
    found = same(spark, catalog, full, "t, b")
    assert [column.files_without_upper_bounds for column in found.columns] == [4, 0]
    assert {each.command for each in found.findings if each.code == "bounds-missing"} == {
        f"ALTER TABLE {full} SET TBLPROPERTIES ('write.metadata.metrics.column.t' = 'truncate(256)')"
    }


def test_sizes_are_those_of_a_rewrite(spark: SparkSession, catalog: Catalog) -> None:
    full = make(spark, "report_sizes", "PARTITIONED BY (p)")
    spark.sql(f"ALTER TABLE {full} UNSET TBLPROPERTIES ('write.target-file-size-bytes')")
    found = same(spark, catalog, full, "id, at")
    # Four files of one partition, two of each of the others: a rewrite would leave them.
    assert sorted(each.total_file_count for each in found.partitions) == [2, 2, 4]
    assert (found.file_sizes.target_file_size_bytes, found.file_sizes.files_below_min) == (16 << 20, 8)
    assert found.file_sizes.badly_sized_files == 0
    assert "badly-sized-files" not in codes(found)
    options = "min-input-files=3; target-file-size-bytes=1000000; compression-factor=90"
    spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('zorder.options' = '{options}')")
    found = same(spark, catalog, full, "id, at")
    assert (found.file_sizes.target_file_size_bytes, found.file_sizes.badly_sized_files) == (1_000_000, 4)
    assert found.file_sizes.files_after_rewrite > 8
    assert "badly-sized-files" in codes(found)
    same(spark, catalog, full, "id, at", where="p = 0")


@needs_branch_argument
def test_branches_and_what_the_table_remembers(spark: SparkSession, catalog: Catalog) -> None:
    full = make(spark, "report_branch")
    with pytest.raises(InvalidInputError, match="because no columns are named and no snapshot of it tells of"):
        report(spark, full)
    spark.sql(f"ALTER TABLE {full} CREATE BRANCH audit")
    insert(spark, full, 9_000)
    assert same(spark, catalog, full, "id", branch="audit").total_rows == 6_000
    rewrite_data_files(spark, full, "at, hilbert(id, f)", options={"rewrite-all": True}, branch="audit")
    found = same(spark, catalog, full, None, branch="audit")
    assert found.cluster_by_keys == ("at", "id", "f")
    spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('zorder.columns'='day, zorder(name, e)')")
    assert same(spark, catalog, full, None).cluster_by_keys == ("day", "name", "e")


def test_columns_of_the_last_rewrite_after_they_were_renamed_or_dropped(spark: SparkSession, catalog: Catalog) -> None:
    full = make(spark, "report_renamed")
    made = rewrite_data_files(spark, full, "day DESC, hilbert(id, s.`b c`)", options={"rewrite-all": True})
    assert made.added_data_files_count
    for before, after in (("id", "key"), ("name", "id"), ("s.`b c`", "e"), ("s", "t"), ("day", "`the day`")):
        spark.sql(f"ALTER TABLE {full} RENAME COLUMN {before} TO {after}")
    found = same(spark, catalog, full, None)
    assert found.cluster_by_keys == ("`the day`", "key", "t.e")
    assert found.history.last_layout_columns == "id,s.`b c`"
    assert found.history.settled_files == found.total_file_count
    assert same(spark, catalog, full, "`the day` DESC, hilbert(key, id)").history.settled_files == 0
    spark.sql(f"ALTER TABLE {full} DROP COLUMN t")
    why = (
        f"because column 's.b c' of the last rewrite (snapshot {found.snapshot_id}) was dropped: name the columns that"
    )
    assert why in refused_alike(spark, catalog, full)
    spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('zorder.columns'='at, zorder(day, e)')")
    why = "has no such column: it has key, .* The table's property zorder.columns = 'at, zorder\\(day, e\\)' names it: set that"
    assert re.search(why, refused_alike(spark, catalog, full))


def refused_alike(
    spark: SparkSession, catalog: Catalog, full: str, columns: str | None = None, snapshot_id: int | None = None
) -> str:
    """Report by both engines, and hold them to the same words of refusal."""
    with pytest.raises(InvalidInputError) as ours:
        report(spark, full, columns, snapshot_id=snapshot_id)
    with pytest.raises(InvalidInputError) as theirs:
        report_without_spark(catalog.load_table(full.removeprefix(f"{CATALOG}.")), columns, snapshot_id=snapshot_id)
    assert str(ours.value) == str(theirs.value)
    return str(ours.value)


def test_a_table_without_data(spark: SparkSession, catalog: Catalog) -> None:
    full = f"{CATALOG}.db.report_none"
    spark.sql(f"DROP TABLE IF EXISTS {full}")
    spark.sql(f"CREATE TABLE {full} ({SCHEMA}) USING iceberg PARTITIONED BY (p)")
    found = same(spark, catalog, full, predicates=PREDICATES)
    assert (found.total_file_count, found.snapshot_id, found.findings) == (0, None, ())


BOXES = ("name, s.`b c`", "s.x, f", "at, day", "d, e", "g DESC, hilbert(ok, name)", "later")
"""Sort orders of which pictures show the first two columns: cut texts, bytes, NaN, NULLs, decimals below zero."""


def test_boxes_are_the_same(spark: SparkSession, catalog: Catalog) -> None:
    full = make(spark, "report_boxes", "PARTITIONED BY (p)", properties={"write.metadata.metrics.column.f": "counts"})
    spark.sql(f"INSERT INTO {full} (name, p) VALUES ('\U0010ffff\U0001f600', 5), (NULL, 5)")
    spark.sql(f"ALTER TABLE {full} ADD COLUMN later BIGINT")
    for order in BOXES:
        found = same(spark, catalog, full, order, where="p <> 1")
        assert found.boxes is not None
        assert [axis.name for axis in found.boxes.axes] == list(found.cluster_by_keys[:2])
        assert {len(axis.lower) for axis in found.boxes.axes} == {found.total_file_count}
        assert sum(found.boxes.sizes.values()) == found.total_file_count
    assert report(spark, full, "id").boxes is None


def test_snapshots_of_before(spark: SparkSession, catalog: Catalog) -> None:
    full = make(spark, "report_before", properties={"write.delete.mode": "merge-on-read"})
    rewrite_data_files(spark, full, "p, hilbert(id, at)", options={"rewrite-all": True})
    spark.sql(f"DELETE FROM {full} WHERE id % 7 = 1")
    spark.sql(f"ALTER TABLE {full} RENAME COLUMN id TO key")
    spark.sql(f"ALTER TABLE {full} RENAME COLUMN day TO id")
    assert same(spark, catalog, full, None, ("key < 700",), where="key < 5000").sort_order is not None
    spark.sql(f"ALTER TABLE {full} ADD COLUMN later BIGINT")
    spark.sql(f"ALTER TABLE {full} ADD PARTITION FIELD bucket(2, key)")
    spark.sql(f"ALTER TABLE {full} DROP COLUMN ok")
    spark.sql(f"INSERT INTO {full} (key, at, later) VALUES (1, now(), 5), (2, now(), 6)")
    asked = ("key = 700", "id < DATE '1970-01-01' OR later = 5", "later IS NULL")
    history = spark.sql(f"SELECT snapshot_id, operation FROM {full}.snapshots ORDER BY committed_at").collect()
    assert [each.operation for each in history] == [*["append"] * 4, "replace", "delete", "append"]
    counts = []
    for snapshot, _ in history:
        found = same(spark, catalog, full, "id, zorder(later, key)", asked, snapshot_id=snapshot)
        assert (found.snapshot_id, found.cluster_by_keys) == (snapshot, ("id", "later", "key"))
        chosen = same(spark, catalog, full, "key, at", asked, snapshot_id=snapshot, where="key < 1000")
        counts.append((found.total_file_count, chosen.total_file_count, found.files_with_deletes > 0))
    first, _, _, fourth, laid_out, deleted, newest = counts
    # Rows of the other inserts have other ids.
    assert (fourth[0], fourth[1], first[1] > 0) == (4 * first[0], first[1], True)
    assert 0 < laid_out[1] < laid_out[0]
    assert (deleted, newest[0] - deleted[0]) == ((*laid_out[:2], True), newest[1] - deleted[1])

    # What no columns are named for is what was remembered then, and an unknown snapshot is named.
    by_default = same(spark, catalog, full, None, snapshot_id=history[5].snapshot_id)
    assert by_default.sort_order == "p ASC NULLS FIRST, hilbert(key, at)"
    assert "no snapshot of it tells of a rewrite" in refused_alike(
        spark, catalog, full, snapshot_id=history[3].snapshot_id
    )
    for unknown in (5, -1, 2**63):
        why = refused_alike(spark, catalog, full, "key", snapshot_id=unknown)
        assert why == f"Cannot report on snapshot {unknown}, because {full} has no such snapshot"
