"""Cut the files of one file group into regions, each of which is rewritten by itself.

A clean cut is a place in a column that no file's bounds span, with files on both sides of it: the rewritten halves
overlap nowhere in that column. A part is cut at the clean cut that halves its bytes best, and its halves again.

A layout of all rows shares its cuts among the columns. So that layouts of regions do so together, a column weighs less
where its region has but a part of all values, for the cut between regions has narrowed it already. What is left of the
price is predicted from the bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.report.ranks import Kept, dense_ranks
from iceberg_zorder.upkeep.partition_rows import PartitionRows
from iceberg_zorder.upkeep.upkeep_request import UpkeepRequest
from iceberg_zorder.upkeep.workload_rows import rows_of

_COARSER = 4
_NEAR = 3
"""A half of a cut across files has a third of the bytes at least, if there is such a place."""


@dataclass(frozen=True)
class RegionSizes:
    """How large regions are.

    Parameters
    ----------
    bound : int
        Above so many bytes a part is cut, at least 1.
    least : int
        Each half of a clean cut has so many bytes at least, 1 or more.
    is_across : bool
        Whether parts above the bound that no clean cut divides are cut all the same, whatever it costs.
    """

    bound: int
    least: int
    is_across: bool


@dataclass(frozen=True, eq=False)
class Region:
    """Files that are rewritten together.

    Parameters
    ----------
    files : ndarray of int64
        Their places, ascending.
    is_clean : bool
        Whether clean cuts alone divide it from all other regions.
    spans : tuple of float, optional
        For each column, the share of all values between its smallest and its largest one, in [0, 1]: so many times as
        much the column weighs in its layout. Empty for all columns alike.
    """

    files: npt.NDArray[np.int64]
    is_clean: bool
    spans: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Regions:
    """What a file group is cut into.

    Parameters
    ----------
    regions : tuple of Region
        The regions, at least one: each file is in one of them.
    expected, in_one : float or None
        Average scan fraction of the files that is expected of a rewrite of the regions, and of one of all files
        together, in [0, 1]; None where nothing can be cut. If there is one region, the former is of what was not cut
        because it would cost too much.
    """

    regions: tuple[Region, ...]
    expected: float | None
    in_one: float | None


def cut_regions(files: DataFiles, rows: int, sizes: RegionSizes, request: UpkeepRequest) -> Regions:
    """Cut a file group into regions.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.fit import LayoutRequest
    >>> from iceberg_zorder.layout.keys import encode
    >>> ends = [encode(pa.array(each), "long") for each in ([0, 8, 50, 58], [9, 19, 59, 69])]
    >>> bounds = ColumnBounds(ClusteringColumn(("a",), "long"), *ends, np.ones(4))
    >>> files = DataFiles(np.zeros(4, int), np.full(4, 100), np.full(4, 100), (bounds,))
    >>> request = UpkeepRequest(
    ...     1.05, lambda size: size // 100, lambda size: size // 67, LayoutRequest(1), [None], [1.0]
    ... )
    >>> cut = cut_regions(files, 1000, RegionSizes(100, 100, False), request)
    >>> [(each.files.tolist(), each.is_clean) for each in cut.regions]
    [([0, 1], True), ([2, 3], True)]
    >>> cut = cut_regions(files, 1000, RegionSizes(100, 100, True), request)
    >>> [(each.files.tolist(), each.is_clean) for each in cut.regions]
    [([0], False), ([1], False), ([2], False), ([3], False)]
    """
    cutter = _Cutter(files, request)
    found = cutter.cut(sizes)
    if len(found) == 1:
        return Regions(found, None, None)
    partition = rows_of(files, rows, request)
    prices = _Prices(partition, files, request)
    whole = prices.expected(cutter.whole)
    while True:
        found = tuple(replace(each, spans=partition.spans(each.files)) for each in found)
        expected = prices.expected(found)
        if sizes.is_across or expected <= request.max_scan_ratio * whole:
            return Regions(found, expected, whole)
        sizes = replace(sizes, bound=_COARSER * sizes.bound)
        found = cutter.cut(sizes)
        if len(found) == 1:
            return Regions(found, expected, whole)


def narrowed(layout: LayoutRequest, spans: Sequence[float], prefix: int) -> LayoutRequest:
    """Have a layout weigh its columns by what share of all values there is between them.

    Examples
    --------
    >>> narrowed(LayoutRequest(1, weights=(3.0, 1.0)), (0.7, 0.5, 1.0), 1).weights
    (1.5, 1.0)
    """
    if not spans:
        return layout
    weights = layout.weights or (1.0,) * (len(spans) - prefix)
    return replace(layout, weights=tuple(span * weight for span, weight in zip(spans[prefix:], weights, strict=True)))


class _Prices:
    """Predicts what rewrites cost; what stays a region when others become larger is predicted once."""

    def __init__(self, partition: PartitionRows, files: DataFiles, request: UpkeepRequest) -> None:
        self._partition, self._files, self._request = partition, files, request
        self._known: dict[bytes, float] = {}

    def expected(self, regions: Sequence[Region]) -> float:
        """Tell what scan fraction is expected of a rewrite of regions; of the same files they have the same spans."""
        cost = 0.0
        for region in regions:
            key = region.files.tobytes()
            if key not in self._known:
                self._known[key] = self._cost(region)
            cost += self._known[key]
        return cost / max(1, self._files.bytes)

    def _cost(self, region: Region) -> float:
        request, prefix = self._request, len(self._request.layout.leading_orders)
        count = request.expected_files(int(self._files.sizes[region.files].sum()))
        return self._partition.rewritten(region.files, count, narrowed(request.layout, region.spans, prefix))[0]


class _Cutter:
    """Cuts files by their bounds."""

    def __init__(self, files: DataFiles, request: UpkeepRequest) -> None:
        self._sizes = files.sizes.astype(np.int64)
        each = zip(files.columns, request.kept, request.weights, strict=True)
        self._columns = [_extents(bounds, kept) for bounds, kept, weight in each if weight > 0]
        self._all = np.arange(files.count)

    @property
    def whole(self) -> tuple[Region, ...]:
        """All files as one region."""
        return (Region(self._all, True),)

    def cut(self, sizes: RegionSizes) -> tuple[Region, ...]:
        """Cut all files."""
        return tuple(self._regions(sizes))

    def _regions(self, sizes: RegionSizes) -> Iterator[Region]:
        parts = [Region(self._all, True)]
        while parts:
            part = parts.pop()
            halves, is_clean = None, part.is_clean
            if self._sizes[part.files].sum() > sizes.bound:
                halves = self._clean_cut(part.files, sizes.least)
                if halves is None and sizes.is_across:
                    halves, is_clean = self._cut_across(part.files), False
            if halves is None:
                yield part
            else:
                parts += [Region(np.sort(half), is_clean) for half in reversed(halves)]

    def _clean_cut(
        self, files: npt.NDArray[np.int64], least: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
        """Cut some files at the place that halves their bytes best, of those that no file spans; None without any."""
        best, found = least - 1, None
        for lower, upper in self._columns:
            order = files[np.argsort(lower[files], kind="stable")]
            is_clean = np.maximum.accumulate(upper[order])[:-1] < lower[order][1:]
            halves = np.where(is_clean, self._lesser_halves(order), -1)
            place = int(np.argmax(halves)) if len(halves) else 0
            if len(halves) and halves[place] > best:
                best, found = int(halves[place]), (order[: place + 1], order[place + 1 :])
        return found

    def _cut_across(self, files: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
        """Cut some files between their middles: near the half of their bytes, where the fewest bytes span it."""
        best, found = None, None
        for lower, upper in self._columns if len(files) > 1 else ():
            order = files[np.argsort(lower[files] + upper[files], kind="stable")]
            halves = self._lesser_halves(order)
            spanning = self._spanning(order, lower, upper)
            is_near = _NEAR * halves >= self._sizes[files].sum()
            if not is_near.any():
                is_near, spanning = halves >= 0, np.full(len(halves), np.iinfo(np.int64).max)
            least = spanning[is_near].min()
            place = int(np.argmax(np.where(is_near & (spanning == least), halves, -1)))
            worth = (-int(least), int(halves[place]))
            if best is None or worth > best:
                best, found = worth, (order[: place + 1], order[place + 1 :])
        return found

    def _lesser_halves(self, order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Tell for each place between files how many bytes the lesser side has."""
        ends = np.cumsum(self._sizes[order])
        halves: npt.NDArray[np.int64] = np.minimum(ends[:-1], ends[-1] - ends[:-1])
        return halves

    def _spanning(
        self, order: npt.NDArray[np.int64], lower: npt.NDArray[np.int64], upper: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Tell for each place between files, half way between their middles, how many bytes span it."""
        middles = lower[order] + upper[order]
        places = middles[:-1] + middles[1:]
        wide = order[lower[order] < upper[order]]
        begun = self._bytes_up_to(4 * lower[wide], wide, places, "left")
        ended = self._bytes_up_to(4 * upper[wide], wide, places, "right")
        return begun - ended

    def _bytes_up_to(
        self,
        values: npt.NDArray[np.int64],
        files: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64],
        side: Literal["left", "right"],
    ) -> npt.NDArray[np.int64]:
        order = np.argsort(values, kind="stable")
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._sizes[files[order]])])
        found: npt.NDArray[np.int64] = sums[np.searchsorted(values[order], places, side)]
        return found


def _extents(bounds: ColumnBounds, kept: Kept | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rank the bounds of a column: a file without values lies above all values, one without bounds spans everything.

    New files have what has no value last. So files without values come together, on the side of the largest values.
    """
    lower, upper = dense_ranks([bounds.lower, bounds.upper], kept)
    # Without any bounds there is width, too, or else cuts in that column would seem to cost nothing.
    above = 1 + max(int(lower.max(initial=0)), int(upper.max(initial=0)))
    lower = np.where(bounds.bounded, lower, np.where(bounds.has_values, 0, above))
    # Of damaged bounds the lower one may be the larger.
    upper = np.maximum(lower, np.where(bounds.bounded, upper, above))
    return lower, upper
