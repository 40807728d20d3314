"""The reference that needs all rows: a k-d tree with equal counts in every leaf.

Source: J. L. Bentley, "Multidimensional binary search trees used for associative searching", CACM 18(9), 1975; the
column with the largest spread is split, as J. H. Friedman and others do (ACM TOMS 3(3), 1977).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def kd_tree_files(columns: Sequence[npt.NDArray[np.int64]], files: int) -> npt.NDArray[np.int64]:
    """Cut all rows into files of equal counts.

    Parameters
    ----------
    columns : sequence of ndarray of int64
        Keys of every row.
    files : int
        How many.

    Returns
    -------
    ndarray of int64
        The file of every row; rows of one value may be parted.

    Examples
    --------
    >>> kd_tree_files([np.array([3, 1, 4, 2])], 2)
    array([1, 0, 1, 0])
    """
    places = []
    for keys in columns:
        place = np.empty(len(keys), np.int64)
        place[np.argsort(keys, kind="stable")] = np.arange(len(keys))
        places.append(place)
    found = np.empty(len(places[0]), np.int64)

    def part(rows: npt.NDArray[np.int64], first: int, count: int) -> None:
        if count == 1:
            found[rows] = first
            return
        widest = max(places, key=lambda place: int(np.ptp(place[rows])))
        left = count // 2
        cut = len(rows) * left // count
        order = np.argpartition(widest[rows], cut)
        part(rows[order[:cut]], first, left)
        part(rows[order[cut:]], first + left, count - left)

    part(np.arange(len(found)), 0, files)
    return found
