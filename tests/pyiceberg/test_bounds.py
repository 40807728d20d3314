"""Bounds read from the manifests of a real table are the minima and maxima of its files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.bounds import FileBounds, file_bounds
from iceberg_zorder.report.scan_fraction import scan_fraction

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("day", pa.date32()),
        ("my day", pa.date32()),
        ("name", pa.string()),
        ("price", pa.decimal128(9, 2)),
        ("ratio", pa.float64()),
        ("at", pa.timestamp("us")),
        ("place", pa.struct([("zip", pa.int32())])),
        ("tags", pa.list_(pa.string())),
    ]
)


def rows(*ids: int | None) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "id": i,
                "day": None if i is None else dt.date(1970, 1, 1) + dt.timedelta(days=i),
                "my day": None if i is None else dt.date(1970, 1, 1) + dt.timedelta(days=i),
                "name": None if i is None else f"a common prefix of more than 16 bytes, {i}",
                "price": None if i is None else Decimal(i) / 4,
                "ratio": None if i is None else float("nan") if i == 0 else i / 2,
                "at": None if i is None else dt.datetime(1970, 1, 1, 0, 0, 0, abs(i)),
                "place": {"zip": i},
                "tags": [str(i)],
            }
            for i in ids
        ],
        SCHEMA,
    )


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}") as catalog:
        catalog.create_namespace("db")
        yield catalog.create_table("db.t", SCHEMA)


def by_first_id(bounds: FileBounds, column: str) -> list[tuple[object, object]]:
    files = zip(bounds.lower["id"], bounds.lower[column], bounds.upper[column], strict=True)
    return [(low, high) for _, low, high in sorted(files, key=lambda file: file[0])]


def test_bounds_are_the_minimum_and_maximum_of_each_file(table: Table) -> None:
    table.append(rows(-8, 4, None))
    table.append(rows(5, 12))
    bounds = file_bounds(table, ["id", "day", "price", "ratio", "at", "`my day`", "place.zip"])

    assert by_first_id(bounds, "id") == [(-8, 4), (5, 12)]
    assert by_first_id(bounds, "day") == [(-8, 4), (5, 12)]
    assert by_first_id(bounds, "price") == [(Decimal(-2), Decimal(1)), (Decimal("1.25"), Decimal(3))]
    assert by_first_id(bounds, "ratio") == [(-4.0, 2.0), (2.5, 6.0)]
    assert by_first_id(bounds, "at") == [(4, 8), (5, 12)]
    assert by_first_id(bounds, "`my day`") == [(-8, 4), (5, 12)]
    # The column is found, but PyIceberg's writer keeps no bounds of nested fields.
    assert by_first_id(bounds, "place.zip") == [(None, None), (None, None)]
    assert sorted(bounds.record_counts) == [2, 3]
    files = table.inspect.files().to_pydict()
    assert sorted(bounds.sizes) == sorted(files["file_size_in_bytes"])


def test_truncated_bounds_still_enclose_the_values(table: Table) -> None:
    table.append(rows(1, 2))
    bounds = file_bounds(table, ["name"])
    name = "a common prefix of more than 16 bytes, 1"

    assert bounds.lower["name"][0] < name < bounds.upper["name"][0]
    assert scan_fraction([name, "b"], bounds.lower["name"], bounds.upper["name"], bounds.sizes) == 0.5


def test_file_without_bounds_counts_as_read(table: Table) -> None:
    table.append(rows(1, 2))
    with table.transaction() as change:
        change.set_properties({"write.metadata.metrics.default": "none"})
    table.append(rows(8, 9))
    bounds = file_bounds(table, ["id"])

    assert sorted(bounds.lower["id"], key=str) == [1, None]
    assert sorted(bounds.upper["id"], key=str) == [2, None]
    without = bounds.lower["id"].index(None)
    fraction = scan_fraction([100], bounds.lower["id"], bounds.upper["id"], bounds.sizes)
    assert fraction == bounds.sizes[without] / sum(bounds.sizes)


def test_only_null_or_nan_gives_no_bounds(table: Table) -> None:
    table.append(rows(0))
    assert file_bounds(table, ["ratio"]).lower == {"ratio": [None]}
    table.overwrite(rows(None))
    assert file_bounds(table, ["id"]).upper == {"id": [None]}


def test_table_without_snapshot_has_no_files(table: Table) -> None:
    assert file_bounds(table, ["id"]) == FileBounds({"id": []}, {"id": []}, [], [])


def test_refusals_name_the_column(table: Table) -> None:
    with pytest.raises(InvalidInputError, match=r"^Cannot read the bounds of nope, because db\.t has no such column$"):
        file_bounds(table, ["nope"])
    with pytest.raises(InvalidInputError, match=r"^Cannot read the bounds of tags, because it is of type list<string>"):
        file_bounds(table, ["tags"])
