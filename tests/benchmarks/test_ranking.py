"""The benchmark of rankings: which file groups each takes, and the page, from made-up figures."""

from __future__ import annotations

from dataclasses import asdict

from benchmarks.ranking import Group, by_files, by_hindsight, by_our_rank, in_turns, page
from iceberg_zorder.maintain.observation import FileGroupNeed


def group(table: str, size: int, worth: float, fewer: int, saved: float) -> Group:
    return Group(table, FileGroupNeed(1, 10, size, worth, False, "overlap"), fewer, saved)


GROUPS = [
    group("few-new", 40, 0.9, 0, 30),
    group("few-new", 50, 0.1, 9, 4),
    group("late", 30, 0.5, 2, 10),
    group("never", 20, 0.2, 10, 9),
]


def test_each_ranking_takes_what_fits() -> None:
    assert by_our_rank(GROUPS, 80) == [GROUPS[0], GROUPS[2]]
    assert by_files(GROUPS, 80) == [GROUPS[3], GROUPS[1]]
    assert by_hindsight(GROUPS, 70) == [GROUPS[0], GROUPS[3]]
    # The first of every table, then the second ones; what does not fit is passed over.
    assert in_turns(GROUPS, 95) == [GROUPS[0], GROUPS[2], GROUPS[3]]
    assert in_turns(GROUPS, 140) == [GROUPS[0], GROUPS[2], GROUPS[3], GROUPS[1]]


def test_page_shares_out_what_was_saved() -> None:
    text = page({"machine": "a machine", "groups": [asdict(each) for each in GROUPS]})
    assert "| few-new | 2 | 0.0 | 9 | 0.00 | 0.00 | 0.378 |" in text
    assert "All 4 file groups have 0.0 MB" in text
    # Half of 140 bytes: 30 + 10 of 53 were saved by the two that are worth most, which take all of it.
    ours = next(line for line in text.splitlines() if line.startswith("| ours"))
    assert ours.endswith("| 75.5% |")
