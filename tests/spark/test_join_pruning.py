"""Joins skip files: with and without ``spark.iceberg-zorder.join-pruning`` a query gives the same rows, and reads fewer files.

The large table has 32 files, each a box in every column but ``r``; the small one names eight values by their group. So a join by
group 3 needs four of the files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from tests.spark.joins.differential import failures
from tests.spark.tables import ICEBERG, SPARK, local_path, settings

pytestmark = pytest.mark.usefixtures("own_tables")
SETTING = "spark.iceberg-zorder.join-pruning"
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
FILES = 32
GROUPS = 8

KEYS = {
    "i": "cast(id AS int)",
    "l": "id * 1000000007",
    "de": "cast(id / 7 AS decimal(20, 3))",
    "big": "cast(id * 100000000000000000000 AS decimal(38, 0))",
    "s": "concat('key ü 😀 ', lpad(cast(id AS string), 9, '0'))",
    "da": "date_add(date'1969-06-01', cast(id AS int))",
    "ts": "timestamp_micros(id * 3600000001 + 1000000000000000)",
    "tn": "cast(timestamp_micros(id * 3600000001 + 1000000000000000) AS timestamp_ntz)",
    "`d.o t`": "cast(id AS int)",
}
"""Columns that rise with the row, and their values."""


@pytest.fixture(scope="module")
def star(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with a table ``fact``, clustered by every key, and ``dim``, whose groups are ranges of them."""
    keys = ", ".join(f"{value} AS {name}" for name, value in KEYS.items())
    spark.sql(
        f"CREATE TABLE lake.db.fact USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none') AS"
        f" SELECT /*+ REPARTITION_BY_RANGE({FILES}, id) */ id, {keys}, pmod(hash(id), 100) AS r FROM range(6400)"
    )
    assert len(spark.table("lake.db.fact.files").collect()) == FILES
    spark.sql(
        f"CREATE TABLE lake.db.dim USING iceberg AS SELECT id, {keys}, pmod(hash(id), 100) AS r,"
        f" cast(id DIV {6400 // GROUPS} AS int) AS g FROM range(0, 6400, 10)"
    )
    # Spark broadcasts 640 rows, and may not broadcast 6,400.
    with settings(spark, {THRESHOLD: "25000"}):
        yield spark
    for name in ("fact", "dim"):
        spark.sql(f"DROP TABLE lake.db.{name} PURGE")


def nodes(plan: JavaObject) -> Iterator[JavaObject]:
    """All operators of an executed plan, those of finished stages among them."""
    name = plan.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        yield from nodes(plan.executedPlan())
    elif name.endswith("QueryStageExec"):
        yield from nodes(plan.plan())
    elif name != "ReusedExchangeExec":
        yield plan
        children = plan.children()
        for place in range(children.size()):
            yield from nodes(children.apply(place))


def scans(query: DataFrame, table: str = "fact") -> list[JavaObject]:
    """The scans of a table in an executed query."""
    plan = query._jdf.queryExecution().executedPlan()
    found = [node for node in nodes(plan) if node.getClass().getSimpleName() == "BatchScanExec"]
    return [node for node in found if str(node.table().name()).endswith(f".{table}")]


def metric(scan: JavaObject, name: str) -> int | None:
    found = scan.metrics().get(name)
    return int(found.get().value()) if found.isDefined() else None


def skipped(query: DataFrame, table: str = "fact") -> list[int | None]:
    """The files that joins have skipped, by scan of a table; None of a scan that is Iceberg's own."""
    return [metric(scan, "filesSkippedByJoins") for scan in scans(query, table)]


def rows_read(query: DataFrame, table: str) -> int:
    return sum(metric(scan, "numOutputRows") or 0 for scan in scans(query, table))


def rows(query: DataFrame) -> Counter[Any]:
    return Counter(map(str, query.collect()))


def check(spark: SparkSession, sql: str) -> DataFrame:
    """Run a query with and without join pruning, which must give the same rows; return that with it."""
    with settings(spark, {SETTING: "off"}):
        plain = spark.sql(sql)
        expected = rows(plain)
        assert all(each is None for each in skipped(plain))
    failures(spark)
    query = spark.sql(sql)
    assert rows(query) == expected
    assert not failures(spark)
    return query


