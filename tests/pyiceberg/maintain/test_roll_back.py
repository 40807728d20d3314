"""Writers win: a catalog that is told to rolls marked rewrites back for them. A server of ours, and a real Polaris."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pyarrow as pa
import pytest
from pyiceberg.exceptions import ValidationException
from pyiceberg.table import CommitTableRequest, Table
from pyiceberg.table.update import AddSnapshotUpdate

from tests.pyiceberg.commit.test_markers import rewrite_marked
from tests.pyiceberg.polaris_lake import PolarisLake
from tests.stack.rest import status

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


@pytest.mark.parametrize("write", [delete, append])
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


def test_what_comes_late_is_in_doubt_while_rewrites_may_be_rolled_back_for_it(lake_of_ours: PolarisLake) -> None:
    """Others were faster, so that it should be refused: it is not, where all that they made is rolled back for it.

    No healthy server is late on request.
    """
    lake, server = lake_of_ours, lake_of_ours.ours
    assert server is not None
    honest, before = server.commit, lake.rows()
    late: list[CommitTableRequest] = []

    def commit(table: Table, request: CommitTableRequest) -> None:
        if late or not any(isinstance(each, AddSnapshotUpdate) for each in request.updates):
            honest(table, request)
            return
        late.append(request)
        rewrite_marked(server.catalog.load_table("db.t"), "y, x")
        server.answer = status(503)

    def recovered() -> None:
        server.answer = None

    server.commit = commit  # type: ignore[method-assign]
    server.before_load = recovered
    found = lake.maintain()
    assert found.error is not None
    assert found.error.startswith(
        "lake.db.t: UnknownOutcomeError: Cannot tell whether the rewrite of lake.db.t was committed"
    )
    (theirs,) = [
        each for each in lake.table().snapshots() if each.summary and each.summary.operation.value == "replace"
    ]
    honest(server.catalog.load_table("db.t"), late[0])
    (mine,) = [each for each in lake.table().snapshots() if each.summary and each.summary.operation.value == "replace"]
    assert mine.snapshot_id != theirs.snapshot_id
    assert lake.rows() == before
