"""Equality deletes of a file group: looked up in one table, within the budget, whatever the types and the order."""

import datetime as dt
import math
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.read import deletes as module
from iceberg_zorder.pyiceberg.read.deletes import DeletedRows
from iceberg_zorder.sort import equal_rows
from iceberg_zorder.sort.equal_rows import EqualRows
from tests.pyiceberg.committing import commit_files
from tests.pyiceberg.lake import data_file, equality_delete, rewrite

KEYS = pa.schema([("id", pa.int64()), ("name", pa.string()), ("a", pa.int64())])


def naive(value: Any) -> Any:
    """Equal where an equality delete says so: NaN to NaN, -0.0 not to 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
    return value


VALUES: list[tuple[pa.DataType, Sequence[Any]]] = [
    (pa.int64(), [None, 0, 1, -1, 2**63 - 1, -(2**63), *range(100, 120)]),
    (pa.int32(), [None, *range(30)]),
    (pa.bool_(), [None, True, False]),
    (pa.float64(), [None, 0.0, -0.0, math.nan, math.inf, -math.inf, 1.5]),
    (pa.float32(), [0.0, -0.0, math.nan, 2.5]),
    (pa.date32(), [None, dt.date(1969, 12, 31), dt.date(2026, 1, 1)]),
    (pa.timestamp("us", "UTC"), [None, *(dt.datetime(2026, 1, day, tzinfo=dt.timezone.utc) for day in range(1, 20))]),
    (pa.decimal128(30, 2), [None, Decimal("-1.25"), Decimal("1.25"), Decimal(10**25), Decimal(-(10**25))]),
    (pa.large_string(), [None, "", "a", "aa", "ä", "\U0001f600", "x" * 600, "x" * 599 + "y", "x" * 3000]),
    (pa.large_binary(), [None, b"", b"\0", b"\0\0", b"\xff" * 40]),
    (pa.binary(16), [None, bytes(16), b"\1" * 16]),
]


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("collide", [False, True])
def test_the_same_as_by_hand(columns: int, collide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made_of = random.Random(columns)
    if collide:
        honest = equal_rows._hashes
        monkeypatch.setattr(equal_rows, "_hashes", lambda columns: honest(columns) & np.uint64(3))
    for _ in range(60):
        # The hash of a number is its own.
        kinds = [made_of.choice(VALUES[-4:] if collide and columns == 1 else VALUES) for _ in range(columns)]

        def rows(count: int, kinds: Any = kinds) -> list[tuple[Any, ...]]:
            return [tuple(made_of.choice(values) for _, values in kinds) for _ in range(count)]

        def arrays(rows: Sequence[tuple[Any, ...]], kinds: Any = kinds) -> list[pa.Array]:
            return [pa.array([row[place] for row in rows], kind) for place, (kind, _) in enumerate(kinds)]

        gone, seen = rows(made_of.randrange(40)), rows(made_of.randrange(60))
        newest = [made_of.randrange(4) for _ in gone]
        looked_up = EqualRows(arrays(gone), np.array(newest, np.int64))
        for number in range(5):
            wanted = {tuple(map(naive, row)) for row, last in zip(gone, newest, strict=True) if last >= number}
            found = looked_up.contain(arrays(seen), number).tolist()
            assert found == [tuple(map(naive, row)) in wanted for row in seen], (kinds, number)


def made(catalog: SqlCatalog, files: int, rows: int, wanted: Callable[[int], bool]) -> tuple[Table, list[int]]:
    """Data files and equality deletes in turns: each delete names some rows of all files, those to come included."""
    table = catalog.create_table("db.t", KEYS)
    live: set[int] = set()
    for number in range(files):
        written = [{"id": id_, "name": f"name {id_}", "a": id_ * 7919 % 1000} for id_ in range(number, rows, files)]
        commit_files(table, data_file(table, written))
        live |= set(range(number, rows, files))
        deleted = [id_ for id_ in range(rows) if wanted(id_) and id_ % 5 == number % 5]
        fields = ["id"] if number % 2 else ["name", "id"]
        commit_files(table, equality_delete(table, [{"id": i, "name": f"name {i}", "a": 0} for i in deleted], fields))
        live -= set(deleted)
    return table, sorted(live)


def test_a_row_that_is_written_with_its_delete_stays(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", KEYS)
    row = {"id": 1, "name": "one", "a": 1}
    commit_files(table, data_file(table, [row]))
    commit_files(table, equality_delete(table, [row], ["id"]), data_file(table, [{**row, "a": 2}]))
    assert [row["a"] for row in rewrite(table, "a").rows()] == [2]


@pytest.mark.parametrize(("limit", "parts"), [(64_000_000, False), (400_000, True)])
def test_deletes_that_have_no_room_are_applied_in_parts(
    catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch, limit: int, parts: bool
) -> None:
    monkeypatch.setattr(module, "_SMALL_BATCH_ROWS", 1000)
    marked: list[int] = []
    mark = DeletedRows._mark

    def counting(self: DeletedRows, *arguments: Any) -> None:
        marked.append(1)
        mark(self, *arguments)

    monkeypatch.setattr(DeletedRows, "_mark", counting)
    table, live = made(catalog, 4, 20_000, lambda id_: id_ % 4 != 0)
    done = rewrite(table, "a", limit=limit)
    assert sorted(row["id"] for row in done.rows()) == live
    assert (len(marked) > 2) == parts
    assert done.budget.used == 0
    # What is deleted is counted, with the rows.
    assert done.budget.peak <= limit * 1.01
    assert done.budget.peak > 100_000
