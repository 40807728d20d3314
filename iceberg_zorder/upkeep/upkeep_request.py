"""How upkeep chooses files, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.report.ranks import Kept
from iceberg_zorder.workload.boxes.box import Box

_SMALL_PART = 5
_PART_OF_QUERIES = 2


@dataclass(frozen=True, eq=False)
class AskedQueries:
    """The queries of a workload as they are asked of the files of a partition.

    Parameters
    ----------
    boxes : tuple of tuple of Box
        What each query asks for; nothing of one that no row can match, which counts as if it read nothing.
    weights : ndarray of float64, shape (queries,)
        How often each is asked, above 0; all of them are what is averaged over.
    may_find : ndarray of bool, shape (queries,)
        Which may find rows in the partition.
    reads : ndarray of bool, shape (queries, files)
        Which files each reads.
    share : float
        The share of the queries that the workload knows, in [0, 1].
    """

    boxes: tuple[tuple[Box, ...], ...]
    weights: npt.NDArray[np.float64]
    may_find: npt.NDArray[np.bool_]
    reads: npt.NDArray[np.bool_]
    share: float

    @property
    def reach(self) -> npt.NDArray[np.float64]:
        """For each file the weight of the queries that read it.

        Examples
        --------
        >>> boxes, all_of_them = ((Box(()),), (), (Box(()),)), np.ones(3, bool)
        >>> reads = np.array([[True, False], [True, True], [True, True]])
        >>> AskedQueries(boxes, np.array([1.0, 2.0, 4.0]), all_of_them, reads, 0.95).reach.tolist()
        [5.0, 4.0]
        """
        found = np.zeros(self.reads.shape[1])
        # One after the other, as Java does.
        for boxes, weight, reads in zip(self.boxes, self.weights.tolist(), self.reads, strict=True):
            found += weight * (reads & bool(boxes))
        return found


@dataclass(frozen=True, eq=False)
class UpkeepRequest:
    """How files are chosen.

    Parameters
    ----------
    max_scan_ratio : float
        So many times the attainable scan fraction is left alone, at least 1.
    expected_files : callable
        From bytes to the number of files that they are written to.
    finer_files : callable
        The same where they are a small part of a partition, and chosen for what they gain: not fewer.
    layout : LayoutRequest
        What is asked of layouts, but for the number of files.
    kept : sequence of (callable or None)
        For each column, what new lower/upper bounds keep of a key; None where it is all.
    weights : sequence of float
        For each column, what it counts in averages, 0 or more: 0 where new files get no bounds.
    queries : AskedQueries, optional
        By what files are judged; by equality with values of the columns without.
    """

    max_scan_ratio: float
    expected_files: Callable[[int], int]
    finer_files: Callable[[int], int]
    layout: LayoutRequest
    kept: Sequence[Kept | None]
    weights: Sequence[float]
    queries: AskedQueries | None = None

    def is_finer(self, size: int, partition: int) -> bool:
        """Tell whether files of a partition that are chosen for what they gain are written to more files than usual.

        Files that are cut for queries are smaller where these are: of less than half of a partition they stay so.
        """
        return is_small_part(size, partition) if self.queries is None else _PART_OF_QUERIES * size < partition


def is_small_part(size: int, partition: int) -> bool:
    """Tell whether files are a small part of their partition, by the bytes of both.

    Examples
    --------
    >>> is_small_part(19, 100), is_small_part(20, 100)
    (True, False)
    """
    return _SMALL_PART * size < partition
