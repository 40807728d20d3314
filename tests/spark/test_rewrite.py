"""The rewrite through CALL: rows stay, files become boxes, and the table's rules are kept."""

import itertools
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.spark.tables import LINEAGE, SPARK, Table, create, needs_branch_argument, unchanged

UNIFORM = (
    "SELECT id, cast(rand(1) * 1000000 AS bigint) AS a, cast(rand(2) * 1000000 AS bigint) AS b, rand(3) AS payload "
    "FROM range(0, {rows}, 1, 12)"
)

# One column of each type, with NULLs, negatives and extremes; NaN where there is one.
TYPES = {
    "boolean": "if(id % 5 = 0, NULL, rand(1) < 0.5)",
    "int": "if(id % 97 = 0, NULL, cast(rand(1) * 4e9 - 2e9 AS int))",
    "bigint": "if(id % 97 = 0, NULL, cast((rand(1) - 0.5) * 1.8e19 AS bigint))",
    "float": "CASE WHEN id % 97 = 0 THEN NULL WHEN id % 89 = 0 THEN float('NaN') WHEN id % 83 = 0 THEN float('-0.0') "
    "WHEN id % 79 = 0 THEN float('-Infinity') ELSE cast(randn(1) AS float) END",
    "double": "CASE WHEN id % 97 = 0 THEN NULL WHEN id % 89 = 0 THEN double('NaN') WHEN id % 83 = 0 THEN double('-0.0') "
    "WHEN id % 79 = 0 THEN double('Infinity') ELSE randn(1) * pow(10, rand(2) * 20) END",
    "decimal(9, 2)": "if(id % 97 = 0, NULL, cast((rand(1) - 0.5) * 1e6 AS decimal(9, 2)))",
    "decimal(18, 4)": "if(id % 97 = 0, NULL, cast((rand(1) - 0.5) * 1e13 AS decimal(18, 4)))",
    "decimal(38, 10)": "if(id % 97 = 0, NULL, cast((rand(1) - 0.5) * 1e27 AS decimal(38, 10)))",
    "date": "if(id % 97 = 0, NULL, date_add(DATE'1950-01-01', cast(rand(1) * 50000 AS int)))",
    "timestamp": "if(id % 97 = 0, NULL, timestamp_micros(cast((rand(1) - 0.3) * 3e15 AS bigint)))",
    "timestamp_ntz": "if(id % 97 = 0, NULL, cast(timestamp_micros(cast((rand(1) - 0.3) * 3e15 AS bigint)) AS timestamp_ntz))",
    "string": "if(id % 97 = 0, NULL, concat('k', hex(cast(rand(1) * 1e9 AS bigint)), 'é', id % 3))",
    "binary": "if(id % 97 = 0, NULL, unhex(hex(cast(rand(1) * 1e15 AS bigint))))",
}


@pytest.fixture(scope="module")
def uniform(spark: SparkSession) -> Table:
    return create(spark, UNIFORM.format(rows=120_000))


def overlapping(table: Table, column: str) -> int:
    """How many pairs of neighbouring files overlap in a column by more than one shared value."""
    bounds = sorted(
        (row.readable_metrics[column].lower_bound, row.readable_metrics[column].upper_bound)
        for row in table.data_files()
        if row.readable_metrics[column].lower_bound is not None
    )
    return sum(later[0] < earlier[1] for earlier, later in itertools.pairwise(bounds))


@pytest.mark.version
def test_rows_stay_files_have_their_size_and_one_replace_snapshot_says_what_was_done(uniform: Table) -> None:
    before, target = len(uniform.data_files()), uniform.target_for(10)
    with unchanged(uniform):
        result = uniform.call("zorder(a, b)", options=target)
    assert result.asDict() == {
        "rewritten_data_files_count": before,
        "added_data_files_count": len(uniform.data_files()),
        "rewritten_bytes_count": result.rewritten_bytes_count,
        "failed_data_files_count": 0,
        "removed_delete_files_count": 0,
    }
    summary = uniform.summary()
    assert summary["zorder.columns"] == "a,b"
    # As asked for, though the tighter of the two curves orders the rows inside the files.
    assert summary["zorder.cuts"] == "adaptive"
    assert len(summary["zorder.layout-hash"]) == 64
    sizes = [row.file_size_in_bytes / int(target["target-file-size-bytes"]) for row in uniform.data_files()]
    assert min(sizes) >= 0.6, sorted(sizes)
    assert max(sizes) <= 1.5, sorted(sizes)


