"""Option ``min-age-seconds``: data files that came lately are left alone."""

import time

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from iceberg_zorder.rewrite.snapshot_keys import SETTLED_FROM, YOUNG_WAIT
from tests.pyiceberg.committing import commit_files, files_of, ids, make_table, position_deletes, rows_of
from tests.spark.tables import Table, create, unchanged
from tests.stack.rest import RestServer

ROWS = "SELECT id, id % 7 AS a FROM range({0}, {0} + 500, 1, 2)"
PARTS = (range(10), range(10, 20))
APART = 5
"""Seconds between the files of a table: a plan has that long until they are all old."""


@pytest.fixture(scope="module")
def table(spark: SparkSession, catalog: SqlCatalog) -> Table:
    """A table of format version 3 with two files, and two that came some seconds later; by PyIceberg two more."""
    made = create(spark, ROWS.format(0), properties={"format-version": "3"})
    catalog.create_namespace("ages")
    others = [make_table(catalog, *map(rows_of, PARTS), name=f"ages.{are_young}") for are_young in (False, True)]
    time.sleep(APART)
    for other in others:
        other.append(rows_of(range(20, 30)))
    spark.sql(f"INSERT INTO {made.full_name} {ROWS.format(500)}")
    return made


def between(table: Table) -> dict[str, str]:
    """Options by which the files of a table's first snapshot are old enough now, and those of the last are not."""
    query = f"SELECT min(unix_millis(committed_at)) FROM {table.full_name}.snapshots"
    first = table.spark.sql(query).collect()[0][0]
    return {"rewrite-all": "true", "min-age-seconds": str((time.time_ns() // 1_000_000 - first) // 1000)}


def test_a_rewrite_takes_the_old_ones(table: Table) -> None:
    with unchanged(table):
        row = table.call("id, a", options=between(table))
    assert (row.rewritten_data_files_count, row.added_data_files_count) == (2, 1)
    assert table.summary()[SETTLED_FROM] == YOUNG_WAIT, "the young files are still to come"


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("are_young", [False, True])
def test_deletes_from_young_files_are_no_conflict(spark: SparkSession, server: RestServer, are_young: bool) -> None:
    made = server.catalog.load_table(f"ages.{are_young}")
    table, young = Table(spark, f"ages.{are_young}"), files_of(made)[-1].file_path
    server.before_next_commit(lambda: commit_files(made, position_deletes(made, [(young, 0)])))
    options = {**between(table), "on-conflict": "fail", **({} if are_young else {"min-age-seconds": "0"})}
    failure = table.failure_by(server, "id", options)
    assert server.before_commit is None
    assert are_young == (failure is None), failure
    assert are_young or "conflicted with another operation" in str(failure)
    assert ids(made) == [*range(20), *range(21, 30)]
