"""Scan fractions, of files with bounds and of files that layouts will make; ``ScanMeasurement.java`` does the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.keys import Beginning, KeyColumn
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.metrics.clustering_report import QueryRead, WorkloadRead
from iceberg_zorder.metrics.data_files import ColumnBounds, dense_ranks
from iceberg_zorder.metrics.scan_cost import mean_cost, root, scan_cost

_COSTLIEST = 5


def read_of_rows(bounds: ColumnBounds, sizes: npt.NDArray[np.int64], rows: KeyColumn) -> FilterRead | None:
    """Average what ``column = value`` reads over the values of rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> lower, upper, rows = (encode(pa.array(each), "long") for each in ([0, 4, None], [3, 9, None], [1, 5]))
    >>> bounds = ColumnBounds(ClusteringColumn(("a",), "long"), lower, upper, np.ones(3))
    >>> read_of_rows(bounds, np.array([10, 10, 20]), rows)
    FilterRead(fraction=0.75, files=2.0)
    """
    return filter_read([BoundedRows(bounds, sizes, rows, rows.rows)])


@dataclass(frozen=True, eq=False)
class BoundedRows:
    """The data files of a file group, existing or predicted, and sampled rows of the group."""

    bounds: ColumnBounds  # of the data files
    sizes: npt.NDArray[np.int64]  # bytes of the data files, shape (files,)
    values: KeyColumn  # the keys of sampled rows of the group
    rows: int  # the number of rows of the group


@dataclass(frozen=True)
class FilterRead:
    """What a filter ``column = value`` reads on average."""

    fraction: float  # the share of the bytes, in [0, 1]
    files: float  # the number of data files, 0 or more


def filter_read(groups: Sequence[BoundedRows], kept: Beginning | None = None) -> FilterRead | None:
    """Average what ``column = value`` reads among the data files of file groups, over values of their rows.

    Each value is looked for in the files of all groups, because a filter on the column alone reads all partitions. To
    compare today's files with predicted ones, pass the same rows. Returns None if no row has a value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> def group(lower, upper, values, rows):
    ...     low, high, found = (encode(pa.array(each), "long") for each in (lower, upper, values))
    ...     bounds = ColumnBounds(ClusteringColumn(("a",), "long"), low, high, np.ones(len(lower)))
    ...     return BoundedRows(bounds, np.full(len(lower), 10), found, rows)
    >>> filter_read([group([0, 4], [3, 9], [1, 2], 20), group([0], [5], [5], 10)])
    FilterRead(fraction=0.6666666666666666, files=2.0)
    """
    if not groups:
        return None
    ranks = dense_ranks(
        [keys for group in groups for keys in (group.bounds.lower, group.bounds.upper, group.values)], kept
    )
    # By bytes, and by files.
    steps = np.zeros((2, 2 + max(int(each.max(initial=-1)) for each in ranks)), np.int64)
    always = np.zeros((2, 1), np.int64)
    for group, lower, upper in zip(groups, ranks[::3], ranks[1::3], strict=True):
        bounded, unbounded = group.bounds.bounded, group.bounds.has_values & ~group.bounds.bounded
        for of, counts in zip(steps, (group.sizes, np.ones_like(group.sizes)), strict=True):
            np.add.at(of, lower[bounded], counts[bounded])
            np.add.at(of, upper[bounded] + 1, -counts[bounded])
        always += np.array([[group.sizes[unbounded].sum()], [unbounded.sum()]])
    read = (np.cumsum(steps, axis=1) + always).astype(np.float64)
    totals, weights = [0.0, 0.0], 0.0
    for group, values in zip(groups, ranks[2::3], strict=True):
        values_found = values[values >= 0]
        weight = group.rows / max(1, len(values))
        # Summed up in their order, as Java does, where numpy's sum would take an order of its own.
        for place, of in enumerate(read if len(values_found) else ()):
            totals[place] += weight * float(np.cumsum(of[values_found])[-1])
        weights += weight * len(values_found)
    size = sum(int(group.sizes.sum()) for group in groups)
    if not weights or not size:
        return None
    return FilterRead(min(1.0, totals[0] / (weights * size)), totals[1] / weights)


def mean_filter_cost(
    reads: Sequence[FilterRead], weights: Sequence[float], size: int, files: int, open_cost: int
) -> float:
    """Return what filters cost on average, by weight, in ``size`` bytes of so many files.

    Examples
    --------
    >>> mean_filter_cost([FilterRead(0.5, 2.0), FilterRead(1.0, 4.0)], [3, 1], 1000, 64, 320)
    2065.0
    """
    costs = [scan_cost(each.fraction * size, each.files, files, open_cost) for each in reads]
    return mean_cost(costs, weights)


def workload_read(
    queries: Sequence[tuple[str, float]], matches: npt.NDArray[np.bool_], sizes: npt.NDArray[np.int64]
) -> WorkloadRead:
    """Return what queries read in total.

    Examples
    --------
    >>> queries = [("a = 1", 3.0), ("TRUE", 1.0)]
    >>> found = workload_read(queries, np.array([[True, False], [True, True]]), np.array([10, 30]))
    >>> found.scan_fraction, found.average_file_count, [each.filter for each in found.costliest]
    (0.4375, 1.25, ['TRUE', 'a = 1'])
    """
    weights = np.array([weight for _, weight in queries])
    # Summed up in their order, as rewrites do.
    total = float(np.cumsum(weights)[-1])
    size = int(sizes.sum())
    fractions = (matches @ sizes) / size if size else np.zeros(len(queries))
    files = matches.sum(axis=1)
    first = np.argsort(-weights * fractions, kind="stable")[:_COSTLIEST].tolist() if size else []
    return WorkloadRead(
        len(queries),
        float(np.cumsum(weights * fractions)[-1]) / total if size else None,
        float(np.cumsum(weights * files)[-1]) / total,
        tuple(
            QueryRead(queries[at][0], float(weights[at]) / total, float(fractions[at]), int(files[at])) for at in first
        ),
    )


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_PARTS = 1 << 16
"""Files are counted in so many parts, because sums of integers are the same in any order, and so in Java."""


_LEAST_OF_A_FILE = 40
"""The least spread rows of a predicted file. With fewer rows a file would look tighter than it will be."""


def coarse(files: int, rows: int) -> int:
    """Return how many files a layout has that stands for ``files`` ones, if it is fitted to ``rows`` spread rows.

    Examples
    --------
    >>> coarse(64, 12_800), coarse(20_000, 40_000), coarse(2, 5)
    (64, 1000, 1)
    """
    return max(1, min(files, rows // _LEAST_OF_A_FILE))


@dataclass(frozen=True, eq=False)
class LaidOutSample:
    """A sampled file group, and the layout that divides its rows among files."""

    layout: Layout
    fitted: Sample  # the sample that the layout was fitted to
    held_out: Sample  # a second sample of the same rows; empty if the first one has all of them
    rows: int  # of the group, 0 or more
    size: int  # bytes of the group, 0 or more
    # The number of files that the group is written to, at least that of the layout: a file of the layout may stand for
    # several.
    files: int

    @property
    def samples(self) -> tuple[Sample, Sample]:
        """Both samples."""
        return self.fitted, self.held_out

    def share(self, whole: int, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the group's rows or bytes, in integers, for files with ``rows`` sampled rows."""
        # The sums of whole ones are the same in any order, and so in Java.
        return np.rint(rows * float(whole) / max(1, self.fitted.rows + self.held_out.rows)).astype(np.int64)

    def files_of(self, sample: Sample) -> npt.NDArray[np.int64]:
        """Return the file of every row of one of the samples."""
        # A distinct number for each row spreads rows with equal positions.
        tie_breakers = (np.arange(sample.rows, dtype=np.uint64) * _GOLDEN).view(np.int64)
        return self.layout.file(sample, tie_breakers)


