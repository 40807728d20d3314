"""Both engines plan the same file groups and fit the same layouts to the same snapshot."""

import json
import re
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.layout import layout_hash
from iceberg_zorder.pyiceberg import plan_rewrite, sample
from iceberg_zorder.pyiceberg import rewrite_data_files as rewrite_without_spark
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext, draw_samples, group_scans
from iceberg_zorder.pyiceberg.plan.sort_order import resolve
from iceberg_zorder.rewrite.options import rewrite_options
from iceberg_zorder.rewrite.result import RewriteResult
from iceberg_zorder.rewrite.sort_order import parse_sort_order
from iceberg_zorder.spark import rewrite_data_files
from tests.pyiceberg.committing import commit_files, head_of, summary_of
from tests.pyiceberg.lake import equality_delete, planned
from tests.spark.tables import CATALOG
from tests.spark.tables import Table as SparkTable

# The bytes of files are of the engine's own writers.
MEASURED = ("zorder.scan-fractions", "zorder.rewrite-duration-ms", "zorder.rewrite-id")


def make(
    spark: SparkSession,
    name: str,
    partitioned: str = "",
    properties: str = "'format-version'='2'",
    floating: str = "DOUBLE",
    rows: int = 12_000,
) -> str:
    full = f"{CATALOG}.db.{name}"
    # Each of the four tasks writes a file, in each partition.
    spark.sql(
        f"CREATE TABLE {full} USING iceberg {partitioned} "
        f"TBLPROPERTIES ({properties}, 'write.distribution-mode'='none') AS SELECT id, "
        "CAST(CASE WHEN id % 50 = 0 THEN double('NaN') WHEN id % 33 = 0 THEN NULL ELSE (id * 7919 % 1000) / 8 - 60 END "
        f"AS {floating}) AS f, "
        "CASE WHEN id % 40 = 0 THEN NULL ELSE concat('common prefix ', id * 31 % 977) END AS name, "
        "timestamp_micros(id * 104729 % 100000000) AS at, CAST((id * 17 % 501 - 250) / 3 AS DECIMAL(20, 3)) AS d, "
        "CAST(id % 3 AS INT) AS p, "
        "IF(id % 10 = 0, NULL, named_struct('x', CAST(id % 5 AS INT), 'b', unhex(hex(id)))) AS s "
        f"FROM range(0, {rows}, 1, 4)"
    )
    return full


CASES = {
    "plain": ("", "zorder(f, name)", {}),
    "sparse": ("", "zorder(id, at)", {"sample-rows": "500", "sample-seed": "-7"}),
    "even": ("", "zorder(d, f, s.x)", {"cuts": "even", "boundaries": "50"}),
    "hilbert": ("", "hilbert(s.b, at)", {"sample-rows": "2000"}),
    "prefix": ("", "name DESC NULLS LAST, zorder(f, id)", {"column-weights": "id=3"}),
    "partitioned": ("PARTITIONED BY (p)", "zorder(p, id, name)", {"sample-rows": "900"}),
    "evolved": ("", "zorder(id, name)", {}),
    "bucketed": ("PARTITIONED BY (bucket(2, id))", "zorder(id, f)", {"size-tolerance": "0.5"}),
}


@pytest.mark.parametrize("case", CASES)
def test_both_engines_do_the_same(spark: SparkSession, catalog: Catalog, case: str) -> None:
    partitioned, by, options = CASES[case]
    full = make(spark, f"same_{case}", partitioned, floating="FLOAT" if case == "prefix" else "DOUBLE")
    if case in ("plain", "sparse"):
        spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
        spark.sql(f"DELETE FROM {full} WHERE id % 7 = 1")
    if case == "evolved":
        for partition_field in ("truncate(2, p)", "bucket(2, name)", "f"):
            spark.sql(f"ALTER TABLE {full} ADD PARTITION FIELD {partition_field}")
        spark.sql(
            f"UPDATE {full} SET f = CASE WHEN f < -20 THEN -0.0 WHEN f < 20 THEN 0.0 WHEN f > 40 THEN NULL ELSE f - f % 40 END"
        )
        spark.sql(f"ALTER TABLE {full} ADD PARTITION FIELD hours(at)")
    given = {"rewrite-all": "true", "target-file-size-bytes": "40000", **options}
    rewritten_alike(spark, catalog.load_table(f"db.same_{case}"), by, given)


