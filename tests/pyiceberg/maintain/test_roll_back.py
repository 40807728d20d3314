"""Writers win: a catalog that is told to rolls marked rewrites back for them. A server of ours, and a real Polaris."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pyarrow as pa
import pytest
from pyiceberg.exceptions import ValidationException
from pyiceberg.table import Table

from iceberg_zorder.maintain.maintenance_pass import Peace
from iceberg_zorder.pyiceberg.file_names import WRITE_ID
from iceberg_zorder.pyiceberg.maintain.marked_writes import MARKED, marked_writes
from iceberg_zorder.pyiceberg.maintain.table_notes import ABANDONED, abandoned_writes
from tests.pyiceberg.polaris_lake import NOW, PolarisLake

SMALL = 1_000_000_000
LATE = timedelta(days=2)


@pytest.fixture
def lake(polaris_lake: PolarisLake) -> PolarisLake:
    return polaris_lake


def operations(table: Table) -> list[str]:
    return [each.summary.operation.value for each in table.snapshots() if each.summary]


def write_ids(table: Table) -> set[str]:
    found = {each.summary.additional_properties.get(WRITE_ID) for each in table.snapshots() if each.summary}
    return {each for each in found if each}


def delete(table: Table) -> None:
    table.delete(f"x < {SMALL}")


def overwrite(table: Table) -> None:
    table.overwrite(pa.table({"x": [1], "y": [2]}), overwrite_filter=f"x < {SMALL}")


def append(table: Table) -> None:
    table.append(pa.table({"x": [1], "y": [2]}))


def after(write: Callable[[Table], None], before: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
    left = before if write is append else Counter({row: n for row, n in before.items() if row[0] >= SMALL})
    return left if write is delete else left + Counter([(1, 2)])


@pytest.mark.parametrize("write", [delete, pytest.param(append, marks=pytest.mark.full)])
def test_a_writer_wins_and_the_rewrite_is_made_again(lake: PolarisLake, write: Callable[[Table], None]) -> None:
    stale, peace = lake.table(), Peace()
    before = lake.rows()
    done = lake.maintain(peace=peace).done
    assert done is not None
    assert (done.rewritten_files, operations(lake.table())) == (8, ["append"] * 8 + ["replace"])
    assert lake.rows() == before
    (lost,) = write_ids(lake.table())
    (noted,) = marked_writes(lake.table().properties)
    assert noted.write_id == lost

    # It knows nothing of the rewrite, whose files it may not leave out.
    write(stale)
    table = lake.table()
    assert operations(table)[:8] == ["append"] * 8
    assert "replace" not in operations(table)
    assert lake.rows() == after(write, before)

    # The files are left behind, and the table is left in peace.
    orphans = lake.files(lost)
    assert orphans
    found = lake.maintain(timedelta(minutes=5), peace)
    assert found.decision is not None
    assert found.decision.action == "leave"
    assert found.decision.reason.startswith("it is left in peace until ")
    assert (found.is_conflict, found.error) == (
        True,
        "lake.db.t: the catalog has rolled a rewrite back for a writer that conflicted",
    )
    properties = lake.table().properties
    assert MARKED not in properties
    assert {key: each.since for key, each in abandoned_writes(properties).items()} == {lost: NOW + timedelta(minutes=5)}

    done = lake.maintain(timedelta(minutes=20), peace).done
    assert done is not None
    assert done.rewritten_files >= 8
    assert lake.files(lost) == orphans
    (kept,) = write_ids(lake.table())
    assert not lake.maintain(timedelta(minutes=25), peace).is_conflict

    found = lake.maintain(LATE, peace)
    assert (found.error, found.is_conflict, ABANDONED in lake.table().properties) == (None, False, False)
    assert lake.files(lost) == set()
    assert lake.files(kept)
    assert lake.rows() == after(write, before)


def test_without_markers_the_writer_fails_as_ever(lake: PolarisLake) -> None:
    stale, before = lake.table(), lake.rows()
    lake.maintain(conflicts={"markers": False})
    assert MARKED not in lake.table().properties
    with pytest.raises(ValidationException):
        delete(stale)
    assert operations(lake.table())[-1] == "replace"
    assert lake.rows() == before
    assert not lake.maintain(timedelta(minutes=5)).is_conflict
