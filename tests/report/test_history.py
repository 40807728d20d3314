"""What snapshots tell of a layout: who undid it, and what another rewrite would leave as it is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.report.history import LayoutHistory, SnapshotFacts, expected_seconds, layout_history

OURS = {"zorder.columns": "a,b", "zorder.cuts": "adaptive"}


@dataclass(frozen=True, eq=False)
class File:
    """A data file: the snapshot that added it, rows, bytes and partition."""

    added_by: int
    rows: int
    size: int
    partition: int = 0


@dataclass
class Branch:
    """A table whose snapshots count what they do, and which remembers what that was."""

    draw: random.Random
    files: list[File] = field(default_factory=list)
    snapshots: list[SnapshotFacts] = field(default_factory=list)
    removed: dict[int, list[File]] = field(default_factory=dict)

    def commit(self, operation: str, added: int = 0, removed: Sequence[File] = (), **more: str) -> list[File]:
        number = len(self.snapshots) + 1
        new = [File(number, self.draw.randrange(1, 50), self.draw.randrange(10**6, 10**8)) for _ in range(added)]
        self.files = [each for each in self.files if each not in removed] + new
        counts = {
            "added-data-files": len(new),
            "added-records": sum(each.rows for each in new),
            "added-files-size": sum(each.size for each in new),
            "deleted-data-files": len(removed),
            "deleted-records": sum(each.rows for each in removed),
            "removed-files-size": sum(each.size for each in removed),
        }
        totals = {
            "total-data-files": len(self.files),
            "total-records": sum(each.rows for each in self.files),
            "total-files-size": sum(each.size for each in self.files),
        }
        # As Iceberg does, which writes no zeros but totals.
        told = {key: str(value) for key, value in counts.items() if value}
        summary = told | {key: str(value) for key, value in totals.items()} | more
        self.snapshots.append(SnapshotFacts(number, 10 * number, operation, summary))
        self.removed[number] = list(removed)
        return new

    def lay_out(self, added: int, removed: Sequence[File]) -> list[File]:
        return self.commit("replace", added, removed, **OURS)

    @property
    def layouts(self) -> set[int]:
        return {each.snapshot_id for each in self.snapshots if each.is_layout}

    def history(self, files: Sequence[File] | None = None, *, kept: int = 0) -> LayoutHistory:
        """The history, as the newest snapshots but the first so many tell it."""
        return history(self.snapshots[kept:], self.files if files is None else files)


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
    return layout_history(snapshots, added_by, DataFiles(arrays[0], arrays[1], arrays[2], ()), _is_by_a_and_b)


def _is_by_a_and_b(layout: SnapshotFacts) -> bool:
    return layout.is_by("zorder(a, b)")


@pytest.fixture
def branch() -> Branch:
    return Branch(random.Random(1))


def test_who_compacts_only_what_came_later_is_not_blamed(branch: Branch) -> None:
    ours = branch.lay_out(5, branch.commit("append", 6))
    newer = [*branch.commit("append", 3), *branch.commit("append", 3)]
    branch.commit("delete", removed=ours[:2])
    branch.commit("replace", 1, newer)
    assert branch.history().undone_by_snapshot_id is None


def test_who_compacts_all_is_blamed_and_none_before_the_last_layout(branch: Branch) -> None:
    branch.lay_out(9, branch.commit("append", 6))
    branch.commit("replace", 2, branch.files)
    branch.lay_out(9, branch.files)
    assert branch.history().undone_by_snapshot_id is None
    branch.commit("append", 2)
    branch.commit("replace", 1, branch.files[:4])
    branch.commit("replace", 1, branch.files)
    assert branch.history().undone_by_snapshot_id == 6


def ours(number: int, layouts: str = "", **more: str) -> SnapshotFacts:
    named = {key.replace("_", "."): value for key, value in more.items()}
    return SnapshotFacts(number, number, "replace", OURS | named | ({"zorder.layout-hash": layouts} if layouts else {}))


@pytest.mark.parametrize(
    ("snapshots", "added_by", "settled"),
    [
        pytest.param([ours(1, "x")], [1, 1, 1], 3, id="of one rewrite"),
        pytest.param([ours(1, "x"), ours(2, "y")], [1, 2, 2], 0, id="layers"),
        pytest.param([ours(1, "x"), ours(2, "x")], [1, 2, 2], 3, id="partial progress"),
        pytest.param([ours(1), ours(2)], [1, 2, 2], 0, id="without hashes"),
        pytest.param(
            [ours(1, "x"), SnapshotFacts(2, 2, "append", {}), ours(3, "x")], [1, 3, 3], 0, id="layers of one file each"
        ),
        pytest.param([ours(1, "x"), SnapshotFacts(2, 2, "append", {})], [1, 1, 2], 0, id="newer files"),
        pytest.param([ours(1, "x"), ours(2, "y", zorder_columns="b,a")], [2, 2, 2], 0, id="by other columns"),
        pytest.param([ours(2, "y")], [1, 1, 1], 0, id="of a snapshot that is not kept"),
    ],
)
def test_files_are_settled(snapshots: list[SnapshotFacts], added_by: list[int], settled: int) -> None:
    assert history(snapshots, [File(each, 1, 1) for each in added_by]).settled_files == settled


def test_files_are_settled_by_partition() -> None:
    files = [File(1, 1, 1, 0), File(2, 1, 1, 1), File(2, 1, 1, 2), File(2, 1, 1, 1), File(1, 1, 1, 2)]
    assert history([ours(1, "x"), ours(2, "y")], files).settled_files == 3
