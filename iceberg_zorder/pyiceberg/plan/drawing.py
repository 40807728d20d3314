"""Tell which rows of a file group are drawn, by hashes of their places.

A row is drawn when ``xxhash64(file_path, position, seed)`` falls below a threshold: the same rows as Spark draws of the
same files.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from iceberg_zorder.pyiceberg.plan.group_scans import GroupScan
from iceberg_zorder.sample.row_hash import row_hashes
from iceberg_zorder.sample.sampled_row_groups import SampledRowGroup

_LARGEST_HASH = 2**63 - 1


def threshold(share: int, rows: int) -> int:
    """Find the signed hash below which so many of so many rows fall, on average.

    Examples
    --------
    >>> threshold(1, 2), threshold(1, 4) == -(2**62)
    (0, True)
    """
    return (share << 64) // rows - (1 << 63)


class Drawing:
    """Which rows of a file group are drawn, by their hashes.

    Those of the sample lie below the threshold of their row group, those held out of it between that and another.

    Parameters
    ----------
    scan : GroupScan
        What is read.
    seed : int
        What it depends on besides the row's file and place.
    samples : int
        How many samples of the same size, of which all but the first are held out.
    """

    def __init__(self, scan: GroupScan, seed: int, samples: int) -> None:
        self._seed = seed
        self._samples = samples
        rows = scan.group.rows
        self._all = (SampledRowGroup(0, 0, 0, 0, scan.wanted, rows),)
        read = scan.row_groups or [self._all] * len(scan.group.tasks)
        paths = (task.data_file.file_path for task in scan.group.tasks)
        self._row_groups = dict(zip(paths, read, strict=True))

    def is_drawn(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        """Tell of rows at some positions of a file whether they are drawn; None if all are."""
        return self._are_below(self._samples, path, positions)

    def is_fitted(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell of rows that are drawn whether they are of the sample, or held out of it."""
        # With nothing held out, what was drawn is the sample.
        below = None if self._samples == 1 else self._are_below(1, path, positions)
        return np.ones(len(positions), np.bool_) if below is None else below

    def row_groups(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Find the numbers of the row groups of rows."""
        return self._row_groups[path][0].number + self._places(path, positions)

    def _places(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        first = np.array([each.first_position for each in self._row_groups[path]], np.int64)
        return np.searchsorted(first, positions, side="right").astype(np.int64) - 1

    def _are_below(self, samples: int, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        last = [_last_hash(samples * each.sampled_rows, each.rows) for each in self._row_groups[path]]
        if all(each == _LARGEST_HASH for each in last):
            return None
        limits = np.array(last, np.int64)
        return row_hashes(path, positions, self._seed) <= limits[self._places(path, positions)]


def _last_hash(share: int, rows: int) -> int:
    return _LARGEST_HASH if share >= rows else threshold(share, rows) - 1
