"""What bad input gets: "Cannot ..., because ...", naming what is wrong, before anything is read or written."""

import json
import re
from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.rewrite.refused_options import REFUSED
from tests.spark.tables import Table, create, needs_branch_argument, settings, untouched

# Each Spark line has words of its own for it.
NOT_FOUND = (
    "FAILED_TO_LOAD_ROUTINE|MISSING_CATALOG_ABILITY|ROUTINE_NOT_FOUND|does not support procedures|not a ProcedureCatalog"
    "|PARSE_SYNTAX_ERROR"
)


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Iterator[Table]:
    """A table that none of the refused calls may touch."""
    made = create(
        spark,
        "SELECT id, cast(id % 3 AS int) AS p, id AS a, rand(1) AS b, array(id) AS tags, map('k', id) AS attributes, "
        "named_struct('x', id) AS s, id AS unkept, array(named_struct('y', id)) AS list FROM range(0, 1000, 1, 5)",
        partitioned_by="p",
        properties={"write.metadata.metrics.column.unkept": "none"},
    )
    with untouched(made):
        yield made


def refusal(of: Table, sort_order: str, options: dict[str, str] | None = None, **arguments: str) -> str:
    with pytest.raises(PySparkException) as refused:
        of.call(sort_order, options=options, **arguments)
    message = str(refused.value).split("\n")[0]
    assert message.startswith("Cannot ")
    assert ", because " in message
    return message


@pytest.mark.parametrize(
    ("sort_order", "parts"),
    [
        ("zorder(nope)", ["column 'nope'", "no such column", "it has id, p, a"]),
        ("zorder(idd)", ["no such column (did you mean 'id'?)"]),
        ("zorder(s.nope)", ["column 's.nope'", "no such column", "it has x"]),
        ("zorder(a, A)", ["column a twice"]),
        ("zorder(s.x, S.x)", ["column s.x twice"]),
        ("zorder(tags)", ["column 'tags'", "list"]),
        ("zorder(attributes)", ["column 'attributes'", "map"]),
        ("zorder(s)", ["column 's'", "struct", "name one of its fields"]),
        ("zorder(list.y)", ["column 'list.y'", "only structs have named fields"]),
        ("zorder(p)", ["by p", "partitioned by every one"]),
        ("", ["sort_order ''"]),
        ("zorder(a", ["sort_order 'zorder(a'"]),
        ("nope, zorder(a)", ["column 'nope'", "no such column"]),
        ("a, zorder(a, b)", ["column a twice"]),
        ("attributes, zorder(a)", ["column 'attributes'", "map"]),
        ("a, zorder(p)", ["by p", "partitioned by every one"]),
        ("hilbert(a, b, c, d, e, f, g, h, i)", ["has room for 8 columns"]),
    ],
)  # fmt: skip
def test_columns(table: Table, sort_order: str, parts: list[str]) -> None:
    message = refusal(table, sort_order)
    for part in parts:
        assert part in message


@pytest.mark.parametrize("name", ["_file", "_POS", "_deleted"])
def test_columns_named_as_metadata(spark: SparkSession, name: str) -> None:
    made = create(spark, f"SELECT id, id AS {name} FROM range(0, 100, 1, 2)")
    message = refusal(made, "zorder(id)")
    assert made.operations() == ["append"]
    assert f"its column {name} has the name of a metadata column of Iceberg" in message


@pytest.mark.parametrize("sort_order", ["zorder(unkept)", "unkept DESC, hilbert(a, b)"])
def test_columns_without_bounds_where_they_are_refused(table: Table, sort_order: str) -> None:
    message = refusal(table, sort_order, {"metrics-check": "fail"})
    for part in ("column unkept", "no lower/upper bounds", "'write.metadata.metrics.column.unkept' = 'full'"):
        assert part in message


@pytest.mark.parametrize(
    ("name", "value", "because"),
    [
        ("no-such-option", "1", "not supported by the action or the rewriter"),
        ("var-length-contribution", "8", "not supported by the action or the rewriter"),
        ("column-weights", "a", "column-weights to 'a', because '=' is expected"),
        ("column-weights", "b=2", "column-weights for column 'b', because it is not a clustering column"),
        ("column-weights", "a=2,A=3", "column-weights for column 'A', because it appears twice"),
        ("column-weights", "nope=2", "column 'nope'"),
        *REFUSED,
    ],
)  # fmt: skip
def test_options(table: Table, name: str, value: str, because: str) -> None:
    assert because in refusal(table, "zorder(a)", {"target-file-size-bytes": "536870912", name: value})


def workload(*queries: tuple[str, float]) -> str:
    return json.dumps({"version": 1, "queries": [{"filter": text, "weight": weight} for text, weight in queries]})