@pytest.mark.version
@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("key", KEYS)
def test_keys_of_every_type(star: SparkSession, key: str, adaptive: str) -> None:
    with settings(star, {"spark.sql.adaptive.enabled": adaptive}):
        query = check(star, f"SELECT fact.id FROM lake.db.fact JOIN lake.db.dim ON fact.{key} = dim.{key} WHERE g = 3")
    assert skipped(query) == [FILES - FILES // GROUPS]
    assert [metric(scan, "resultDataFiles") for scan in scans(query)] == [FILES // GROUPS]
    assert [metric(scan, "numOutputRows") for scan in scans(query)] == [6400 // GROUPS]
    assert query.count() == 80


JOINS = {
    "left semi": "SELECT id FROM lake.db.fact LEFT SEMI JOIN lake.db.dim ON fact.i = dim.i AND g = 3",
    "in": "SELECT id FROM lake.db.fact WHERE i IN (SELECT i FROM lake.db.dim WHERE g = 3)",
    "exists": "SELECT id FROM lake.db.fact WHERE EXISTS (SELECT 1 FROM lake.db.dim WHERE dim.l = fact.l AND g = 3)",
    "aggregate": "SELECT g, count(*) FROM lake.db.fact JOIN lake.db.dim USING (da) WHERE g = 3 GROUP BY g",
    "names in another case": "SELECT FACT.Id FROM lake.db.fact JOIN lake.db.dim ON FACT.I = DIM.I WHERE G = 3",
    "two keys": "SELECT fact.id FROM lake.db.fact JOIN lake.db.dim ON fact.i = dim.i AND fact.s = dim.s WHERE g = 3",
    "with a filter": "SELECT fact.id FROM lake.db.fact JOIN lake.db.dim USING (i) WHERE g = 3 AND fact.r < 50",
    "distinct": "SELECT count(DISTINCT fact.r), min(fact.s) FROM lake.db.fact JOIN lake.db.dim USING (i) WHERE g = 3",
}


@pytest.mark.parametrize("sql", JOINS.values(), ids=list(JOINS))
def test_joins_of_every_kind(star: SparkSession, sql: str) -> None:
    assert skipped(check(star, sql)) == [FILES - FILES // GROUPS]


def test_a_small_side_without_rows_skips_all(star: SparkSession) -> None:
    sql = "SELECT fact.id FROM lake.db.fact JOIN lake.db.dim USING (i) WHERE g > 100"
    check(star, sql)
    with settings(star, {"spark.sql.adaptive.enabled": "false"}):
        assert skipped(check(star, sql)) == [FILES]


@pytest.mark.parametrize(
    "sql",
    [
        # Spark broadcasts no side whose every row is kept, and hands on the keys of broadcasts alone.
        "SELECT dim.id, fact.s FROM lake.db.fact RIGHT JOIN (SELECT * FROM lake.db.dim WHERE g = 3) dim ON fact.i = dim.i",
        "SELECT fact.id, g FROM lake.db.fact LEFT JOIN (SELECT * FROM lake.db.dim WHERE g = 3) dim USING (i)",
        "SELECT id FROM lake.db.fact LEFT ANTI JOIN lake.db.dim ON fact.i = dim.i AND g = 3",
        "SELECT id FROM lake.db.fact WHERE i NOT IN (SELECT i FROM lake.db.dim WHERE g = 3)",
        "SELECT fact.id, g FROM lake.db.fact FULL JOIN (SELECT * FROM lake.db.dim WHERE g = 3) dim USING (i)",
    ],
)
def test_joins_that_need_all_rows(star: SparkSession, sql: str) -> None:
    assert not any(skipped(check(star, sql)))


def test_many_keys_become_ranges_outside_of_the_plans_text(star: SparkSession) -> None:
    star.sql("CREATE TABLE lake.db.keys USING iceberg AS SELECT cast(id AS int) AS i, id % 2 AS g FROM range(0, 3000)")
    query = check(star, "SELECT fact.id FROM lake.db.fact JOIN lake.db.keys USING (i) WHERE g = 1")
    assert skipped(query) == [FILES - 15]
    assert len(query._jdf.queryExecution().toString()) < 20_000


@pytest.mark.parametrize(
    "sql",
    [
        # A cast to the type of the other side, the same behind a name, and an expression.
        "SELECT fact.id FROM lake.db.fact JOIN lake.db.dim ON fact.i = dim.l WHERE g = 3",
        "SELECT count(*) FROM (SELECT cast(da AS string) AS day FROM lake.db.fact) JOIN lake.db.dim ON day = dim.s WHERE g = 3",
        "SELECT fact.id FROM lake.db.fact JOIN lake.db.dim ON fact.i + 1 = dim.i WHERE g = 3",
        "SELECT fact.id FROM lake.db.fact JOIN lake.db.dim ON fact.i = dim.l WHERE g = 3 AND fact.i > 5 AND fact.i <> 7",
        "SELECT id FROM lake.db.fact WHERE i IN (SELECT l FROM lake.db.dim WHERE g = 3)",
        "SELECT id FROM lake.db.fact WHERE EXISTS (SELECT 1 FROM lake.db.dim WHERE dim.l = fact.i AND g = 3)",
        # A column whose bounds separate no files.
        "SELECT fact.id FROM lake.db.fact JOIN lake.db.dim ON fact.r = dim.r WHERE g = 3 AND dim.id < 2410",
    ],
)
def test_columns_that_take_no_keys_insert_no_subquery(star: SparkSession, sql: str) -> None:
    query = check(star, sql)
    assert skipped(query) == [None]
    assert "dynamicpruning" not in query._jdf.queryExecution().toString().lower()


def test_a_column_that_one_join_casts_and_another_does_not(star: SparkSession) -> None:
    query = check(
        star,
        "SELECT fact.id FROM lake.db.fact JOIN lake.db.dim a ON fact.i = a.i"
        " JOIN lake.db.dim b ON fact.i = b.l WHERE a.g = 3 AND b.g = 0",
    )
    assert FILES - FILES // GROUPS in skipped(query)


@pytest.mark.parametrize(("keys", "expected"), [(100_000, FILES - 1), (100_001, 0)])
def test_more_keys_than_are_worth_sorting(star: SparkSession, keys: int, expected: int) -> None:
    """A broadcast of so many keys, of which the first is in the table."""
    star.sql(f"CREATE TABLE lake.db.many USING iceberg AS SELECT cast(-id AS int) AS i, 1 AS g FROM range({keys})")
    query = check(
        star, "SELECT /*+ BROADCAST(m) */ fact.id FROM lake.db.fact JOIN lake.db.many m USING (i) WHERE g = 1"
    )
    assert skipped(query) == [expected]


@pytest.mark.version
def test_a_scan_that_takes_keys_is_for_spark_what_icebergs_is(star: SparkSession) -> None:
    sql = "SELECT fact.id FROM lake.db.fact JOIN lake.db.dim USING (i) WHERE g = 3"
    with settings(star, {SETTING: "off"}):
        (plain,) = scans(star.sql(sql))
    (served,) = scans(star.sql(sql))
    assert served.scan().getClass() != plain.scan().getClass()
    assert served.table().getClass() == plain.table().getClass()
    assert served.scan().description() == plain.scan().description()
    for name in ("readSchema", "columnarSupportMode"):
        assert getattr(served.scan(), name)().toString() == getattr(plain.scan(), name)().toString()


@pytest.mark.parametrize("threshold", [50_000, 100], ids=["few rows", "few bytes"])
def test_a_small_table_that_comes_first_takes_no_keys(star: SparkSession, threshold: int) -> None:
    """Of each join Spark prunes one side, the left one if it can: the large table would read all of its partitions."""
    star.sql(
        "CREATE TABLE lake.db.parted USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('write.distribution-mode' = 'none') AS"
        " SELECT i, r, CAST(i DIV 800 AS INT) AS p FROM lake.db.fact ORDER BY p"
    )
    star.sql(
        "CREATE TABLE lake.db.small USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none') AS"
        " SELECT /*+ REPARTITION_BY_RANGE(4, p) */ cast(id AS int) AS p, id % 4 AS g FROM range(8)"
    )
    with settings(star, {THRESHOLD: str(threshold)}):
        for large, key, expected in (("parted", "p", None), ("fact", "i", FILES - 1)):
            sql = f"SELECT count(*) FROM lake.db.small d JOIN lake.db.{large} f ON d.P = f.{key.upper()} WHERE d.g = 1 AND f.r < 90"
            query = check(star, sql)
            assert skipped(query, "small") == [None], large
            assert skipped(query, large) == [expected], large
            assert rows_read(query, large) == {"parted": 1600, "fact": 200}[large]


def test_gaps_between_keys_are_worth_nothing_outside_of_the_tables_values(star: SparkSession) -> None:
    star.sql(
        "CREATE TABLE lake.db.centuries USING iceberg AS"
        " SELECT cast(id AS int) - 100000 AS i, id % 1000 DIV 100 AS g FROM range(0, 200000)"
    )
    # A group has 20,000 keys in 200 runs, and 7 of these lie within the table's values.
    query = check(
        star, "SELECT /*+ BROADCAST(c) */ fact.id FROM lake.db.fact JOIN lake.db.centuries c USING (i) WHERE g = 3"
    )
    assert skipped(query) == [FILES - 7]


def test_equal_scans_are_read_once(star: SparkSession) -> None:
    sql = (
        "WITH part AS (SELECT fact.r, count(*) AS n FROM lake.db.fact JOIN lake.db.dim USING (i) WHERE g = 3 GROUP BY fact.r)"
        " SELECT a.r, b.n FROM part a JOIN part b ON a.r = b.r"
    )
    with settings(star, {"spark.sql.autoBroadcastJoinThreshold": "100000"}):
        with settings(star, {SETTING: "off"}):
            plain = star.sql(sql)
            plain.collect()
        query = check(star, sql)
    assert len(scans(query)) == len(scans(plain))


def test_a_query_that_runs_again_after_an_append_reads_its_rows(star: SparkSession) -> None:
    star.sql(
        "CREATE TABLE lake.db.growing USING iceberg AS SELECT /*+ REPARTITION_BY_RANGE(8, i) */ i FROM lake.db.fact"
    )
    sql = "SELECT growing.i FROM lake.db.growing JOIN lake.db.dim USING (i) WHERE g = 3"
    planned = star.sql(sql)
    planned._jdf.queryExecution().executedPlan()
    star.sql("INSERT INTO lake.db.growing SELECT i FROM lake.db.fact")
    with settings(star, {SETTING: "off"}):
        after = rows(star.sql(sql))
    assert rows(star.sql(sql)) == after
    assert sum(after.values()) == 160
    assert sum(rows(planned).values()) in (80, 160)


def test_branches_tags_and_time_travel(star: SparkSession) -> None:
    star.sql(
        "CREATE TABLE lake.db.old USING iceberg AS SELECT /*+ REPARTITION_BY_RANGE(8, i) */ i, s FROM lake.db.fact"
    )
    first = star.sql("SELECT snapshot_id FROM lake.db.old.snapshots").collect()[0][0]
    star.sql("ALTER TABLE lake.db.old CREATE BRANCH side")
    star.sql("ALTER TABLE lake.db.old CREATE TAG start")
    star.sql("INSERT INTO lake.db.old.branch_side SELECT i, 'side' FROM lake.db.fact WHERE i < 100")
    star.sql("DELETE FROM lake.db.old WHERE i >= 2500")
    for name, count in (
        ("lake.db.old", 10),
        ("lake.db.old.branch_side", 80),
        ("lake.db.old.tag_start", 80),
        (f"lake.db.old VERSION AS OF {first}", 80),
    ):
        query = check(star, f"SELECT t.* FROM {name} t JOIN lake.db.dim ON t.i = dim.i WHERE g = 3")
        assert query.count() == count, name
    star.sql("ALTER TABLE lake.db.old ADD COLUMN more int")
    star.sql("ALTER TABLE lake.db.old RENAME COLUMN i TO j")
    check(star, "SELECT * FROM lake.db.old t JOIN lake.db.dim ON t.j = dim.i WHERE g = 3")
    if ICEBERG >= (1, 12):  # Older ones look for the column among those that the table has now, joins or not.
        check(star, "SELECT t.* FROM lake.db.old.tag_start t JOIN lake.db.dim ON t.i = dim.i WHERE g = 3")


def test_columns_renamed_and_added_since_the_last_snapshot(star: SparkSession) -> None:
    """The snapshot has a schema in which they have other names, or are missing."""
    star.sql(
        "CREATE TABLE lake.db.renamed USING iceberg AS SELECT /*+ REPARTITION_BY_RANGE(8, i) */ i, r FROM lake.db.fact"
    )
    star.sql("ALTER TABLE lake.db.renamed RENAME COLUMN i TO old")
    star.sql("ALTER TABLE lake.db.renamed RENAME COLUMN r TO i")
    star.sql("ALTER TABLE lake.db.renamed ADD COLUMN r int")
    for condition, expected in (("t.old = dim.i", 7), ("t.i = dim.r", None), ("t.r = dim.r", None)):
        query = check(star, f"SELECT t.* FROM lake.db.renamed t JOIN lake.db.dim ON {condition} WHERE g = 3")
        assert skipped(query, "renamed") == [expected]


@pytest.mark.parametrize("grouped", ["true", "false"])
def test_partitioned_tables(star: SparkSession, grouped: str) -> None:
    star.sql(
        "CREATE TABLE lake.db.parts (i int, b int) USING iceberg PARTITIONED BY (b)"
        " TBLPROPERTIES ('write.distribution-mode' = 'none')"
    )
    for start in range(0, 6400, 800):
        star.sql(
            f"INSERT INTO lake.db.parts SELECT i, i % 2 FROM lake.db.fact WHERE i >= {start} AND i < {start + 800} ORDER BY 2"
        )
    joining = {
        "spark.sql.sources.v2.bucketing.enabled": grouped,
        "spark.sql.iceberg.planning.preserve-data-grouping": grouped,
    }
    with settings(star, joining):
        query = check(star, "SELECT parts.* FROM lake.db.parts JOIN lake.db.dim USING (i) WHERE g = 3")
        assert skipped(query, "parts") == ([None] if grouped == "true" else [14])
        both = "SELECT parts.* FROM lake.db.parts JOIN lake.db.dim ON parts.i = dim.i AND parts.b = dim.r WHERE g = 3"
        check(star, both)
        check(
            star,
            "SELECT a.* FROM lake.db.parts a JOIN lake.db.parts b USING (b, i) JOIN lake.db.dim USING (i) WHERE g = 3",
        )


def test_metadata_tables_streams_limits_and_counts(star: SparkSession, tmp_path: Path) -> None:
    assert (
        skipped(check(star, "SELECT f.file_path FROM lake.db.fact.files f JOIN lake.db.dim ON f.record_count = dim.i"))
        == []
    )
    check(star, "SELECT count(*), min(i), max(i) FROM lake.db.fact")
    check(star, "SELECT count(*) FROM (SELECT * FROM lake.db.fact LIMIT 10) JOIN lake.db.dim USING (r) WHERE g = 3")
    check(star, "SELECT fact._file, fact._pos, fact.i FROM lake.db.fact JOIN lake.db.dim ON fact.i = dim.i WHERE g = 3")
    stream = star.readStream.table("lake.db.fact").join(star.table("lake.db.dim").where("g = 3"), "i").select("i")
    running = (
        stream.writeStream.trigger(availableNow=True)
        .format("memory")
        .queryName("streamed")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    running.awaitTermination()
    assert star.table("streamed").count() == 80


@pytest.mark.parametrize(
    "query",
    [
        "(SELECT i FROM lake.db.fact WHERE r < 50 ORDER BY i LIMIT 1) d JOIN lake.db.parted f ON d.i = f.p",
        "(SELECT i FROM lake.db.fact WHERE r < 50 ORDER BY i LIMIT 1) d JOIN lake.db.parted f ON d.i = f.s.p",
        "(SELECT t.i FROM lake.db.fact t JOIN lake.db.dim e ON t.i = e.i WHERE e.g < 9 ORDER BY t.i LIMIT 1) d"
        " JOIN lake.db.parted f ON abs(d.i) = f.p",
        "(SELECT i FROM (SELECT min(i) AS i FROM lake.db.dim UNION ALL SELECT i FROM lake.db.fact WHERE r < 50)"
        " ORDER BY i LIMIT 1) d JOIN lake.db.parted f ON d.i = f.p",
        "(SELECT i FROM lake.db.fact WHERE r < 50 ORDER BY i LIMIT 1) d, LATERAL (SELECT r FROM lake.db.parted t"
        " WHERE t.p = d.i AND t.r < 95) f",
        "(SELECT i FROM lake.db.fact WHERE r < 50 ORDER BY i LIMIT 1) d, LATERAL (SELECT r FROM"
        " (SELECT r, p AS k FROM lake.db.parted) t WHERE t.k = d.i AND t.r < 95) f",
        "(SELECT l.i FROM lake.db.dim o, LATERAL (SELECT t.i FROM lake.db.fact t JOIN lake.db.dim e ON t.i = e.i"
        " WHERE e.g < 9 AND t.r = o.r) l WHERE o.g = 2 ORDER BY l.i LIMIT 1) d JOIN lake.db.parted f ON d.i % 8 = f.p",
    ],
)
def test_a_large_table_that_comes_first_does_not_take_the_keys_of_partitions(star: SparkSession, query: str) -> None:
    """Spark prunes the left side if it can, and broadcasts it nevertheless, because few rows are left of it."""
    part = "s.p" if "f.s.p" in query else "p"
    star.sql(
        f"CREATE TABLE lake.db.parted USING iceberg PARTITIONED BY ({part}) TBLPROPERTIES ('write.distribution-mode' = 'none')"
        " AS SELECT i, r, CAST(i DIV 800 AS INT) AS p, struct(CAST(i DIV 800 AS INT) AS p) AS s FROM lake.db.fact ORDER BY p"
    )
    assert rows_read(check(star, f"SELECT count(*) FROM {query} WHERE f.r < 90"), "parted") == 800


@pytest.mark.parametrize(
    "query",
    [
        "{first} d JOIN {files} f ON d.i = f.p WHERE f.r < 90",
        "{first} d JOIN {files} f ON d.i = CAST(f.text AS INT) WHERE f.r < 90",
        "{first} d JOIN (SELECT r, coalesce(p, CAST(text AS INT)) AS k FROM {files}) f ON d.i = f.k WHERE f.r < 90",
        "{first} d JOIN (SELECT 7 AS k, r FROM lake.db.dim UNION ALL SELECT p, r FROM {files}) f ON d.i = f.k WHERE f.r < 90",
    ],
)
def test_partitions_of_tables_of_other_formats_keep_their_keys(star: SparkSession, query: str) -> None:
    star.sql(
        "CREATE TABLE spark_catalog.default.parted_files USING parquet PARTITIONED BY (P, text)"
        " AS SELECT i, r, CAST(i DIV 800 AS INT) AS P, CAST(i DIV 800 AS STRING) AS text FROM lake.db.fact"
    )
    try:
        first = "(SELECT i FROM lake.db.fact WHERE r < 50 ORDER BY i LIMIT 1)"
        text = "SELECT count(*) FROM " + query.format(first=first, files="spark_catalog.default.parted_files")
        for setting in ("off", "auto"):
            with settings(star, {SETTING: setting}):
                plan = star.sql(text)._jdf.queryExecution().executedPlan().toString()
            assert re.search(r"PartitionFilters: \[[^\]]*dynamicpruning", plan), (setting, plan)
    finally:
        star.sql("DROP TABLE spark_catalog.default.parted_files")


@pytest.mark.parametrize(
    "condition",
    [
        # Spark 3.5 compares rows of equal names only.
        "JOIN lake.db.dim e ON struct(t.i AS i, t.r) = struct(e.i + 0 AS i, e.r) WHERE e.g < 9",
        "JOIN lake.db.dim e ON array(t.i) = array(coalesce(e.i, 0)) WHERE e.g < 9",
        "WHERE EXISTS (SELECT 1 FROM lake.db.dim e WHERE struct(t.i AS i, 1) = struct(e.i + 0 AS i, 1) AND e.g < 9)",
    ],
)
def test_columns_that_are_compared_in_rows_or_lists_take_other_keys_only(star: SparkSession, condition: str) -> None:
    """Spark makes an invalid plan of keys whose type differs in the names of fields, or in what may be NULL."""
    head = "SELECT count(*) FROM lake.db.fact t JOIN lake.db.dim d ON t.i = d.i AND d.g = 3"
    assert skipped(check(star, f"{head} {condition}")) == [FILES - FILES // GROUPS]
    lateral = (
        "LATERAL (SELECT a.i, a.r FROM lake.db.fact a JOIN lake.db.dim d ON a.i = d.i WHERE d.g = 3 AND a.r = o.r) t"
    )
    check(star, f"SELECT count(*) FROM lake.db.dim o, {lateral} {condition}")


def subqueries_inside() -> str:
    query = "SELECT i FROM lake.db.dim WHERE g = 3"
    for _ in range(8):
        query = f"SELECT i FROM lake.db.fact WHERE r >= 0 AND i IN ({query})"
    return query


def subqueries_beside(form: str) -> str:
    joins = [f"FROM lake.db.fact t JOIN lake.db.dim d ON t.i = d.i WHERE d.g = {group}" for group in range(8)]
    return f"SELECT count(*) FROM lake.db.fact f WHERE {' AND '.join(form.format(each) for each in joins)}"


def joined(tables: str) -> str:
    joins = " ".join(f"JOIN {tables} f{place} ON d.i = f{place}.i" for place in range(8))
    return f"SELECT count(*) FROM lake.db.dim d {joins} WHERE d.g = 3"


LARGEST = "(SELECT max(t.r) FROM lake.db.fact t JOIN lake.db.dim e ON t.i = e.i WHERE t.i = f.i AND e.g = {})"
OF_EIGHT = {
    # Spark copies what gives keys into each scan that takes them, with the keys that it takes itself.
    "tables": joined("lake.db.fact"),
    "unions": joined("(SELECT i FROM lake.db.fact UNION ALL SELECT i + 1 FROM lake.db.fact WHERE r > 1)"),
    # Spark plans a subquery before the query around it: 1,130 times as large without a limit.
    "subqueries in one another": subqueries_inside(),
    # Each of them is small by itself, and offers its keys to all others when they are joined.
    "subqueries beside one another, IN": subqueries_beside("i IN (SELECT t.i {})"),
    "subqueries beside one another, EXISTS": subqueries_beside("EXISTS (SELECT 1 {} AND t.i = f.i)"),
    # Spark plans correlated ones before the query around them, and then makes joins of them.
    "scalar subqueries": f"SELECT {', '.join(LARGEST.format(group) for group in range(8))}"
    " FROM lake.db.fact f JOIN lake.db.dim d ON f.i = d.i WHERE d.g = 3",
}


@pytest.mark.parametrize("sql", OF_EIGHT.values(), ids=OF_EIGHT)
def test_a_plan_does_not_grow_with_each_part_of_a_query(star: SparkSession, sql: str) -> None:
    sizes = []
    for setting in ("off", "auto"):
        with settings(star, {SETTING: setting}):
            sizes.append(star.sql(sql)._jdf.queryExecution().optimizedPlan().toString().count("RelationV2"))
    assert 1 < sizes[1] / sizes[0] <= 13


def test_tables_of_a_correlated_subquery_take_keys(star: SparkSession) -> None:
    """Spark plans their joins together with those of the query around it."""
    query = check(
        star,
        "SELECT count(*) FROM lake.db.dim o WHERE EXISTS"
        " (SELECT 1 FROM lake.db.fact f JOIN lake.db.dim d ON f.i = d.i WHERE f.r = o.r AND d.g = 5)",
    )
    assert any(skipped(query, "fact"))


def test_parts_of_unions_that_a_query_does_not_ask_for_take_no_keys_from_others(star: SparkSession) -> None:
    """Spark finds them empty by their constants, and removes them after it has asked for keys."""
    kinds = "(SELECT i, 'a' AS kind FROM lake.db.fact UNION ALL SELECT t.i, 'b' FROM lake.db.fact t JOIN lake.db.fact USING (i))"
    joins = " ".join(f"JOIN {kinds} u{place} ON d.i = u{place}.i AND u{place}.kind = 'a'" for place in range(5))
    plain = joins.replace(kinds, "lake.db.fact").replace(".kind = 'a'", ".r >= 0")
    taken = []
    for joined in (joins, plain):
        plan = (
            star.sql(f"SELECT count(*) FROM lake.db.dim d {joined} WHERE d.g = 3")._jdf.queryExecution().optimizedPlan()
        )
        taken.append(plan.toString().count("dynamicpruning"))
    assert taken[0] == taken[1] > 4


def test_a_plan_does_not_grow_with_each_subquery_of_a_statement(star: SparkSession) -> None:
    """Spark optimizes the subqueries of statements that write files of other formats, too, and not by this jar's rules alone."""
    star.sql("CREATE TABLE spark_catalog.default.written (i INT) USING parquet")
    part = "i IN (SELECT e.i FROM lake.db.fact e JOIN lake.db.dim d ON e.i = d.i WHERE d.g = {})"
    parts = " AND ".join(part.format(place) for place in range(6))
    try:
        told = []
        for setting in ("off", "auto"):
            with settings(star, {SETTING: setting}):
                insert = f"INSERT INTO spark_catalog.default.written SELECT i FROM lake.db.fact WHERE {parts}"
                told.append(len(star.sql(f"EXPLAIN EXTENDED {insert}").collect()[0][0]))
        assert 1 < told[1] / told[0] < 4
    finally:
        star.sql("DROP TABLE spark_catalog.default.written")


def test_a_long_chain_of_aliases_takes_no_time_to_follow(star: SparkSession) -> None:
    """Each names the one before it twice, and at the end one is compared: without an end to it, this test would last for days."""
    rows = star.table("lake.db.fact").withColumn("w", expr("i"))
    for step in range(48):
        rows = rows.withColumn("w", expr(f"CASE WHEN w = {step} THEN w + 1 ELSE w END"))
    assert rows.selectExpr("w = i AS same")._jdf.queryExecution().optimizedPlan().nodeName() == "Project"


@pytest.mark.skipif(SPARK < (4, 1), reason="Spark has recursive queries from 4.1")
@pytest.mark.parametrize(
    ("step", "count"),
    [
        ("SELECT t.i, step + 1 FROM loop JOIN lake.db.fact t ON t.i = loop.n + 1 WHERE step < 10", 11),
        ("SELECT n, step + 1 FROM loop WHERE step < 5 AND n IN ({})", 6),
        ("SELECT n, step + 1 FROM loop WHERE step < 5 AND EXISTS ({} AND t.i = loop.n)", 6),
        ("SELECT n, step + 1 FROM loop, LATERAL ({} AND t.i = loop.n) f WHERE step < 5", 6),
    ],
    ids=["join", "in", "exists", "lateral"],
)
def test_recursive_queries_are_left_alone(star: SparkSession, step: str, count: int) -> None:
    """Spark runs the recursive part again with each step, and could not with the keys of a join in it."""
    of_group = "SELECT t.i FROM lake.db.fact t JOIN lake.db.dim d ON t.i = d.i WHERE d.g = 3"
    recursive = f"WITH RECURSIVE loop(n, step) AS (SELECT 2400, 0 UNION ALL {step.format(of_group)})"
    query = f"{recursive} SELECT * FROM loop"
    assert check(star, query).count() == count
    # When it is planned before it runs, no execution tells which query a subquery is of.
    planned = star.sql(query)
    assert planned._jdf.queryExecution().optimizedPlan() is not None
    assert len(planned.collect()) == count
    cached = star.sql(query).cache()
    try:
        assert len(cached.collect()) == count
    finally:
        cached.unpersist()


def test_a_self_join_and_a_union_skip_where_they_can(star: SparkSession) -> None:
    query = check(
        star,
        "SELECT u.i FROM (SELECT i FROM lake.db.fact WHERE r < 50 UNION ALL SELECT i FROM lake.db.fact WHERE r >= 50) u"
        " JOIN lake.db.dim USING (i) WHERE g = 3",
    )
    assert skipped(query) == [FILES - FILES // GROUPS] * 2
    check(star, "SELECT a.i FROM lake.db.fact a JOIN lake.db.fact b ON a.i = b.i + 1 WHERE b.s = 'key ü 😀 000002500'")


@pytest.mark.version
@pytest.mark.parametrize(
    "part",
    [
        "SELECT i, sum(r) AS n FROM lake.db.fact GROUP BY i",
        "SELECT i, r - lag(r) OVER (PARTITION BY i ORDER BY id) AS n FROM lake.db.fact",
        "SELECT /*+ REPARTITION(3, i) */ i, r AS n FROM lake.db.fact",
        "SELECT /*+ REBALANCE(i) */ i, r AS n FROM lake.db.fact",
    ],
)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x.n FROM x JOIN lake.db.dim d USING (i) WHERE g = 3 UNION ALL SELECT n FROM x WHERE i IS NOT NULL",
        "SELECT x.n FROM x JOIN lake.db.dim d USING (i) WHERE g = 3 UNION ALL SELECT x.n FROM x JOIN lake.db.dim d USING (i) WHERE g = 4",
    ],
)
def test_parts_of_a_query_that_spark_shuffles_once_stay_equal(star: SparkSession, part: str, sql: str) -> None:
    query = check(star, f"WITH x AS ({part}) {sql}")
    assert rows_read(query, "fact") == 6400


def test_a_star_join_that_is_written_twice_takes_keys_for_each(star: SparkSession) -> None:
    part = (
        "SELECT x.r FROM lake.db.fact x JOIN lake.db.dim y ON x.i = y.i JOIN lake.db.dim d ON x.i = d.i WHERE d.g = {}"
    )
    assert skipped(check(star, f"{part.format(3)} UNION ALL {part.format(4)}")) == [28, 28]


@pytest.mark.version
def test_equal_parts_take_equal_keys(star: SparkSession) -> None:
    part = "SELECT i, sum(f.r) AS n FROM lake.db.fact f JOIN lake.db.dim d USING (i) WHERE g = 3 GROUP BY i"
    query = check(
        star,
        f"WITH x AS ({part}) SELECT x.n - y.n FROM x JOIN x y ON x.i = y.i + 10 JOIN lake.db.dim d ON x.i = d.i WHERE d.g < 4",
    )
    assert rows_read(query, "fact") == 6400 // GROUPS
    # Parts that Spark reads apart take keys of their own.
    apart = "SELECT n FROM (SELECT i, sum(r) AS n FROM lake.db.fact WHERE r < {} GROUP BY i) JOIN lake.db.dim USING (i) WHERE g = {}"
    assert skipped(check(star, f"{apart.format(50, 3)} UNION ALL {apart.format(60, 4)}")) == [28, 28]


@pytest.mark.parametrize(
    "part",
    [
        "SELECT max(i) AS i FROM lake.db.dim GROUP BY r",
        "SELECT explode(array(i, i + 1)) AS i FROM lake.db.dim",
        "SELECT cast(id AS int) AS i FROM range(0, 6400, 7)",
        "SELECT i FROM lake.db.fact WHERE exists(array(r), x -> x = 3)",
    ],
)
def test_keys_stay_at_the_parts_of_a_union_that_take_them(star: SparkSession, part: str) -> None:
    """A filter of keys that is not at a scan fails where Spark generates no code for it."""
    sql = f"SELECT u.i FROM (SELECT i FROM lake.db.fact UNION ALL {part}) u JOIN lake.db.dim USING (i) WHERE g = 3"
    with settings(star, {"spark.sql.codegen.wholeStage": "false"}):
        assert FILES - FILES // GROUPS in skipped(check(star, sql))


def test_common_table_expressions_that_spark_does_not_inline_give_no_keys(star: SparkSession) -> None:
    few = "few AS (SELECT i, g, rand(1) AS n FROM lake.db.dim WHERE g = 3)"
    check(star, f"WITH {few} SELECT t.i FROM lake.db.fact t JOIN few USING (i) JOIN few other USING (i)")
    chain = ["c0 AS (SELECT i, g, rand(1) AS n FROM lake.db.dim WHERE g < 9)"]
    chain += [
        f"c{place} AS (SELECT t.i, d.g, rand({place}) AS n FROM lake.db.fact t JOIN (SELECT * FROM c{place - 1} WHERE g < 9) d USING (i))"
        for place in range(1, 8)
    ]
    reads = " UNION ALL ".join(f"SELECT i FROM c{place}" for place in range(8))
    sizes = []
    for setting in ("off", "auto"):
        with settings(star, {SETTING: setting}):
            query = star.sql(f"WITH {', '.join(chain)} {reads}")
            sizes.append(query._jdf.queryExecution().optimizedPlan().toString().count("RelationV2"))
    assert sizes[0] <= sizes[1] <= 13 * sizes[0]


def test_floating_numbers_and_expressions_are_not_offered(star: SparkSession) -> None:
    star.sql(
        "CREATE TABLE lake.db.floats USING iceberg AS SELECT /*+ REPARTITION_BY_RANGE(8, n) */ n,"
        " CASE n WHEN 500 THEN -0.0D WHEN 501 THEN double('NaN') ELSE (n - 500) / 10 END AS d"
        " FROM (SELECT cast(id AS int) AS n FROM range(1000))"
    )
    star.sql(
        "CREATE TABLE lake.db.zeros USING iceberg AS SELECT * FROM VALUES (0.0D, 1), (double('NaN'), 2), (12.3D, 3) AS t(d, g)"
    )
    conditions: list[tuple[str, int | None]] = [(f"floats.d = zeros.d WHERE g = {group}", None) for group in (1, 2, 3)]
    conditions += [("n = g + 1 WHERE g = 3", 7), ("n - 1 = g WHERE g = 3", None)]
    with settings(star, {THRESHOLD: "1000"}):
        for condition, expected in conditions:
            query = check(star, f"SELECT n FROM lake.db.floats JOIN lake.db.zeros ON {condition}")
            assert (query.count(), skipped(query, "floats")) == (1, [expected]), condition


def test_text_that_is_not_utf_8_and_partitions_by_binary(star: SparkSession) -> None:
    star.sql(
        "CREATE TABLE lake.db.bytes (s string, b binary, n int) USING iceberg PARTITIONED BY (b)"
        " TBLPROPERTIES ('write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true')"
    )
    # The bounds of the first files end and begin with characters that stand for no text, so that they leave values out.
    files = [
        "(cast(X'4DC041' AS string)), ('Mé')",
        "(cast(X'FF' AS string)), ('😀')",
        "('a'), ('b')",
        "('x'), ('y')",
        "('z')",
    ]
    star.sql(
        "CREATE TABLE lake.db.wanted USING iceberg AS SELECT * FROM VALUES ('Mé', X'01', 1, 1), ('😀', X'02', 2, 1), ('x', X'02', 2, 1) AS t(s, b, n, g)"
    )
    for number, values in enumerate(files):
        values = f"SELECT /*+ COALESCE(1) */ t.s, X'0{number % 3}', {number} FROM VALUES {values} AS t(s)"
        star.sql(f"INSERT INTO lake.db.bytes {values}")
    query = check(star, "SELECT bytes.n FROM lake.db.bytes JOIN lake.db.wanted w USING (s) WHERE g = 1")
    assert query.count() == 3
    check(star, "SELECT bytes.n FROM lake.db.bytes JOIN lake.db.wanted w USING (b, n) WHERE g = 1")


def test_timestamps_of_int96(star: SparkSession, tmp_path: Path) -> None:
    """They have no bounds, so that their file is read."""
    star.sql(
        "CREATE TABLE lake.db.old_times USING iceberg AS SELECT /*+ REPARTITION_BY_RANGE(32, ts) */ ts FROM lake.db.fact"
    )
    with settings(star, {"spark.sql.parquet.outputTimestampType": "INT96"}):
        star.sql("SELECT ts FROM lake.db.fact WHERE i < 100").coalesce(1).write.parquet(str(tmp_path / "int96"))
    star.sql(f"CALL lake.system.add_files(table => 'db.old_times', source_table => '`parquet`.`{tmp_path / 'int96'}`')")
    query = check(star, "SELECT t.ts FROM lake.db.old_times t JOIN lake.db.dim USING (ts) WHERE g = 0")
    assert skipped(query, "old_times") == [28]


def test_bloom_filters_of_sessions_without_broadcasts_remain(star: SparkSession) -> None:
    """Spark offers keys of no other join, and plans either keys or a bloom filter."""
    without = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "1KB",
    }
    with settings(star, without):
        query = check(star, "SELECT fact.id FROM lake.db.fact JOIN lake.db.dim USING (i) WHERE g = 3")
    assert "bloom_filter" in query._jdf.queryExecution().toString()


def test_setting(star: SparkSession) -> None:
    sql = "SELECT fact.id FROM lake.db.fact JOIN lake.db.dim USING (i) WHERE g = 3"
    for value, expected in (("AUTO", [28]), ("off", [None]), ("yes", [None])):
        with settings(star, {SETTING: value}):
            query = star.sql(sql)
            assert query.count() == 80
            query.collect()
            assert skipped(query) == expected
    rule = "org.apache.spark.sql.execution.dynamicpruning.PartitionPruning"
    for excluded, expected in ((rule, [None]), ("org.apache.spark.sql.catalyst.optimizer.OptimizeIn", [28])):
        with settings(star, {"spark.sql.optimizer.excludedRules": excluded}):
            assert skipped(check(star, sql)) == expected


def test_a_failure_leaves_the_query_as_it_was(star: SparkSession) -> None:
    """Manifests that have gone since Iceberg planned the scan cannot be read again."""
    star.sql(
        "CREATE TABLE lake.db.broken USING iceberg AS SELECT /*+ REPARTITION_BY_RANGE(8, i) */ i FROM lake.db.fact"
    )
    query = star.sql("SELECT broken.i FROM lake.db.broken JOIN lake.db.dim USING (i) WHERE g = 3")
    query._jdf.queryExecution().executedPlan()
    manifests = [Path(local_path(path)) for (path,) in star.sql("SELECT path FROM lake.db.broken.manifests").collect()]
    for manifest in manifests:
        manifest.rename(f"{manifest}.gone")
    try:
        assert len(query.collect()) == 80
        assert skipped(query, "broken") == [0]
    finally:
        for manifest in manifests:
            Path(f"{manifest}.gone").rename(manifest)


def test_columns_stay_tight_until_many_files_are_added(star: SparkSession) -> None:
    star.sql(
        "CREATE TABLE lake.db.growing USING iceberg AS SELECT /*+ REPARTITION_BY_RANGE(32, i) */ i FROM lake.db.fact"
    )
    sql = "SELECT g, count(*) FROM lake.db.growing t JOIN lake.db.dim d ON t.i = d.i WHERE g = 3 GROUP BY g"
    skips = []
    for wide_files in (0, 1, 40):
        if wide_files:
            ends = "SELECT explode(array(0, 6399)) AS i, id FROM range(400)"
            star.sql(f"INSERT INTO lake.db.growing SELECT /*+ REPARTITION({wide_files}, id) */ i FROM ({ends})")
        skips.append(skipped(check(star, sql), "growing"))
    assert [each for each, *_ in skips] == [28, 28, None]


@pytest.mark.full
def test_a_deep_plan_fails_no_query(star: SparkSession) -> None:
    """Spark's own rules take most of the stack for four hundred aggregates, and ours the rest."""
    rows = star.table("lake.db.fact").groupBy("i").agg(expr("max(r) AS r"))
    for step in range(400):
        rows = rows.groupBy("i").agg(expr(f"max(r) + {step} AS r"))
    assert rows._jdf.queryExecution().optimizedPlan().nodeName() == "Aggregate"
