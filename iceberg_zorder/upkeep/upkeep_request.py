"""How upkeep chooses files, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.report.ranks import Kept
from iceberg_zorder.workload.boxes.box import Box
from iceberg_zorder.workload.boxes.position_boxes import query_boxes


def finer(size: int) -> int:
    """Return the bytes that are written to as many files of the usual size as so many are to files of two thirds."""
    return 3 * size // 2


@dataclass(frozen=True, eq=False)
class AskedQueries:
    """The queries of a workload as they are asked of one partition."""

    queries: Sequence[tuple[Sequence[Box], float]]  # those that may find rows in it: what each asks for, and its weight
    weight: float  # of all queries, which are averaged over
    share: float  # of the queries that the workload knows, in [0, 1]

    def boxes_in(self, layout: Layout) -> QueryBoxes:
        """Find what they ask for in the positions of a layout."""
        return query_boxes(self.queries, layout.columns)


@dataclass(frozen=True, eq=False)
class UpkeepRequest:
    """How the files of a partition are chosen."""

    max_scan_ratio: float  # so many times the attainable scan fraction is left alone, at least 1
    expected_files: Callable[[int], int]  # from bytes to the number of files that they are written to
    layout: LayoutRequest  # what is asked of layouts, but for the number of files
    kept: Sequence[Kept | None]  # by column, what new lower/upper bounds keep of a key; None where it is all
    weights: Sequence[float]  # by column, what it counts in averages: 0 where new files get no bounds
    workload: AskedQueries | None = None  # by what files are judged, if not by filters column = value

    def goes_by_queries(self, files: DataFiles) -> bool:
        """Tell whether files are judged by queries: not where no file has bounds of a column."""
        return self.workload is not None and not any(bounds.is_open for bounds in files.columns)
