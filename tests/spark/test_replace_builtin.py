"""Iceberg's own z-order, taken over by a session setting."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark.tables import Table, create, needs_branch_argument, rolled_back, unchanged, untouched

SETTING = "spark.iceberg-zorder.replace-builtin"


@pytest.fixture(scope="module")
def made(spark: SparkSession) -> Table:
    return create(spark, "SELECT id, id % 70 AS a, hash(id) AS b, id AS `zorder(` FROM range(0, 9000, 1, 5)")


@pytest.fixture
def table(made: Table) -> Iterator[Table]:
    with rolled_back(made) as table:
        yield table


@pytest.fixture
def replaced(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(SETTING, "true")
    yield
    spark.conf.unset(SETTING)


def call(table: Table, arguments: str, options: str = "") -> None:
    table.spark.sql(
        f"CALL lake.system.rewrite_data_files(table => '{table.name}', {arguments}, "
        f"options => map('rewrite-all', 'true'{options}))"
    )


@pytest.mark.version
@pytest.mark.parametrize(
    ("arguments", "curve"),
    [
        ("strategy => 'sort', sort_order => 'zorder(a, b)'", ""),
        ("sort_order => 'ZORDER (a, b)'", ""),
        ("strategy => 'SORT', sort_order => 'hilbert(a, b)'", "hilbert"),
    ],
)
def test_curves_are_ours(table: Table, replaced: None, arguments: str, curve: str) -> None:
    with unchanged(table):
        call(table, arguments)
    summary = table.summary()
    assert summary["zorder.columns"] == (f"{curve}(a, b)" if curve else "a,b")


@needs_branch_argument
def test_a_branch_is_rewritten_and_main_stays(table: Table, replaced: None) -> None:
    table.spark.sql(f"ALTER TABLE {table.full_name} CREATE BRANCH dev")
    main = table.metadata()["current-snapshot-id"]
    call(table, "sort_order => 'zorder(a, b)', branch => 'dev'")
    metadata = table.metadata()
    assert metadata["current-snapshot-id"] == main
    assert metadata["refs"]["dev"]["snapshot-id"] != main
    assert table.summary()["zorder.columns"] == "a,b"


def test_options_of_icebergs_sorts_do_no_harm(table: Table, replaced: None) -> None:
    with unchanged(table):
        call(
            table,
            "strategy => 'sort', sort_order => 'zorder(a, b)'",
            ", 'max-output-size', '16', 'var-length-contribution', '16', 'shuffle-partitions-per-file', '2'",
        )
    assert table.summary()["zorder.columns"] == "a,b"


@pytest.mark.parametrize(
    "arguments",
    [
        "strategy => 'sort', sort_order => 'a, b DESC'",
        "strategy => 'sort', sort_order => '`zorder(` ASC'",
        "strategy => 'binpack'",
    ],
)
def test_everything_else_stays_icebergs(table: Table, replaced: None, arguments: str) -> None:
    with unchanged(table):
        call(table, arguments)
    assert "zorder.columns" not in table.summary()


@pytest.mark.parametrize(
    ("sort_order", "message"),
    [("zorder(a, nope)", "Cannot find column 'nope'"), ("id, zorder(a, b)", "Cannot mix identity sort columns")],
)
def test_what_iceberg_refuses_is_refused_in_its_words(
    table: Table, replaced: None, sort_order: str, message: str
) -> None:
    with untouched(table), pytest.raises(Exception, match=message):
        call(table, f"strategy => 'sort', sort_order => '{sort_order}'")
