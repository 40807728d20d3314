"""What snapshots tell of a layout: who undid it, and what another rewrite would leave as it is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from iceberg_zorder.metrics.data_files import DataFiles
from iceberg_zorder.metrics.history import LayoutHistory, SnapshotFacts, expected_seconds, layout_history

OURS = {"zorder.columns": "a,b", "zorder.cuts": "adaptive"}


@dataclass(frozen=True, eq=False)
class File:
    """A data file: the snapshot that added it, rows, bytes and partition."""

    added_by: int
    rows: int
    size: int
    partition: int = 0


@pytest.mark.parametrize(
    ("columns", "cuts", "sort_order", "is_by"),
    [
        ("a,b", "adaptive", "zorder(a, b)", True),
        ("a,b", "even", "hilbert(a, b)", False),
        ("hilbert(a, b)", "adaptive", "zorder(a, b)", True),
        ("hilbert(a, b)", "even", "zorder(a, b)", False),
        ("day DESC NULLS LAST, zorder(a, `b,c`)", "even", "day DESC NULLS LAST, zorder(a, `b,c`)", True),
        ("day DESC NULLS LAST, zorder(a, b)", "even", "zorder(a, b)", False),
    ],
)
def test_a_rewrite_by_hilbert_is_one_by_zorder_where_cuts_are_adaptive(
    columns: str, cuts: str, sort_order: str, *, is_by: bool
) -> None:
    assert SnapshotFacts(1, 0, "replace", {"zorder.columns": columns, "zorder.cuts": cuts}).is_by(sort_order) is is_by


@pytest.mark.parametrize("columns", ["", "a b", "zorder(", "`"])
def test_a_summary_that_cannot_be_read_is_no_layout(columns: str) -> None:
    told = {"zorder.columns": columns, "zorder.target-file-size": "1 option", "total-data-files": "x"}
    found = SnapshotFacts(
        1, 0, "replace", {**told, "zorder.rewrite-duration-ms": "9" * 5_000, "removed-files-size": "1"}
    )
    assert not found.is_layout
    assert not found.is_rewrite
    assert not found.is_by("zorder(a, b)")
    assert found.target is None
    assert expected_seconds([found], 1) is None
    assert history([found, ours(2, total_data_files="x")], []).undone_by_snapshot_id is None


def history(snapshots: Sequence[SnapshotFacts], files: Sequence[File]) -> LayoutHistory:
    arrays = [
        np.array([(each.partition, each.rows, each.size)[place] for each in files], np.int64) for place in range(3)
    ]
    added_by = np.array([each.added_by for each in files], np.int64)
    return layout_history(snapshots, added_by, DataFiles(arrays[0], arrays[1], arrays[2], ()))


def undone_by(*steps: tuple[str, int, int]) -> int | None:
    """The number of the snapshot that is blamed, of snapshots by operation, added files and removed files; ours is ``layout``."""
    snapshots, total = [], 0
    for number, (operation, added, removed) in enumerate(steps, 1):
        total += added - removed
        counts = {"added-data-files": added, "deleted-data-files": removed, "total-data-files": total}
        summary = {key: str(value) for key, value in counts.items()} | (OURS if operation == "layout" else {})
        snapshots.append(SnapshotFacts(number, number, operation.replace("layout", "replace"), summary))
    return history(snapshots, []).undone_by_snapshot_id


def test_who_compacts_only_what_came_later_is_not_blamed() -> None:
    later = [("append", 3, 0), ("append", 3, 0), ("delete", 0, 2)]
    assert undone_by(("append", 6, 0), ("layout", 5, 6), *later, ("replace", 1, 6)) is None
    assert undone_by(("append", 6, 0), ("layout", 5, 6), *later, ("replace", 1, 7)) == 6


def test_who_compacts_all_is_blamed_and_none_before_the_last_layout() -> None:
    undone = [("append", 6, 0), ("layout", 9, 6), ("replace", 2, 9), ("layout", 9, 2)]
    assert undone_by(*undone) is None
    assert undone_by(*undone, ("append", 2, 0), ("replace", 1, 4), ("replace", 1, 8)) == 6


def ours(number: int, layouts: str = "", **more: str) -> SnapshotFacts:
    named = {key.replace("_", "."): value for key, value in more.items()}
    return SnapshotFacts(number, number, "replace", OURS | named | ({"zorder.layout-hash": layouts} if layouts else {}))
