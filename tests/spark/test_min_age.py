"""Option ``min-age-seconds``: data files that came lately are left alone, in any format version, and on branches."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from iceberg_zorder.select.settled import SETTLED_FROM
from tests.pyiceberg.committing import commit_files, files_of, ids, make_table, position_deletes, rows_of
from tests.spark.tables import Table, create, needs_branch_argument, unchanged
from tests.stack.rest import RestServer

ROWS = "SELECT id, id % 7 AS a FROM range({0}, {0} + 500, 1, 2)"
PARTS = (range(10), range(10, 20))
APART = 5
"""Seconds between the files of a table: a plan has that long until they are all old."""


@pytest.fixture(scope="module")
def tables(spark: SparkSession, catalog: SqlCatalog) -> dict[int, Table]:
    """By format version, a table of two files, and of two that came some seconds later; by PyIceberg two more."""
    made = {
        version: create(spark, ROWS.format(0), properties={"format-version": str(version)}) for version in (1, 2, 3)
    }
    catalog.create_namespace("ages")
    others = [make_table(catalog, *map(rows_of, PARTS), name=f"ages.{are_young}") for are_young in (False, True)]
    time.sleep(APART)
    for other in others:
        other.append(rows_of(range(20, 30)))
    for table in made.values():
        spark.sql(f"INSERT INTO {table.full_name} {ROWS.format(500)}")
    return made


def between(table: Table) -> dict[str, str]:
    """Options by which the files of a table's first snapshot are old enough now, and those of the last are not."""
    query = f"SELECT min(unix_millis(committed_at)) FROM {table.full_name}.snapshots"
    first = table.spark.sql(query).collect()[0][0]
    return {"rewrite-all": "true", "min-age-seconds": str((time.time_ns() // 1_000_000 - first) // 1000)}


def sizes(plan: Any) -> tuple[list[int], list[tuple[int, str]]]:
    """How many files are in each group, and in each that is left, with the reason."""
    return [len(each.files()) for each in plan.groups()], [(each.files(), each.reason()) for each in plan.left()]


def test_a_rewrite_takes_the_old_ones(tables: dict[int, Table]) -> None:
    table = tables[3]
    with unchanged(table):
        row = table.call("id, a", options=between(table))
    assert (row.rewritten_data_files_count, row.added_data_files_count) == (2, 1)
    assert SETTLED_FROM not in table.summary(), "the young files are still to come"


@pytest.mark.parametrize("version", [1, 2])
def test_a_table_of_young_files_is_left(tables: dict[int, Table], version: int) -> None:
    table = tables[version]
    longest = str(2**63 - 1)
    for options in ({"min-age-seconds": longest}, {"min-age-seconds": longest, "rewrite-all": "true"}):
        assert table.plan("zorder(id, a)", options).message().get() == (
            f"Nothing to rewrite in {table.full_name}: 4 data files are left (younger than min-age-seconds "
            f"{2**63 - 1:,}). To rewrite them anyway, set option rewrite-all to true, and lower min-age-seconds."
        )
    some = table.plan("zorder(id, a)", {**between(table), "rewrite-all": "false"})
    assert "2 data files are left (scan fraction " in some.message().get()
    assert re.search(r"2 data files are left \(younger than min-age-seconds \d+\)\. To", some.message().get())
    nothing = table.plan("zorder(id, a)", {"min-age-seconds": longest}, where="id < 0").message().get()
    assert nothing == f"Nothing to rewrite in {table.full_name}: no data file can hold rows that match the filter."


@needs_branch_argument
def test_files_of_a_branch(spark: SparkSession, tables: dict[int, Table]) -> None:
    table = tables[2]
    spark.sql(f"ALTER TABLE {table.full_name} CREATE BRANCH dev")
    spark.sql(f"INSERT INTO {table.full_name}.branch_dev {ROWS.format(1000)}")
    groups, [(left, _)] = sizes(table.plan("zorder(id, a)", between(table), branch="dev"))
    assert (groups, left) == ([2], 4)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("are_young", [False, True])
def test_deletes_from_young_files_are_no_conflict(spark: SparkSession, server: RestServer, are_young: bool) -> None:
    made = server.catalog.load_table(f"ages.{are_young}")
    table, young = Table(spark, f"ages.{are_young}"), files_of(made)[-1].file_path
    server.before_next_commit(lambda: commit_files(made, position_deletes(made, [(young, 0)])))
    options = {**between(table), **({} if are_young else {"min-age-seconds": "0"})}
    failure = table.failure_by(server, "id", options)
    assert server.before_commit is None
    assert are_young == (failure is None), failure
    assert are_young or "conflicted with another operation" in str(failure)
    assert ids(made) == [*range(20), *range(21, 30)]
