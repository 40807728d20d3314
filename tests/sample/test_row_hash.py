"""Rows are hashed as Spark's ``xxhash64`` hashes them.

The constants are what Spark 4.1 answers to ``SELECT xxhash64(path, pos, seed), xxhash64(path, pos)``.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_zorder.sample.sampled_row_groups import hash_bytes, row_hashes

KNOWN = [
    ("", 1, 0, -8673170612841321393, -7914824762130383993),
    ("a", 123456789012, 7, -5710480026268463027, -284468936664153215),
    ("s3://b/k", 1, 7, -5114954565031679229, -8902949408499858918),
    ("file:/tmp/lake/db/t/data/00000-1-abc.parquet", 1, 0, 1336520008620648656, 3713913078631644453),
    ("file:/tmp/é中/" + "x" * 70, 123456789012, 7, 7830884232950239123, -5268591387071417591),
]
LONGS = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(("path", "position", "seed", "seeded", "unseeded"), KNOWN)
def test_known_hashes(path: str, position: int, seed: int, seeded: int, unseeded: int) -> None:
    positions = np.array([position], np.int64)
    assert row_hashes(path, positions, seed).tolist() == [seeded]
    assert row_hashes(path, positions).tolist() == [unseeded]


@given(path=st.text(max_size=100), positions=st.lists(LONGS, max_size=5), seed=LONGS)
def test_a_long_hashes_as_its_eight_bytes(path: str, positions: list[int], seed: int) -> None:
    expected = []
    for position in positions:
        found = hash_bytes(path.encode())
        for number in (position, seed):
            found = hash_bytes(number.to_bytes(8, "little", signed=True), found)
        expected.append(found - (found >> 63 << 64))
    assert row_hashes(path, np.array(positions, np.int64), seed).tolist() == expected
