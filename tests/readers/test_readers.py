"""Readers that share no code with us find the right rows in tables that were rewritten, and skip the files they need not open."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest

from benchmarks.readers.measure import READERS, TRINO, Answer, Tables, ask
from benchmarks.readers.queries import QUERIES, Query
from tests.pages import REPOSITORY

pytestmark = pytest.mark.full

OR, LIKE, NULLS = "a day `OR` a part", "`LIKE 'fur%'`", "a part, among NULLs"
FUNCTION, JOIN = "a function: `EXTRACT(YEAR ...)`", "a join with the days of a month"
POSITIONS, EQUALITY, VECTORS = (
    f"a day, {kind}" for kind in ("position deletes", "equality deletes", "deletion vectors")
)
DAYS = ("a day", "ten days", "ten days and 100 parts", OR, "the same by `UNION`", POSITIONS)

# Why readers open more files than needed: readers and queries. A case that does not any more has to go.
OPEN_MORE = {
    "of columns apart, each alone is pushed to the scan": (["trino", "duckdb", "clickhouse"], [OR]),
    "the scan takes no function": (["duckdb", "sail", "polars", "daft", "daft_cast", "spark"], [FUNCTION]),
    "what a join finds does not reach the other scan": (
        ["clickhouse", "sail", "polars", "daft", "daft_cast", "spark"],
        [JOIN],
    ),
    "a file with NULLs is read": (["clickhouse"], [NULLS]),
    "a file of NULLs only has no bounds": (["duckdb"], [NULLS]),
    "a literal of type DATE is not pushed": (["daft"], list(DAYS)),
    "LIKE is not pushed": (["daft", "daft_cast"], [LIKE]),
    "its binding to Python pushes nothing": (
        ["datafusion"],
        [query.name for query in QUERIES if query.name not in ("a day, as ingested", VECTORS)],
    ),
}

# What readers cannot read, and what their error says: readers and queries. A case that succeeds has to go.
FAIL = {
    "does not yet support equality deletes": (["pyiceberg", "polars", "daft", "daft_cast"], [EQUALITY]),
    "PUFFIN": (["trino"], [VECTORS]),
    "supported only for parquet": (["clickhouse"], [VECTORS]),
    "Parquet": (["daft", "daft_cast", "datafusion"], [VECTORS]),
}

CASES = [(reader, query) for reader in READERS for query in QUERIES if reader != "pyiceberg" or query.filter]


@pytest.fixture(scope="module")
def answers(tables: Tables) -> Callable[[str], dict[Query, Answer]]:
    @cache
    def of(reader: str) -> dict[Query, Answer]:
        return dict(zip(QUERIES, ask(reader, tables, QUERIES)[1], strict=True))

    return of


@pytest.mark.parametrize(
    ("reader", "query"), [pytest.param(*case, id=f"{case[0]}-{case[1].name.replace('`', '')}") for case in CASES]
)
def test_readers_find_the_right_rows_in_the_files_they_need(
    reader: str, query: Query, tables: Tables, answers: Callable[[str], dict[Query, Answer]]
) -> None:
    if reader == "trino" and not (REPOSITORY / TRINO).is_dir():
        pytest.skip("`make bench-readers` brings Trino")
    answer, right = answers(reader)[query], tables.right(query)
    for message, (readers, names) in FAIL.items():
        if reader in readers and query.name in names:
            assert re.search(message, answer.error)
            return
    assert (answer.error, answer.rows, answer.hash) == ("", right.rows, right.hash)
    if any(reader in readers and query.name in names for readers, names in OPEN_MORE.values()):
        assert answer.files > right.files, "reads less than the list says"
    else:
        assert answer.files <= right.files