class TestPrefix:
    def test_rows_are_sorted_by_the_prefix_first(self, spark: SparkSession) -> None:
        table = create(
            spark,
            "SELECT id, if(id % 10 = 0, NULL, concat('r', cast(id % 4 AS string))) AS region, rand(1) AS a, rand(2) AS b "
            "FROM range(0, 20000, 1, 5)",
        )
        with unchanged(table):
            table.call("region DESC NULLS FIRST, zorder(a, b)", options=table.target_for(16))
        summary = table.summary()
        assert summary["zorder.columns"] == "region DESC NULLS FIRST, zorder(a, b)"
        per_file = spark.sql(
            "SELECT collect_list(region_) FROM (SELECT _file, coalesce(region, 'z') AS region_, min(_pos) AS first, "
            f"count(*) AS n, max(_pos) AS last FROM {table.full_name} GROUP BY _file, region_ ORDER BY _file, first) "
            "GROUP BY _file"
        ).collect()
        assert len(per_file) >= 14
        for row in per_file:
            assert row[0] == sorted(row[0], reverse=True)
        assert sum(len(row[0]) == 1 for row in per_file) >= 12, "most files have one region"
        unsorted = (
            "SELECT count(*) FROM (SELECT coalesce(region, 'z') AS r, lag(coalesce(region, 'z')) OVER (PARTITION BY _file "
            f"ORDER BY _pos) AS before FROM {table.full_name}) WHERE r > before"
        )
        assert spark.sql(unsorted).collect()[0][0] == 0


def test_rows_are_sorted_in_their_files(spark: SparkSession) -> None:
    table = create(spark, "SELECT id, cast(rand(1) * 1000 AS int) AS k FROM range(0, 20000, 1, 4)")
    descents = (
        "SELECT count(*) FROM (SELECT k, lag(k) OVER (PARTITION BY _file ORDER BY _pos) AS before "
        f"FROM {table.full_name}) WHERE k < before"
    )
    assert spark.sql(descents).collect()[0][0] > 0
    with unchanged(table):
        table.call("zorder(k)", options=table.target_for(4))
    assert spark.sql(descents).collect()[0][0] == 0


@pytest.mark.parametrize("spark_type", TYPES)
def test_every_key_type_is_cut_in_the_order_of_its_bounds(spark: SparkSession, spark_type: str) -> None:
    table = create(spark, f"SELECT id, {TYPES[spark_type]} AS k, rand(9) AS payload FROM range(0, 30000, 1, 6)")
    with unchanged(table):
        table.call("zorder(k)", options=table.target_for(8))
    files = table.data_files()
    assert overlapping(table, "k") == 0
    if spark_type != "boolean":
        assert len(files) >= 7
        with_nulls = sum(row.readable_metrics.k.null_value_count > 0 for row in files)
        assert with_nulls <= 2, "NULLs belong together, after all values"


@pytest.mark.parametrize(
    ("select", "sort_order", "columns"),
    [
        pytest.param("named_struct('x', r1, 'in', named_struct('y.z', r2)) AS s", "zorder(s.x, s.`in`.`y.z`)", "s.x,s.in.`y.z`", id="nested"),
        pytest.param("r1 AS `größe in €`, r2 AS `a.b``c`", "`größe in €`, `a.b``c`", "`größe in €`,`a.b``c`", id="special"),
        pytest.param("r1 AS _zorder_index, r2 AS ICEZVALUE", "zorder(_zorder_index, icezvalue)", "_zorder_index,ICEZVALUE", id="our own names"),
        pytest.param("r1 AS MixedCase, r2 AS other", "ZORDER(mixedcase, OTHER)", "MixedCase,other", id="case"),
    ],
)  # fmt: skip
def test_names_of_columns(spark: SparkSession, select: str, sort_order: str, columns: str) -> None:
    table = create(
        spark, f"SELECT id, {select} FROM (SELECT id, cast(rand(1) * 1e6 AS int) r1, cast(rand(2) * 1e6 AS int) r2 FROM range(8000))"
    )  # fmt: skip
    with unchanged(table):
        table.call(sort_order, options=table.target_for(4))
    assert table.summary()["zorder.columns"] == columns


