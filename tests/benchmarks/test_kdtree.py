import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.kdtree import kd_tree_files


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(1, 20), st.integers(20, 300), st.integers(1, 400), st.integers(0, 2**32))
def test_files_have_equal_counts_and_are_disjoint_in_rank_space(
    columns: int, files: int, rows: int, values: int, seed: int
) -> None:
    keys = list(np.random.default_rng(seed).integers(0, values, (columns, rows)))
    file = kd_tree_files(keys, files)
    counts = np.bincount(file, minlength=files)
    assert len(counts) == files
    assert counts.sum() == rows
    assert counts.max() - counts.min() <= depth(files)
    # Ties are parted by arrival, so that places among the rows are distinct where keys need not be.
    places = np.stack([np.argsort(np.argsort(key, kind="stable"), kind="stable") for key in keys])
    low = [places[:, file == each].min(axis=1) for each in range(files)]
    high = [places[:, file == each].max(axis=1) for each in range(files)]
    for one, other in itertools.combinations(range(files), 2):
        assert ((high[one] < low[other]) | (high[other] < low[one])).any()


def depth(files: int) -> int:
    """How often rows are divided on the way to a file: each time may round by one row at most."""
    return int(np.ceil(np.log2(files))) + 1


def test_boxes_are_cut_in_every_column() -> None:
    keys = [np.repeat(np.arange(40), 40), np.tile(np.arange(40), 40)]
    file = kd_tree_files(keys, 16)
    for key in keys:
        spans = [np.ptp(key[file == each]) + 1 for each in range(16)]
        assert max(spans) <= 11
