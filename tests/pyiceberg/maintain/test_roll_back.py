"""Writers win: a catalog that is told to rolls marked rewrites back for them. A server of ours, and a real Polaris."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pyarrow as pa
import pytest
from pyiceberg.exceptions import ValidationException
from pyiceberg.table import Table

from tests.pyiceberg.polaris_lake import PolarisLake

SMALL = 1_000_000_000
LATE = timedelta(days=2)


@pytest.fixture
def lake(polaris_lake: PolarisLake) -> PolarisLake:
    return polaris_lake


def operations(table: Table) -> list[str]:
    return [each.summary.operation.value for each in table.snapshots() if each.summary]


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
    stale, before = lake.table(), lake.rows()
    done = lake.maintain().done
    assert done is not None
    assert (done.rewritten_files, operations(lake.table())) == (8, ["append"] * 8 + ["replace"])
    assert lake.rows() == before

    # It knows nothing of the rewrite, whose files it may not leave out.
    write(stale)
    table = lake.table()
    assert operations(table)[:8] == ["append"] * 8
    assert "replace" not in operations(table)
    assert lake.rows() == after(write, before)

    done = lake.maintain(timedelta(minutes=20)).done
    assert done is not None
    assert done.rewritten_files >= 8
    lake.maintain(LATE)
    assert lake.rows() == after(write, before)


def test_without_markers_the_writer_fails_as_ever(lake: PolarisLake) -> None:
    stale, before = lake.table(), lake.rows()
    lake.maintain(conflicts={"markers": False})
    with pytest.raises(ValidationException):
        delete(stale)
    assert operations(lake.table())[-1] == "replace"
    assert lake.rows() == before
    assert not lake.maintain(timedelta(minutes=5)).is_conflict
