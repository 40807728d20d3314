"""Choose the data files of a partition whose rewrite saves filters the most bytes for each byte rewritten.

Files are ordered by excess: the share of rows that a file is read for, divided by the same share after a rewrite of
everything. Prefixes of that order, each half as large again as the one before, are candidates. A candidate of S bytes
that leaves filters reading R is scored (limit - R) / S, where the limit is ``max_scan_ratio`` times what a rewrite of
everything leaves. The best score wins. Candidates above the limit are out, and so are those that rewrite files of
earlier rewrites beyond what the cap allows, see :func:`.rewrite_budget`.

Files that sizes call for are rewritten if filters then read no more than today, or than after a rewrite of everything.
Otherwise only those that are due are.

Bounds hide that columns are correlated. So rows of files that are read for more than the average are taken to lie as
those of the other files do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.upkeep.partition_rows import PartitionRows
from iceberg_zorder.upkeep.upkeep_request import UpkeepRequest
from iceberg_zorder.upkeep.workload_rows import rows_of

_ROWS_OF_A_FILE = 200
_LEAST_ROWS, _MOST_ROWS = 2_000, 200_000
_LEAST_OF_MANY, _ROWS_IN_ALL = 500, 500_000
_GROWTH = 1.5
_AS_MUCH = 1 + 1e-9
"""So many times as much is the same, of sums that are rounded."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What is chosen of a partition.

    Parameters
    ----------
    files : ndarray of int64
        Places of the files, ascending.
    today, expected, attainable : float
        Average scan fraction of the partition's files: as they are, after a rewrite of the chosen files, and after one
        of all; in [0, 1].
    is_finer : bool
        Whether the chosen files are written to as many files as a small part of a partition is.
    """

    files: npt.NDArray[np.int64]
    today: float
    expected: float
    attainable: float
    is_finer: bool


def rows_to_spread(expected: Sequence[int]) -> list[int]:
    """Share out the rows that partitions are judged by.

    Examples
    --------
    >>> rows_to_spread([1, 64]), rows_to_spread([64] * 1000)[0], rows_to_spread([100_000])
    ([2000, 12800], 500, [200000])
    """
    wanted = [min(max(_ROWS_OF_A_FILE * files, _LEAST_ROWS), _MOST_ROWS) for files in expected]
    total = sum(wanted)
    return wanted if total <= _ROWS_IN_ALL else [max(each * _ROWS_IN_ALL // total, _LEAST_OF_MANY) for each in wanted]


def choose(
    files: DataFiles,
    called_for: npt.NDArray[np.bool_],
    is_due: npt.NDArray[np.bool_],
    is_ours: npt.NDArray[np.bool_],
    budget: float,
    rows: int,
    request: UpkeepRequest,
) -> Choice:
    """Choose the files of a partition that are to be rewritten.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.fit import LayoutRequest
    >>> from iceberg_zorder.layout.keys import encode
    >>> from iceberg_zorder.report.data_files import ColumnBounds
    >>> lower, upper = ([0, 0, 100, 200, 300], [199, 199, 199, 299, 399])
    >>> ends = [encode(pa.array(each), "long") for each in (lower, upper)]
    >>> bounds = ColumnBounds(ClusteringColumn(("ts",), "long"), *ends, np.ones(5))
    >>> files = DataFiles(np.zeros(5, int), np.full(5, 100), np.full(5, 100), (bounds,))
    >>> request = UpkeepRequest(
    ...     1.2, lambda size: size // 100, lambda size: size // 67, LayoutRequest(1), [None], [1.0]
    ... )
    >>> choice = choose(files, *np.zeros((3, 5), bool), 0, 1000, request)
    >>> choice.files.tolist(), round(choice.today, 2), round(choice.expected, 2)
    ([0, 1, 2], 0.4, 0.2)
    """
    search = _Search(_rows(files, rows, request), files, request)
    partition, (attainable, attained) = search.partition, search.everything
    called, due = np.flatnonzero(called_for), np.flatnonzero(is_due)
    chosen, expected, is_finer = called, search.after(called), False
    limit = request.max_scan_ratio * attainable
    # Files of the size that is asked for are read more than smaller ones: that is no loss.
    unharmed = min(limit, max(search.today, attainable)) * _AS_MUCH
    # A file by itself is left to the rules of sizes.
    if expected > unharmed and files.count > 1:
        average = partition.average(attained)
        chosen, expected = due, search.after(due)
        best = (
            search.best(due, average, limit, is_ours & _has_bounds(files, request), budget)
            if expected > limit
            else None
        )
        if best is not None:
            chosen, expected = best
            is_finer = request.is_finer(int(files.sizes[chosen].sum()), files.bytes)
    size = max(1, files.bytes)
    return Choice(np.sort(chosen), search.today / size, expected / size, attainable / size, is_finer)


def _has_bounds(files: DataFiles, request: UpkeepRequest) -> npt.NDArray[np.bool_]:
    """Which files have bounds of each column that counts: others are rewritten once a table keeps bounds."""
    found = np.ones(files.count, np.bool_)
    for column, weight in zip(files.columns, request.weights, strict=True):
        if weight > 0:
            found &= column.bounded | ~column.has_values
    return found


def _rows(files: DataFiles, rows: int, request: UpkeepRequest) -> PartitionRows:
    """Spread the rows; those of files that are read for more than the average lie as those of the others do."""
    found = rows_of(files, rows, request)
    like = files.bytes * found.reach < found.cost(np.arange(files.count))
    return rows_of(files, rows, request, like) if like.any() else found


class _Search:
    """Finds the best of several sets of files.

    Parameters
    ----------
    partition : PartitionRows
        The rows of all files.
    files : DataFiles
        All files.
    request : UpkeepRequest
        What is worth a rewrite.
    """

    def __init__(self, partition: PartitionRows, files: DataFiles, request: UpkeepRequest) -> None:
        self.partition, self.files, self.request = partition, files, request
        self.today = partition.cost(np.arange(files.count))

    @cached_property
    def everything(self) -> tuple[float, npt.NDArray[np.float64]]:
        """What a rewrite of everything makes."""
        return self.rewritten(np.arange(self.files.count))

    def rewritten(
        self, chosen: npt.NDArray[np.int64], *, for_gain: bool = False
    ) -> tuple[float, npt.NDArray[np.float64]]:
        """Predict a rewrite of some files, whose places ascend; see :meth:`PartitionRows.rewritten`."""
        size = int(self.files.sizes[chosen].sum())
        is_finer = for_gain and self.request.is_finer(size, self.files.bytes)
        wanted = self.request.finer_files(size) if is_finer else self.request.expected_files(size)
        return self.partition.rewritten(chosen, wanted, self.request.layout)

    def after(self, chosen: npt.NDArray[np.int64], *, for_gain: bool = False) -> float:
        """Predict what all files cost when some are rewritten, whose places ascend."""
        if not len(chosen):
            return self.today
        return self.today - self.partition.cost(chosen) + self.rewritten(chosen, for_gain=for_gain)[0]

    def best(
        self,
        due: npt.NDArray[np.int64],
        attained: npt.NDArray[np.float64],
        limit: float,
        is_ours: npt.NDArray[np.bool_],
        budget: float,
    ) -> tuple[npt.NDArray[np.int64], float] | None:
        """Find the set that stays furthest below a limit for its bytes; None if none does within the budget.

        A set cannot beat a rewrite of everything, so that sets whose bound is no better than the best found are
        skipped: growing trees is what takes the time.
        """
        order, counts = _candidates(self.files, due, self.partition.reach, attained)
        ends = np.cumsum(self.files.sizes[order])[counts - 1].astype(np.float64)
        is_allowed = (np.cumsum(is_ours[order])[counts - 1] == 0) | (ends <= budget)
        saved = np.cumsum((self.files.sizes * (self.partition.reach - attained))[order])[counts - 1]
        most = (limit - (self.today - saved)) / np.maximum(ends, 1.0)
        found, score = None, 0.0
        if is_allowed[-1]:
            attainable = self.everything[0]
            found, score = (order, attainable), (limit - attainable) / max(1.0, float(ends[-1]))
        for place in np.argsort(-most[:-1], kind="stable").tolist():
            if most[place] <= score:
                break
            if is_allowed[place]:
                chosen = np.sort(order[: counts[place]])
                this = self.after(chosen, for_gain=True)
                worth = (limit - this) / max(1.0, float(ends[place]))
                if this <= limit and worth > score:
                    found, score = (chosen, this), worth
        return found


def _candidates(
    files: DataFiles,
    due: npt.NDArray[np.int64],
    reach: npt.NDArray[np.float64],
    attained: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Order the files: those that are due, then those read for most beside what their rows were read for after."""
    by_excess = _by_excess(reach, attained)
    order = np.concatenate([due, by_excess[~np.isin(by_excess, due)]])
    ends = np.cumsum(files.sizes[order])
    counts = [max(1, len(due))]
    while counts[-1] < files.count:
        enough = int(np.searchsorted(ends, _GROWTH * float(ends[counts[-1] - 1]), "left")) + 1
        counts.append(min(max(counts[-1] + 1, enough), files.count))
    # The first set is known already, or a single file.
    return order, np.array(counts[1:])


def _by_excess(reach: npt.NDArray[np.float64], attained: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Order files by what they are read for beside what their rows were read for after a rewrite of everything."""
    excess = np.divide(reach, attained, out=np.zeros(len(reach)), where=attained > 0)
    return np.argsort(-excess, kind="stable")
