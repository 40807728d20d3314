"""Choose the data files of a partition whose rewrite brings filters the most for its bytes.

The files that lie across others most, measured by what a rewrite of everything would leave of them, come first. Taken
from there, ever larger sets are tried, each as large again by half. Of the sets that bring the partition below the
limit, the one is taken that stays furthest below it for its bytes: it is long until the limit is reached again. So
files that an append has spread over the domain are rewritten together as long as that is enough, and with the files
that they lie across when it is not. A set that is a small part of its partition is written to more files, which are
smaller: its rows lie so far apart that a few files were boxes across many of the others.

Files that their sizes call for are rewritten as long as filters read no more than today, or than after a rewrite of
everything; else as many as do no harm. A layout has smaller files, too, which lie far apart, and are read more when
they are made one.

Bounds do not tell all. That one value holds most rows, by which no layout can cut, and that a column follows another,
so that files may be tighter than by each for itself, is learned from what earlier rewrites by the same order wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.upkeep.experience import MATTERS, known_rewrites, missed
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
    runs: npt.NDArray[np.int64],
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
    >>> choice = choose(files, np.zeros(5, bool), np.zeros(5, bool), np.full(5, -1), 1000, request)
    >>> choice.files.tolist(), round(choice.today, 2), round(choice.expected, 2)
    ([0, 1, 2], 0.4, 0.2)
    """
    search = _learned(_Search(rows_of(files, rows, request), files, request), runs, rows)
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
        if expected > limit:
            chosen, expected = search.best(due, average, attainable, limit)
            is_finer = request.is_finer(int(files.sizes[chosen].sum()), files.bytes)
        else:
            chosen, expected = search.most(called, (due, expected), max(expected, attainable) * _AS_MUCH, average)
    size = max(1, files.bytes)
    return Choice(np.sort(chosen), search.today / size, expected / size, attainable / size, is_finer)


def _learned(search: _Search, runs: npt.NDArray[np.int64], rows: int) -> _Search:
    """Search with what the files of earlier rewrites show of the rows."""
    files, request = search.files, search.request
    known = known_rewrites(files, runs, request)
    if not known:
        return search
    like = np.isin(np.arange(files.count), known[0])
    if not like.all():
        alike = _Search(rows_of(files, rows, request, like), files, request)
        search = alike if MATTERS * alike.everything[0] < search.everything[0] else search
    is_within = search.today <= request.max_scan_ratio * search.everything[0]
    return search if is_within else search.expecting(missed(files, known, rows, request))


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
    missed : float, optional
        So many times as much as predicted new files are read for.
    """

    def __init__(self, partition: PartitionRows, files: DataFiles, request: UpkeepRequest, missed: float = 1.0) -> None:
        self.partition, self.files, self.request, self._missed = partition, files, request, missed
        self.today = partition.cost(np.arange(files.count))

    @cached_property
    def everything(self) -> tuple[float, npt.NDArray[np.float64]]:
        """What a rewrite of everything makes."""
        return self.rewritten(np.arange(self.files.count))

    def expecting(self, missed: float) -> _Search:
        """Have new files read for so many times what is predicted of them."""
        found = _Search(self.partition, self.files, self.request, missed)
        cost, reach = self.everything
        found.everything = (cost * missed, reach * missed)
        return found

    def rewritten(
        self, chosen: npt.NDArray[np.int64], *, for_gain: bool = False
    ) -> tuple[float, npt.NDArray[np.float64]]:
        """Predict a rewrite of some files, whose places ascend; see :meth:`PartitionRows.rewritten`."""
        size = int(self.files.sizes[chosen].sum())
        is_finer = for_gain and self.request.is_finer(size, self.files.bytes)
        wanted = self.request.finer_files(size) if is_finer else self.request.expected_files(size)
        cost, reach = self.partition.rewritten(chosen, wanted, self.request.layout)
        return cost * self._missed, reach * self._missed

    def after(self, chosen: npt.NDArray[np.int64], *, for_gain: bool = False) -> float:
        """Predict what all files cost when some are rewritten, whose places ascend."""
        if not len(chosen):
            return self.today
        return self.today - self.partition.cost(chosen) + self.rewritten(chosen, for_gain=for_gain)[0]

    def most(
        self,
        called_for: npt.NDArray[np.int64],
        due: tuple[npt.NDArray[np.int64], float],
        unharmed: float,
        attained: npt.NDArray[np.float64],
    ) -> tuple[npt.NDArray[np.int64], float]:
        """Take as many of the files that are called for, besides what is due, as fewer come of and that do no harm.

        Small files that lie far apart, as a layout may have some, are read more when they are one. Those that lie
        across others most come first.
        """
        by_excess = _by_excess(self.partition.reach, attained)
        wanted = by_excess[np.isin(by_excess, called_for) & ~np.isin(by_excess, due[0])]
        count = len(wanted) * 2 // 3
        while count > 1:
            chosen = np.sort(np.concatenate([due[0], wanted[:count]]))
            if self.request.expected_files(int(self.files.sizes[chosen].sum())) < len(chosen):
                after = self.after(chosen)
                if after <= unharmed:
                    return chosen, after
            count = count * 2 // 3
        return due

    def best(
        self, due: npt.NDArray[np.int64], attained: npt.NDArray[np.float64], attainable: float, limit: float
    ) -> tuple[npt.NDArray[np.int64], float]:
        """Find the set that stays furthest below a limit for its bytes; the one of all files does.

        No set is predicted to leave its files read for less than a rewrite of everything does. Where that were no
        better than what is found already, the set is not looked at: growing trees is what takes the time.
        """
        order, counts = _candidates(self.files, due, self.partition.reach, attained)
        ends = np.cumsum(self.files.sizes[order])[counts - 1].astype(np.float64)
        saved = np.cumsum((self.files.sizes * (self.partition.reach - attained))[order])[counts - 1]
        most = (limit - (self.today - saved)) / np.maximum(ends, 1.0)
        found, after = order, attainable
        score = (limit - attainable) / max(1.0, float(ends[-1]))
        for place in np.argsort(-most[:-1], kind="stable").tolist():
            if most[place] <= score:
                break
            chosen = np.sort(order[: counts[place]])
            this = self.after(chosen, for_gain=True)
            worth = (limit - this) / max(1.0, float(ends[place]))
            if this <= limit and worth > score:
                found, after, score = chosen, this, worth
        return found, after


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
