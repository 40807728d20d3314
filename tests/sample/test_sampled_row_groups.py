"""Row groups that are chosen for a sample, where what they hold repeats itself: no phase of a period is left out."""

import pytest

from iceberg_zorder.sample.sampled_row_groups import ManifestFile, sampled_row_groups
from tests.present import present

PERIODS = (4, 5, 7, 8, 10, 12)


def commits(count: int) -> list[ManifestFile]:
    """A file in each commit, of one row group."""
    return [ManifestFile(f"{number:05}", number, 4_000, 100_004, (4,)) for number in range(count)]


def one_file(count: int) -> list[ManifestFile]:
    return [ManifestFile("a", 1, 4_000 * count, 100_000 * count, tuple(100_000 * each or 4 for each in range(count)))]


def chosen(files: list[ManifestFile], seed: int, *, are_clusters: bool) -> list[int]:
    """The places of the row groups that are read."""
    found = present(sampled_row_groups(files, 10_000, 12, seed, are_clusters=are_clusters))
    if len(files) > 1:
        return [place for place, of_file in enumerate(found) if of_file]
    return [each.start // 100_000 for each in found[0]]


@pytest.mark.parametrize("made", [commits, one_file])
@pytest.mark.parametrize("count", [200, 280, 480, 500, 960, 1000])
def test_every_phase_of_a_period_is_read(made: object, count: int) -> None:
    files = made(count)  # type: ignore[operator]
    for seed in range(8):
        few, more = (chosen(files, seed, are_clusters=are_clusters) for are_clusters in (False, True))
        assert len(few) == 40
        assert len(more) == count // 4
        for period in PERIODS:
            # That they differ must be seen, so that more are read, and those must be of all phases about alike.
            assert len({place % period for place in few}) >= 0.7 * period
            shares = [sum(place % period == phase for place in more) * period / len(more) for phase in range(period)]
            assert min(shares) > 0.4
            assert max(shares) < 1.7


def test_large_row_groups_make_up_for_small_ones() -> None:
    """A row group with fewer rows than its share of the sample leaves the rest to the others."""
    rows = [400 if number % 2 else 4_000 for number in range(1_000)]
    files = [ManifestFile(f"{number:05}", number, each, 100_004, (4,)) for number, each in enumerate(rows)]
    found = present(sampled_row_groups(files, 20_000, 12, 0))
    sampled = [min(each.sampled_rows, each.rows) for of_file in found for each in of_file]
    assert min(sampled) == 400
    assert sum(sampled) >= 20_000