def rewritten_alike(spark: SparkSession, table: Table, by: str, options: dict[str, str]) -> dict[str, str]:
    """Rewrite one snapshot by both engines: no row changes, and what they write and say of it is the same."""
    name = ".".join(table.name())
    on_spark, before = SparkTable(spark, name), table.current_snapshot()
    rows = on_spark.fingerprint()
    assert before is not None
    result = rewrite_without_spark(table, by, options=options)
    spark.sql(f"REFRESH TABLE {on_spark.full_name}")
    ours = outcome(table)
    assert on_spark.fingerprint() == rows
    spark.sql(f"CALL {CATALOG}.system.rollback_to_snapshot('{name}', {before.snapshot_id})")
    assert counts(rewrite_data_files(spark, on_spark.full_name, by, options=options)) == counts(result)
    assert on_spark.fingerprint() == rows
    assert outcome(table) == ours
    return ours[0]


def test_long_values_are_cut_alike(spark: SparkSession, catalog: Catalog) -> None:
    """Past 16 characters of four bytes each, in the midst of a character, and where bounds keep all."""
    full = f"{CATALOG}.db.same_long"
    spark.sql(
        f"CREATE TABLE {full} (id BIGINT, t STRING, u STRING, b BINARY) USING iceberg TBLPROPERTIES "
        "('format-version'='2', 'write.metadata.metrics.column.u'='full', 'write.metadata.metrics.column.b'='truncate(3)')"
    )
    many = "array_join(transform(sequence(1, 64), i -> sha2(concat(id, ' ', i), 256)), '')"
    for start in (0, 750):
        spark.sql(
            f"INSERT INTO {full} SELECT /*+ REPARTITION(1) */ id, "
            f"concat(repeat('x', id % 4), repeat('\U0001f600', 15), substr({many}, 1, 1), repeat('\u20ac', id * 31 % 977)), "
            f"CASE WHEN id % 9 = 0 THEN NULL ELSE concat(repeat('y', 100), {many}) END, cast({many} AS binary) "
            f"FROM range({start}, {start + 750})"
        )
    table, by = catalog.load_table("db.same_long"), "zorder(t, u, b)"
    given = {"rewrite-all": "true", "target-file-size-bytes": str(size(spark, full) // 12)}

    options = rewrite_options(given)
    order, groups = resolve(table, parse_sort_order(by)), planned(table, given).groups
    [sample] = draw_samples(SampleContext(table, order, options.layout), group_scans(groups, options.layout))
    lengths = [max(len(key) for key in column.values.tolist()) for column in sample.fitted.columns]
    assert lengths == [68, 4196, 64]

    rewritten_alike(spark, table, by, given)


PARTS = {
    # Values of a and b, by a row's number and its row group's; and whether row groups are clusters by both of them.
    "in order": ("id", "id * 104729 % 99991", False),
    "boxes": ("id div 250 * 97 % 160 * 1000 + id * 31 % 997", "id div 250 * 61 % 160 * 1000 + id * 17 % 997", True),
}


@pytest.mark.parametrize("case", PARTS)
def test_both_engines_read_the_same_row_groups(spark: SparkSession, catalog: Catalog, case: str) -> None:
    """Parts of files, with deletes of both kinds; and more parts of those whose row groups are clusters."""
    a, b, are_clusters = PARTS[case]
    name = f"same_row_groups_{case.replace(' ', '_')}"
    full = f"{CATALOG}.db.{name}"
    spark.sql(
        f"CREATE TABLE {full} (id BIGINT, a BIGINT, b BIGINT) USING iceberg TBLPROPERTIES "
        "('format-version'='2', 'write.delete.mode'='merge-on-read', 'write.distribution-mode'='none')"
    )
    small = {"size-bytes": "1", "check-min-record-count": "250", "check-max-record-count": "250"}
    properties = {f"write.parquet.row-group-{key}": value for key, value in small.items()}
    pairs = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
    spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ({pairs})")
    spark.sql(f"INSERT INTO {full} SELECT id, {a}, {b} FROM range(0, 20000, 1, 4)")
    # Iceberg's writer goes by them, too, when it ends a file.
    spark.sql(f"ALTER TABLE {full} UNSET TBLPROPERTIES ({', '.join(map(repr, properties))})")
    spark.sql(f"DELETE FROM {full} WHERE id % 7 = 1")
    table = catalog.load_table(f"db.{name}")
    commit_files(table, equality_delete(table, [{"id": each} for each in range(0, 20_000, 11)], ["id"]))
    spark.sql(f"REFRESH TABLE {full}")
    target = str(size(spark, full) // 12)
    given = {"rewrite-all": "true", "target-file-size-bytes": target, "sample-rows": "1500"}
    options = rewrite_options(given).layout
    [group] = planned(table, given).groups
    [scan] = group_scans([group], options)
    all_row_groups = sum(len(task.data_file.split_offsets or ()) for task in group.tasks)
    read = [sum(len(file) for file in each.row_groups or ()) for each in (scan, scan.of_clusters(0))]
    assert 0 < read[0] <= 0.3 * all_row_groups <= read[1] <= 0.6 * all_row_groups
    order = resolve(table, parse_sort_order("zorder(a, b)"))
    scans = [scan.of_clusters(0) if are_clusters else scan]
    [sample] = draw_samples(SampleContext(table, order, options), scans)
    layout = fit(order.all, sample.fitted, LayoutRequest(group.expected_output_files))
    assert rewritten_alike(spark, table, "zorder(a, b)", given)["zorder.layout-hash"] == layout_hash(layout)


def counts(result: RewriteResult) -> list[int]:
    """What both engines count alike: delete files of no use any more go at once without Spark."""
    return [result.rewritten_data_files_count, result.added_data_files_count, result.rewritten_bytes_count]


def size(spark: SparkSession, table: str) -> int:
    return int(spark.sql(f"SELECT sum(file_size_in_bytes) FROM {table}.files").collect()[0][0])


def outcome(table: Table) -> tuple[dict[str, str], list[tuple[str, int]]]:
    """What the newest commit says of the layout, and of every data file its partition and rows."""
    summary = summary_of(table.refresh())
    said = {key: value for key, value in summary.items() if key.startswith("zorder.") and not key.startswith(MEASURED)}
    files = table.inspect.data_files().to_pylist()
    return said, sorted((str(each.get("partition")), each["record_count"]) for each in files)


def test_files_have_no_sort_order(spark: SparkSession, catalog: Catalog) -> None:
    """A curve is no sort order of the table, and readers may trust the one that a file names."""
    full = make(spark, "same_sort_order")
    spark.sql(f"ALTER TABLE {full} WRITE ORDERED BY id")
    spark.sql(f"INSERT INTO {full} SELECT * FROM {full} WHERE id < 100")
    table = catalog.load_table("db.same_sort_order")
    assert sort_order_ids(table) == {0, table.sort_order().order_id}
    before = head_of(table)
    rewrite_without_spark(table, "id, zorder(f, name)", options={"rewrite-all": "true"})
    spark.sql(f"REFRESH TABLE {full}")
    in_spark = spark.sql(f"SELECT DISTINCT sort_order_id FROM {full}.files").collect()
    assert {row[0] for row in in_spark} == sort_order_ids(table) == {None}

    spark.sql(f"CALL {CATALOG}.system.rollback_to_snapshot('db.same_sort_order', {before.snapshot_id})")
    rewrite_data_files(spark, full, "id, zorder(f, name)", options={"rewrite-all": "true"})
    assert sort_order_ids(table) == {0}


def sort_order_ids(table: Table) -> set[int | None]:
    return set(table.refresh().inspect.data_files()["sort_order_id"].to_pylist())


PLANS: dict[str, tuple[dict[str, str], str | None]] = {
    "nothing": ({}, None),
    "all": ({"rewrite-all": "true"}, None),
    "where": ({"rewrite-all": "true"}, "id < 4000"),
    "where none": ({"rewrite-all": "true"}, "id < 0"),
    "target": ({"target-file-size-bytes": "50000"}, None),
    "few": ({"min-input-files": "3"}, None),
    "in order": ({"target-file-size-bytes": "90000", "min-file-size-bytes": "1"}, None),
    # By default a file of up to 36,000 bytes would be in order.
    "too large": (
        {"target-file-size-bytes": "20000", "max-file-size-bytes": "25000", "max-scan-ratio": "Infinity"},
        "id < 9000",
    ),
    "narrow limits": ({"min-file-size-bytes": "30000", "max-file-size-bytes": "34000"}, None),
    "at most": ({"rewrite-all": "true", "max-files-to-rewrite": "3"}, None),
    "what pays": ({"max-scan-ratio": "1.2", "target-file-size-bytes": "30000", "min-file-size-bytes": "1"}, None),
    "all that pays": (
        {"max-scan-ratio": "1", "target-file-size-bytes": "9000", "min-file-size-bytes": "1"},
        "id < 9000",
    ),
    "nothing pays": ({"max-scan-ratio": "1e3", "min-file-size-bytes": "1"}, None),
    "too young": ({"rewrite-all": "true", "min-age-seconds": "1000000000"}, None),
    "too young, of some": ({"min-age-seconds": "1000000000"}, "id < 4000"),
    "old enough": ({"rewrite-all": "true", "min-age-seconds": "0"}, None),
    "group cuts": (
        {"rewrite-all": "true", "target-file-size-bytes": "1000", "max-file-group-size-bytes": "4000"},
        None,
    ),
    "group cuts by files": ({"rewrite-all": "true", "max-file-group-input-files": "2"}, None),
    "at most, of regions": (
        {"rewrite-all": "true", "max-file-group-size-bytes": "70000", "max-files-to-rewrite": "3"},
        None,
    ),
    "factor": ({"rewrite-all": "true", "target-file-size-bytes": "10000", "compression-factor": "0.37"}, None),
}


@pytest.mark.parametrize("case", PLANS)
def test_plans_are_the_same(spark: SparkSession, catalog: Catalog, case: str) -> None:
    options, where = PLANS[case]
    full = f"{CATALOG}.db.same_plan"
    if not spark.catalog.tableExists(full):
        make(spark, "same_plan")
    pairs = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
    given = f", options => map({pairs})" if options else ""
    given += f", where => '{where}'" if where else ""
    row = spark.sql(
        f"CALL {CATALOG}.system.zorder_plan(table => 'db.same_plan', sort_order => 'zorder(id, f)'{given})"
    ).collect()[0]
    table = catalog.load_table("db.same_plan")
    plan = plan_rewrite(table, "zorder(id, f)", options=dict(options), where=where)
    chosen = sum(len(group.tasks) for group in plan.groups)
    assert tuple(row)[:5] == (
        chosen + sum(len(files.tasks) for files in plan.left),
        chosen,
        len(plan.groups),
        sum(group.expected_output_files for group in plan.groups),
        plan.message,
    )
    # Which of several files of a partition come first depends on which manifest Iceberg has read first.
    sizes = r"[\d,]+ bytes" if case == "at most" else "no sizes"
    assert re.sub(sizes, "", str(plan)) == re.sub(sizes, "", row["plan"])


@pytest.mark.parametrize("ratio", [{}, {"max-scan-ratio": "1.2"}], ids=["by size", "what pays"])
def test_plans_of_old_specs_are_the_same(spark: SparkSession, catalog: Catalog, ratio: dict[str, str]) -> None:
    name = f"db.same_specs_{len(ratio)}"
    full = f"{CATALOG}.{name}"
    spark.sql(f"CREATE TABLE {full} USING iceberg AS SELECT id, id % 7 AS a FROM range(0, 400, 1, 2)")
    for field in ("bucket(2, id)", "truncate(300, id)"):
        spark.sql(f"ALTER TABLE {full} ADD PARTITION FIELD {field}")
        spark.sql(f"INSERT INTO {full} SELECT id, id % 7 FROM range(200, 280, 1, 1)")
    # A partition of NULLs is one like others, and not that of the files of other specs.
    spark.sql(f"INSERT INTO {full} SELECT NULL, id FROM range(0, 40, 1, 1)")
    table = catalog.load_table(name)
    for output in ({}, {"output-spec-id": "0"}, {"output-spec-id": "1", "min-file-size-bytes": "0"}):
        options = {"rewrite-old-specs": "true", **ratio, **output}
        plan = plan_rewrite(table, "id, a", options=options)
        pairs = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
        row = spark.sql(
            f"CALL {CATALOG}.system.zorder_plan(table => '{name}', sort_order => 'id, a', options => map({pairs}))"
        ).collect()[0]
        assert sorted(str(plan).splitlines()) == sorted(row["plan"].splitlines())
        assert "; new files are of " in str(plan)


def test_what_terminals_obey_is_escaped_in_plans(spark: SparkSession, catalog: Catalog) -> None:
    full, name = f"{CATALOG}.db.same_hostile", "a\x1b[31m\u202e\x07"
    spark.sql(
        f"CREATE TABLE {full} USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '2') AS "
        f"SELECT id, id % 7 AS `{name}`, concat('p\x1b', id % 2) AS p FROM range(0, 400, 1, 4)"
    )
    by, options, where = f"zorder(`{name}`, id)", {"rewrite-all": "true"}, "p = 'p\x1b1'"
    table = catalog.load_table("db.same_hostile")
    plan = sample(table, plan_rewrite(table, by, options=dict(options), where=where))
    jvm: Any = spark.sparkContext._jvm
    begun = jvm.io.icebergzorder.spark.api.ZOrderRewrite.of(spark._jsparkSession, full)
    on_spark = begun.sortOrder(by).options(options).where(where).plan().sampled()
    assert str(plan) == on_spark.toString()
    assert "zorder(`a\\x1b[31m\\u202e\\x07`, id) where p = 'p\\x1b1'" in str(plan)
    assert not any(character in str(plan) for character in "\x1b\u202e\x07")
    assert name in json.loads(on_spark.toJson())["sort_order"]


def test_sampled_plans_are_the_same(spark: SparkSession, catalog: Catalog) -> None:
    make(spark, "same_prediction")
    options = {"rewrite-all": "true", "target-file-size-bytes": "10000", "sample-rows": "4000"}
    table = catalog.load_table("db.same_prediction")
    plan = sample(table, plan_rewrite(table, "zorder(id, f, name, s.b)", options=dict(options)))
    jvm: Any = spark.sparkContext._jvm
    begun = jvm.io.icebergzorder.spark.api.ZOrderRewrite.of(spark._jsparkSession, f"{CATALOG}.db.same_prediction")
    on_spark = begun.sortOrder("zorder(id, f, name, s.b)").options(options).plan().sampled()
    assert 0 < max(each.predicted or 0 for each in plan.scans) < 0.9
    described, without = json.loads(on_spark.toJson()), plan.to_dict()
    # Where Python's and Java's sums differ, they do so in the last digit.
    for one in (described, without):
        layout = one["file_groups"][0]["layout"]
        for part in (*one["scans"], *(layout[key] for key in ("scan_fractions", "scan_fractions_before"))):
            part |= {name: round(value, 9) for name, value in part.items() if isinstance(value, float)}
    assert described.pop("planned_at_ms") <= without.pop("planned_at_ms") + 60_000
    assert sorted(described.pop("options")) == sorted(without.pop("options")), "a dict has no order on its way to Java"
    assert json.dumps(described) == json.dumps(without)


WRONG = [
    "zorder(nope)",
    "zorder(ID, id)",
    "zorder(s)",
    "zorder(s.nope)",
    "zorder(id.x)",
    "name, zorder(name)",
    "zorder(at)",
    "zorder(p)",
]


def test_refusals_are_the_same(spark: SparkSession, catalog: Catalog) -> None:
    full = make(
        spark,
        "same_refusals",
        "PARTITIONED BY (p)",
        "'format-version'='2', 'write.metadata.metrics.column.at'='counts'",
        rows=100,
    )
    table = catalog.load_table("db.same_refusals")
    for by in WRONG:
        with pytest.raises(InvalidInputError) as ours:
            resolve(table, parse_sort_order(by), needs_bounds=True)
        with pytest.raises(Exception, match="Cannot cluster by") as theirs:
            rewrite_data_files(spark, full, by, options={"metrics-check": "fail"})
        assert str(ours.value) in re.sub(r"\s+", " ", str(theirs.value)), by
    with pytest.raises(InvalidInputError) as ours:
        resolve(table, parse_sort_order("zorder(id, f)"), [(("name",), 2.0)])
    with pytest.raises(Exception, match="Cannot set column-weights") as theirs:
        rewrite_data_files(spark, full, "zorder(id, f)", options={"column-weights": "name=2"})
    assert str(ours.value) in str(theirs.value)