def scan_prediction(groups: Sequence[LaidOutSample], ordinal: int, kept: Beginning | None = None) -> FilterRead | None:
    """Predict what ``column = value`` reads, on average over the values of the rows.

    The values come from held-out rows, because the layout's boxes were drawn around the fitted rows. A file's bounds
    come from all of its sampled rows, its bytes from its share of them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.fit import LayoutRequest, fit
    >>> from iceberg_zorder.layout.keys import encode
    >>> sample = Sample((encode(pa.array(range(400)), "long"),))
    >>> layout = fit([ClusteringColumn(("a",), "long")], sample, LayoutRequest(files=4))
    >>> nothing = Sample((encode(pa.array([], pa.int64()), "long"),))
    >>> scan_prediction([LaidOutSample(layout, sample, nothing, 400, 8000, 4)], 0)
    FilterRead(fraction=0.25, files=1.0)
    """
    ranks = dense_ranks([sample.columns[ordinal] for group in groups for sample in group.samples], kept)
    count = max((int(each.max(initial=-1)) for each in ranks), default=-1) + 1
    # By bytes, and by parts of files.
    steps = np.zeros((2, count + 1), np.int64)
    always = np.zeros((2, 1), np.int64)
    size = 0
    for place, group in enumerate(groups):
        if group.fitted.rows == 0:
            always += np.array([[group.size], [group.files * _PARTS]])
            size += group.size
        else:
            size += _add_files(steps, group, ranks[2 * place : 2 * place + 2])
    read = (always + np.cumsum(steps[:, :count], axis=1)).astype(np.float64)
    totals, weights = [0.0, 0.0], 0.0
    for place, group in enumerate(groups):
        is_held_out = group.held_out.rows > 0
        looked_for = ranks[2 * place + is_held_out]
        values_found = looked_for[looked_for >= 0]
        # A row of a group that was sampled thinly stands for more of them.
        weight = group.rows / max(1, len(looked_for))
        # Summed up in their order, as Java does, where numpy's sum would take an order of its own.
        for kind, of in enumerate(read if len(values_found) else ()):
            totals[kind] += weight * float(np.cumsum(of[values_found])[-1])
        weights += weight * len(values_found)
    if not weights or not size:
        return None
    return FilterRead(min(1.0, totals[0] / (weights * size)), totals[1] / weights / _PARTS)


def _add_files(steps: npt.NDArray[np.int64], group: LaidOutSample, ranks: Sequence[npt.NDArray[np.int64]]) -> int:
    """Add each file's bytes and parts at its lowest rank, and subtract them after its highest rank.

    Returns the bytes of all files.
    """
    files = group.layout.files
    low = np.full(files, np.iinfo(np.int64).max)
    high = np.full(files, -1, np.int64)
    rows = np.zeros(files, np.int64)
    for sample, of_sample in zip(group.samples, ranks, strict=True):
        file = group.files_of(sample)
        rows += np.bincount(file, minlength=files)
        has_value = of_sample >= 0
        np.minimum.at(low, file[has_value], of_sample[has_value])
        np.maximum.at(high, file[has_value], of_sample[has_value])
    sizes = group.share(group.size, rows)
    known = high >= 0
    # Of a file that stands for several, a filter reads some, or all if they have the same value.
    share = np.where(low < high, root(files / group.files, len(group.layout.columns)), 1.0)
    for of, counts in zip(steps, (sizes * share, share * (_PARTS * (group.files / files))), strict=True):
        read = np.rint(counts[known]).astype(np.int64)
        np.add.at(of, low[known], read)
        np.add.at(of, high[known] + 1, -read)
    return int(sizes.sum())