OF_OPTION = "workload of option workload, because"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("{", f"Cannot read {OF_OPTION} it is not valid JSON: "),
        ('{"version": 1, "version": 1, "queries": []}', f"{OF_OPTION} key version appears twice in an object"),
        ('{"version": 1, "queries": [{"filter": "a = 1"}]}', f"{OF_OPTION} queries[0].weight is missing"),
        (workload(("a = 1", 1e308), ("a = 1", 1e308)), f"{OF_OPTION} its weights add up to infinity"),
        (workload(("a = 1", 0)), f"Cannot use {OF_OPTION} it has no query"),
        (workload(("c = 1", 1)), "Cannot use the filter 'c = 1' on "),
        ("/dev/zero", "/dev/zero is not a file"),
        ("file:///nowhere/w.json", "Cannot read workload file:///nowhere/w.json, because "),
    ],
)
def test_workloads(table: Table, given: str, why: str) -> None:
    assert why in refusal(table, "zorder(a, b)", {"workload": given})


def test_max_commits_counts_only_with_partial_progress(table: Table) -> None:
    options = {"partial-progress.max-commits": "0", "partial-progress.enabled": "true"}
    assert "partial-progress.max-commits to 0" in refusal(table, "zorder(a)", options)


@pytest.mark.parametrize("replaced", ["true", "false"])
def test_a_mistyped_strategy_is_answered_with_ours(spark: SparkSession, table: Table, replaced: str) -> None:
    with (
        settings(spark, {"spark.iceberg-zorder.replace-builtin": replaced}),
        pytest.raises(PySparkException) as refused,
    ):
        table.call("zorder(a)", strategy="zordr")
    assert (
        f"Cannot rewrite data files of {table.name}, because there is no strategy 'zordr': there are 'zorder' (of "
        "iceberg-zorder), 'binpack' and 'sort' (of Iceberg)"
    ) in str(refused.value)


@pytest.mark.parametrize("where", ["nope > 1", "a >", "upper(p) = 'x'", "rand() > 0.5"])
def test_where(table: Table, where: str) -> None:
    assert f"the filter '{where}'" in refusal(table, "zorder(a)", where=where)


@needs_branch_argument
def test_branch(table: Table) -> None:
    table.spark.sql(f"ALTER TABLE {table.full_name} CREATE TAG v1")
    for name in ("dev", "v1"):
        assert f"branch {name}" in refusal(table, "zorder(a)", branch=name)


@pytest.mark.parametrize("name", ["db.nope", "nowhere.t", ""])
def test_table(table: Table, name: str) -> None:
    message = refusal(table, "zorder(a)", table=name)
    assert name in message


def test_sort_order_is_needed(spark: SparkSession, table: Table) -> None:
    with pytest.raises(
        PySparkException,
        match="Cannot .*, because no columns are named and it has no property zorder.columns: .* iceberg-zorder advise recommends some",
    ):
        spark.sql(f"CALL lake.system.rewrite_data_files(table => '{table.name}', strategy => 'zorder')")


def test_names_count_by_case_as_the_session_says(spark: SparkSession, table: Table) -> None:
    with settings(spark, {"spark.sql.caseSensitive": "true"}):
        assert "column 'A'" in refusal(table, "zorder(A)")


def test_two_names_that_differ_by_case_only_are_ambiguous_when_case_does_not_count(spark: SparkSession) -> None:
    with settings(spark, {"spark.sql.caseSensitive": "true"}):
        both = create(spark, "SELECT id, rand(1) AS k, rand(2) AS K FROM range(10)")
    with pytest.raises(PySparkException, match="ambiguous"):
        both.call("zorder(k)")


def test_a_procedure_that_is_not_ours_is_left_to_spark(spark: SparkSession) -> None:
    for call in ("lake.system.no_such()", "lake.other.zorder_plan('t', 'a')", "nowhere.system.rewrite_data_files('t')"):
        with pytest.raises(PySparkException) as refused:
            spark.sql(f"CALL {call}")
        assert re.search(NOT_FOUND, str(refused.value)), refused.value


def test_a_table_without_a_snapshot(spark: SparkSession) -> None:
    empty = Table(spark, "db.empty")
    spark.sql(f"CREATE TABLE {empty.full_name} (id bigint, a int) USING iceberg")
    assert tuple(empty.call("zorder(a)")) == (0, 0, 0, 0, 0)
    assert empty.operations() == []
    with pytest.raises(PySparkException, match="no such column"):
        empty.call("zorder(nope)")


def test_structs_whose_nulls_spark_does_not_see(spark: SparkSession) -> None:
    struct = "if(id % 3 = 0, NULL, named_struct('x', if(id % 3 = 1, NULL, 7)))"
    made = create(spark, f"SELECT id, {struct} AS s FROM range(9)", partitioned_by="s.x")
    with untouched(made):
        message = refusal(made, "zorder(id)", {"rewrite-all": "true"})
    assert "would read a NULL in column s as a struct of NULLs" in message
    assert "s.x=null" in message
    assert made.call("zorder(id)", options={"rewrite-all": "true"}, where="s.x = 7").rewritten_data_files_count == 1
