"""The rows of a partition as its files' bounds spread them: how much filters read, today and after a rewrite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.report.ranks import Kept, dense_ranks
from iceberg_zorder.report.scan_prediction import SampledGroup
from iceberg_zorder.report.spread_rows import spread_rows

LEAST_OF_A_FILE = 40
"""With fewer rows, a new file would look tighter than it is to be: fewer and larger ones are predicted, and scaled."""
_ROOT_STEPS = 64
_MOST_LOOKED_AT = 100_000_000


@dataclass(frozen=True, eq=False)
class RankedColumn:
    """A column of the rows.

    Parameters
    ----------
    weight : float
        What it counts in averages, 0 or more.
    ranks : ndarray of int64, shape (rows,)
        Ranks of the rows' values among these and the bounds of the files; -1 without a value.
    below : ndarray of int64
        For each rank and one more, the rows whose values are below.
    """

    weight: float
    ranks: npt.NDArray[np.int64]
    below: npt.NDArray[np.int64]

    def share(self, lower: npt.NDArray[np.int64], upper: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Tell what share of the values lies between bounds, both included; none where the upper one is -1."""
        found: npt.NDArray[np.float64] = np.where(upper < 0, 0, self.below[upper + 1] - self.below[lower]) / self.rows
        return found

    def ends(
        self, rows: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Find the smallest and the largest rank of each of several sets of rows; the last one and -1 without values.

        The sets stand one after the other, and begin at ``starts``.
        """
        ranks = self.ranks[rows]
        low = np.minimum.reduceat(np.where(ranks < 0, len(self.below) - 2, ranks), starts)
        return low, np.maximum.reduceat(ranks, starts)

    @property
    def rows(self) -> int:
        """Rows that have a value, 1 if none has."""
        return max(1, int(self.below[-1]))


@dataclass(frozen=True, eq=False)
class NewFiles:
    """The files that a rewrite makes of some rows.

    Parameters
    ----------
    rows : ndarray of int64
        The rows, one file after the other.
    starts : ndarray of int64, shape (new files,)
        Where those of each file begin.
    share : float
        So many times the number of files that there are to be, in (0, 1].
    """

    rows: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    share: float


class PartitionRows:
    """The rows of a partition, made of nothing but its files' bounds.

    What a file costs is its bytes by the share of the rows that it is read for by ``column = value`` with the value of
    each of them, averaged over the columns: summed up over all files, that is the bytes which such filters read.

    Parameters
    ----------
    files : DataFiles
        The data files, at least one. Of a column without any bounds nothing is known, but that every file with values
        is read for it, and that a layout cuts it: its rows get values in an order that no other column follows.
    rows : int
        How many rows are spread, about.
    kept : sequence of (callable or None)
        For each column, what new lower/upper bounds keep of a key; None where it is all.
    weights : sequence of float
        For each column, what it counts in averages, 0 or more: 0 where new files get no bounds.
    like : ndarray of bool, shape (files,), optional
        Files whose rows show how columns go together: the rows of each other file are taken to lie as those of these
        that are within its bounds, where there are as many, and it takes no more than 100,000,000 looks at a row.

    Attributes
    ----------
    reach : ndarray of float64, shape (files,)
        For each file, the share of the rows that it is read for, in [0, 1].
    """

    def __init__(
        self,
        files: DataFiles,
        rows: int,
        kept: Sequence[Kept | None],
        weights: Sequence[float],
        like: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        is_open = [bounds.is_open for bounds in files.columns]
        files = replace(files, columns=tuple(each.spanned() if each.is_open else each for each in files.columns))
        kept = [None if each else cut for each, cut in zip(is_open, kept, strict=True)]
        self._files = files
        self._names = [bounds.column for bounds in files.columns]
        self._sample, self._places = spread_rows(files, rows)
        if like is not None:
            self._sample = self._sample.take(_rows_alike(self._sample, self._places, files, like))
        self._columns: list[RankedColumn] = []
        self.reach = np.zeros(files.count)
        for bounds, keys, cut, weight in zip(files.columns, self._sample.columns, kept, weights, strict=True):
            lower, upper, ranks = dense_ranks([bounds.lower, bounds.upper, keys], cut)
            column = _ranked(weight, lower, upper, ranks)
            self._columns.append(column)
            self.reach += column.weight * _share_of_files(column, bounds, lower, upper)
        self._weight = float(np.cumsum([column.weight for column in self._columns])[-1])
        self.reach /= self._weight or 1.0

    def cost(self, files: npt.NDArray[np.int64]) -> float:
        """Add up what some files cost, by their places."""
        return _sum(self._files.sizes[files] * self.reach[files])

    def average(self, of_rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Average what each row has over the rows of each file; 0 for a file without rows."""
        rows = np.bincount(self._places, minlength=self._files.count)
        found: npt.NDArray[np.float64] = np.bincount(self._places, of_rows, self._files.count) / np.maximum(rows, 1)
        return found

    def rewritten(
        self, files: npt.NDArray[np.int64], count: int, request: LayoutRequest
    ) -> tuple[float, npt.NDArray[np.float64]]:
        """Predict what a rewrite of some files makes."""
        is_mine = np.zeros(self._files.count, np.bool_)
        is_mine[files] = True
        rows = np.flatnonzero(is_mine[self._places])
        size = int(self._files.sizes[files].sum())
        coarse = max(1, min(count, len(rows) // LEAST_OF_A_FILE))
        file = self._new_files(rows, replace(request, files=coarse))
        order = np.argsort(file, kind="stable")
        starts = np.flatnonzero(np.diff(file[order], prepend=-1))
        counts = np.diff(starts, append=len(rows))
        new = NewFiles(rows[order], starts, coarse / count)
        reach = self._reach_of_new(new) if len(rows) else np.zeros(0)
        of_row = np.empty(len(rows))
        of_row[order] = np.repeat(reach, counts)
        return _sum(counts * (size / max(1, len(rows))) * reach), of_row

    def _reach_of_new(self, new: NewFiles) -> npt.NDArray[np.float64]:
        """Tell for what share of the rows each new file is read; there is a row at least."""
        counts = np.diff(new.starts, append=len(new.rows))
        # So many even draws of an interval span (n - 1) / (n + 1) of it on average.
        spans = np.where(counts > 1, (counts + 1) / np.maximum(counts - 1, 1), 1.0)
        reach = np.zeros(len(new.starts))
        for column in self._columns:
            low, high = column.ends(new.rows, new.starts)
            of_values = column.share(low, high)
            reach += column.weight * np.where(low < high, np.minimum(of_values * spans, 1.0), of_values)
        return reach / (self._weight or 1.0) * self._smaller(new.share)

    def _smaller(self, share: float) -> float:
        """Tell so many times what extent files have that are so many times as large."""
        return _root(share, sum(each.weight > 0 for each in self._columns))

    def _new_files(self, rows: npt.NDArray[np.int64], request: LayoutRequest) -> npt.NDArray[np.int64]:
        """Find the new file of each row of a rewrite."""
        if request.files == 1:
            return np.zeros(len(rows), np.int64)
        mine = self._sample.take(rows)
        layout = self._fitted(mine.take(np.arange(0, len(rows), 2)), request)
        return SampledGroup(layout, mine, mine, 0, 0).files_of(mine)

    def _fitted(self, sample: Sample, request: LayoutRequest) -> Layout:
        return fit(self._names, sample, request)


def _rows_alike(
    sample: Sample, places: npt.NDArray[np.int64], files: DataFiles, like: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Find for each row the one that it is taken to lie as: itself, or for other files evenly one of those inside."""
    found, known, others = np.arange(len(places)), np.flatnonzero(like[places]), np.flatnonzero(~like)
    if len(known) * len(others) > _MOST_LOOKED_AT:
        return found
    ranks = [
        dense_ranks([bounds.lower, bounds.upper, keys.take(known)], None)
        for bounds, keys in zip(files.columns, sample.columns, strict=True)
    ]
    bounded, may_lack = ([*each] for each in zip(*((of.bounded, of.valued < 1) for of in files.columns), strict=True))
    for file in others.tolist():
        is_inside = np.ones(len(known), np.bool_)
        for (lower, upper, of_rows), is_bounded, lacks in zip(ranks, bounded, may_lack, strict=True):
            if is_bounded[file]:
                # Rows without a value lie in any file that has such rows.
                is_inside &= ((lower[file] <= of_rows) & (of_rows <= upper[file])) | ((of_rows < 0) & lacks[file])
        inside = known[is_inside]
        rows = slice(*np.searchsorted(places, [file, file + 1]).tolist())
        count = rows.stop - rows.start
        if count <= len(inside):
            found[rows] = inside[(2 * np.arange(count) + 1) * len(inside) // (2 * max(1, count))]
    return found


def _ranked(
    weight: float, lower: npt.NDArray[np.int64], upper: npt.NDArray[np.int64], ranks: npt.NDArray[np.int64]
) -> RankedColumn:
    found = ranks[ranks >= 0]
    count = 1 + max(int(each.max(initial=0)) for each in (lower, upper, ranks))
    below = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(found, minlength=count))])
    return RankedColumn(weight if len(found) else 0.0, ranks, below)


def _share_of_files(
    column: RankedColumn, bounds: ColumnBounds, lower: npt.NDArray[np.int64], upper: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Tell for what share of the rows each file is read; without bounds it is for all, without values for none."""
    inside = column.share(np.maximum(lower, 0), upper)
    return np.where(bounds.bounded, inside, np.where(bounds.has_values, 1.0, 0.0))


def _sum(values: npt.NDArray[np.float64]) -> float:
    # In their order, as Java does, where numpy's sum would take an order of its own.
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def _root(share: float, degree: int) -> float:
    """Compute the root of a share in (0, 1] by Newton's method, which Java computes alike.

    A file that is cut into as many boxes has extents that are smaller by this factor, if they are so in each column.
    """
    if share == 1 or degree < 2:
        return share
    root = 1.0
    for _ in range(_ROOT_STEPS):
        power = 1.0
        for _ in range(degree - 1):
            power *= root
        root -= (power * root - share) / (degree * power)
    return root
