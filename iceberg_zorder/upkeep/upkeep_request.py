"""How upkeep chooses files, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.report.ranks import Kept
from iceberg_zorder.workload.boxes.box import Box


@dataclass(frozen=True, eq=False)
class AskedQueries:
    """The queries of a workload as they are asked of the files of a partition."""

    # What each asks for; nothing of one that no row can match, which counts as if it read nothing.
    boxes: tuple[tuple[Box, ...], ...]
    # How often each is asked, above 0; all of them are what is averaged over.
    weights: npt.NDArray[np.float64]
    # Which may find rows in the partition.
    may_find: npt.NDArray[np.bool_]
    # Which files each reads, of shape (queries, files).
    reads: npt.NDArray[np.bool_]
    # The share of the queries that the workload knows, in [0, 1].
    share: float

    @property
    def reach(self) -> npt.NDArray[np.float64]:
        """The share of the queries, by their weights, that read each file."""
        found = np.zeros(self.reads.shape[1])
        # One after the other, as Java does.
        for boxes, weight, reads in zip(self.boxes, self.weights.tolist(), self.reads, strict=True):
            found += weight * (reads & bool(boxes))
        return found / float(np.cumsum(self.weights)[-1])


def finer(size: int) -> int:
    """Bytes that are written to as many files of the usual size as so many are to files of two thirds of it."""
    return 3 * size // 2


@dataclass(frozen=True, eq=False)
class UpkeepRequest:
    """How files are chosen."""

    # So many times the attainable scan fraction is left alone, at least 1.
    max_scan_ratio: float
    # From bytes to the number of files that they are written to.
    expected_files: Callable[[int], int]
    # What is asked of layouts, but for the number of files.
    layout: LayoutRequest
    # For each column, what new lower/upper bounds keep of a key; None where it is all.
    kept: Sequence[Kept | None]
    # For each column, what it counts in averages: 0 where new files get no bounds.
    weights: Sequence[float]
    # By what files are judged; by equality with values of the columns without.
    queries: AskedQueries | None = None

    def goes_by_queries(self, files: DataFiles) -> bool:
        """Tell whether files are judged by queries: not where no file has bounds of a column."""
        return self.queries is not None and not any(bounds.is_open for bounds in files.columns)
