"""What is said of the rows that were not sampled, held against all rows."""

from __future__ import annotations

import numpy as np
import pytest

from iceberg_zorder.advice.tails import reached

FILES, ROWS, EVERY = 60, 6_000, 20


def shares(values: np.ndarray, files: np.ndarray, quantile: float) -> tuple[float, float, float]:
    """The share of the files that hold a value above a quantile: really, as sampled, and as reached."""
    drawn = np.random.default_rng(1).random(len(values)) < 1 / EVERY
    distinct, ranks = np.unique(values[drawn], return_inverse=True)
    counts = np.bincount(ranks)
    _, found = reached(ranks, files[drawn], counts, np.full(FILES, float(EVERY)))
    limit = np.quantile(values, quantile)
    really = np.array([values[files == file].max() for file in range(FILES)]) > limit
    sampled = np.array([values[drawn][files[drawn] == file].max() for file in range(FILES)]) > limit
    return float(really.mean()), float(sampled.mean()), float((distinct[found] > limit).mean())


@pytest.mark.parametrize("quantile", [0.999, 0.9995])
def test_files_that_are_not_cut_reach_as_far_as_the_table_does(quantile: float) -> None:
    values = np.random.default_rng(2).normal(size=FILES * ROWS)
    really, sampled, found = shares(values, np.arange(len(values)) % FILES, quantile)
    assert sampled < 0.6 * really
    assert abs(found - really) <= 0.15


def test_files_that_are_cut_reach_no_farther() -> None:
    values = np.sort(np.random.default_rng(3).normal(size=FILES * ROWS))
    files = np.arange(len(values)) // ROWS
    for quantile in (0.3, 0.7, 0.95):
        really, _, found = shares(values, files, quantile)
        assert abs(found - really) <= 1 / FILES


def test_few_values_that_files_do_not_have_are_not_made_up() -> None:
    # Three values of which the last is a quarter of the rows, and in some files only.
    values = np.repeat([0, 1, 2], [FILES * ROWS // 4, FILES * ROWS // 2, FILES * ROWS // 4])
    really, sampled, found = shares(values, np.arange(len(values)) // ROWS, 0.6)
    assert really == sampled == found


def test_all_rows_leave_nothing_to_say() -> None:
    ranks, files = np.array([0, 1, 2, 3, 4]), np.array([0, 0, 1, 1, 3])
    lowest, highest = reached(ranks, files, np.ones(5, np.int64), np.ones(4))
    assert (lowest[[0, 1, 3]].tolist(), highest.tolist()) == ([0, 2, 4], [1, 3, -1, 4])


def test_both_ends_are_alike() -> None:
    values, files = np.random.default_rng(5).permutation(2_000), np.arange(2_000) % 7
    scale, counts = np.linspace(1, 50, 7), np.ones(2_000, np.int64)
    lowest, highest = reached(values, files, counts, scale)
    mirrored = reached(1_999 - values, files, counts, scale)
    assert (lowest == 1_999 - mirrored[1]).all()
    assert (highest == 1_999 - mirrored[0]).all()