class TestPartitions:
    @pytest.mark.version
    def test_files_stay_within_partitions_and_the_identity_column_is_ignored(self, spark: SparkSession) -> None:
        table = create(
            spark,
            "SELECT id, cast(id % 3 AS int) AS p, cast(rand(1) * 1e6 AS int) AS a, cast(rand(2) * 1e6 AS int) AS b "
            "FROM range(0, 30000, 1, 6)",
            partitioned_by="p, bucket(2, b)",
        )
        with unchanged(table):
            table.call("zorder(p, a, b)", options={"target-file-size-bytes": str(table.bytes() // 24)})
        for row in table.data_files():
            assert row.readable_metrics.p.lower_bound == row.readable_metrics.p.upper_bound
        assert table.summary()["zorder.columns"] == "a,b"

    @pytest.mark.version
    def test_an_evolved_spec_and_an_output_spec(self, spark: SparkSession) -> None:
        table = create(
            spark, "SELECT id, cast(id % 3 AS int) AS p, cast(rand(1) * 1e6 AS int) AS a FROM range(0, 12000, 1, 4)"
        )
        spark.sql(f"ALTER TABLE {table.full_name} ADD PARTITION FIELD p")
        spark.sql(f"INSERT INTO {table.full_name} SELECT id, cast(id % 3 AS int), cast(id AS int) FROM range(6000)")
        with unchanged(table):
            table.call("zorder(a)")
        specs = spark.sql(f"SELECT DISTINCT spec_id FROM {table.full_name}.files").collect()
        assert [row[0] for row in specs] == [1]
        with unchanged(table):
            table.call("zorder(p, a)", options={"output-spec-id": "0"})
        assert [row[0] for row in spark.sql(f"SELECT DISTINCT spec_id FROM {table.full_name}.files").collect()] == [0]
        # Files of several partitions of an old spec come together, also where that is written again.
        table.call("zorder(a)")
        spark.sql(f"ALTER TABLE {table.full_name} DROP PARTITION FIELD p")
        with unchanged(table):
            table.call("zorder(a)", options={"output-spec-id": "1"})
        partitions = spark.sql(f"SELECT spec_id, partition.p FROM {table.full_name}.files ORDER BY p").collect()
        assert [tuple(row) for row in partitions] == [(1, 0), (1, 1), (1, 2)]

    @pytest.mark.parametrize(
        ("column", "field"),
        [
            ("cast(cast(r * 5 AS int) AS string)", "k"),
            ("element_at(array(-0.0D, 0.0D, double('NaN'), 1.5D, NULL), 1 + cast(r * 5 AS int))", "k"),
            ("cast(r * 5 AS decimal(20, 0))", "k"),
            ("cast(cast(r * 5 AS int) AS boolean)", "k"),
            ("unhex(hex(cast(r * 5 AS int)))", "k"),
            ("concat('ab', cast(r * 5 AS string))", "truncate(3, k)"),
            ("cast(r * 50 - 25 AS decimal(9, 2))", "truncate(1000, k)"),
            ("cast(r * 50 - 25 AS bigint)", "truncate(10, k)"),
            ("uuid()", "bucket(3, k)"),
            ("cast(r * 1000 AS decimal(30, 2))", "bucket(3, k)"),
            ("timestamp_seconds(cast(r * 10000 AS bigint))", "hours(k)"),
            ("cast(timestamp_seconds(cast(r * 400000 AS bigint)) AS timestamp_ntz)", "days(k)"),
            ("date_add(DATE '1969-11-01', cast(r * 100 AS int))", "months(k)"),
            ("date_add(DATE '1969-11-01', cast(r * 1000 AS int))", "years(k)"),
            ("named_struct('x y', cast(r * 5 AS int))", "k.`x y`"),
        ],
    )  # fmt: skip
    def test_every_transform_of_a_new_spec(self, spark: SparkSession, column: str, field: str) -> None:
        rows = "SELECT id, if(id % 50 = 0, NULL, rand(7)) AS r, rand(8) AS a FROM range(0, 20000, 1, 4)"
        table = create(spark, f"SELECT id, a, {column} AS k FROM ({rows})")
        spark.sql(f"ALTER TABLE {table.full_name} ADD PARTITION FIELD {field}")
        with unchanged(table):
            table.call("zorder(a)", options=table.target_for(4))
        counts = "SELECT count(*), count(DISTINCT partition), min(spec_id) FROM {}.files"
        files, partitions, spec = spark.sql(counts.format(table.full_name)).collect()[0]
        assert partitions > 1
        assert files <= partitions + 4
        assert spec == 1


class TestDeletes:
    @pytest.mark.version
    @pytest.mark.parametrize("version", ["2", "3"])
    def test_deletes_are_applied(self, spark: SparkSession, version: str) -> None:
        properties = {"format-version": version, "write.delete.mode": "merge-on-read"}
        table = create(spark, UNIFORM.format(rows=24_000), properties=properties)
        spark.sql(f"DELETE FROM {table.full_name} WHERE id % 7 = 0")
        deletes = spark.sql(f"SELECT count(*) FROM {table.full_name}.files WHERE content = 1").collect()[0][0]
        assert deletes > 0
        with unchanged(table):
            table.call("zorder(a, b)", options=table.target_for(5))
        assert sum(row.record_count for row in table.data_files()) == table.fingerprint().rows

    @pytest.mark.parametrize("sort_order", ["zorder(a, b)", "b DESC, hilbert(a)", "zorder(constant)"])
    def test_row_lineage_is_kept(self, spark: SparkSession, sort_order: str) -> None:
        select = UNIFORM.format(rows=24_000).replace(" AS payload", " AS payload, 7 AS constant")
        table = create(spark, select, properties={"format-version": "3"})
        spark.sql(f"INSERT INTO {table.full_name} SELECT id + 1000000, 1, 2, 3, 7 FROM range(1000)")
        before = table.fingerprint(extra=LINEAGE)
        with unchanged(table):
            table.call(sort_order, options=table.target_for(5))
        assert table.fingerprint(extra=LINEAGE) == before


class TestArguments:
    @needs_branch_argument
    def test_a_branch_of_a_table_that_was_written_there_only(self, spark: SparkSession) -> None:
        table = Table(spark, "db.on_a_branch_only")
        spark.sql(f"CREATE TABLE {table.full_name} (id bigint, a int) USING iceberg")
        with pytest.raises(PySparkException, match="branch dev, because .* has no such branch"):
            table.call("zorder(id, a)", branch="dev")
        spark.sql(f"ALTER TABLE {table.full_name} CREATE BRANCH dev")
        spark.sql(f"INSERT INTO {table.full_name}.branch_dev SELECT id, hash(id) FROM range(0, 4000, 1, 2)")
        dev = table.fingerprint(version="VERSION AS OF 'dev'")
        assert table.call("zorder(id, a)", branch="dev").rewritten_data_files_count == 2
        assert table.fingerprint(version="VERSION AS OF 'dev'") == dev

    @needs_branch_argument
    def test_names_in_a_filter_are_those_of_the_tables_schema_on_any_branch(self, spark: SparkSession) -> None:
        table = create(spark, "SELECT id, cast(id / 1000 AS int) AS p, 7 AS q FROM range(0, 3000, 1, 3)")
        spark.sql(f"ALTER TABLE {table.full_name} CREATE BRANCH dev")
        spark.sql(f"INSERT INTO {table.full_name} VALUES (1, 1, 1)")
        for old, new in (("p", "r"), ("q", "p"), ("r", "q")):
            spark.sql(f"ALTER TABLE {table.full_name} RENAME COLUMN {old} TO {new}")
        assert table.call("zorder(id, p)", branch="dev", where="q >= 1").rewritten_data_files_count == 2

    @pytest.mark.version
    def test_positional_arguments_in_a_namespace_in_capitals(self, spark: SparkSession) -> None:
        table = create(spark, UNIFORM.format(rows=12_000))
        with unchanged(table):
            spark.sql(
                f"CALL lake.SYSTEM.rewrite_data_files('{table.name}', 'zorder', 'zorder(a, b)', map('rewrite-all', 'true'))"
            )

    @pytest.mark.version
    @pytest.mark.parametrize(
        "arguments",
        [{"strategy": "binpack"}, {"strategy": "sort", "sort_order": "a DESC"}, {"strategy": "sort", "sort_order": "zorder(a,b)"}],
    )  # fmt: skip
    def test_strategies_of_iceberg_work_as_before(self, spark: SparkSession, arguments: dict[str, Any]) -> None:
        table = create(spark, UNIFORM.format(rows=12_000))
        named = ", ".join(f"{key} => '{value}'" for key, value in arguments.items())
        with unchanged(table):
            spark.sql(
                f"CALL lake.system.rewrite_data_files(table => '{table.name}', {named}, options => map('rewrite-all', 'true'))"
            )
        assert not any(key.startswith("zorder.") for key in table.summary())

    @pytest.mark.skipif(SPARK < (4, 0), reason="Spark 3.5 cannot explain a CALL")
    @pytest.mark.version
    def test_explain_does_not_rewrite(self, spark: SparkSession) -> None:
        table = create(spark, UNIFORM.format(rows=12_000))
        spark.sql(
            f"EXPLAIN CALL lake.system.rewrite_data_files(table => '{table.name}', strategy => 'zorder', sort_order => 'a')"
        ).collect()
        assert table.operations() == ["append"]
