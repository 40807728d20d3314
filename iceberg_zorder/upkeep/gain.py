"""Choose the data files of a partition whose rewrite saves filters the most bytes for each byte rewritten.

``docs/how-it-works.md`` has the rules: step 4 decides on the files that sizes call for, step 5 scores sets of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.upkeep.partition_rows import PartitionRows
from iceberg_zorder.upkeep.upkeep_request import UpkeepRequest

_ROWS_OF_A_FILE = 200
_LEAST_ROWS, _MOST_ROWS = 2_000, 200_000
_LEAST_OF_MANY, _ROWS_IN_ALL = 500, 500_000
_GROWTH = 1.5
_AS_MUCH = 1 + 1e-9
"""So many times as much is the same, of sums that are rounded."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What is chosen of a partition, and its average scan fractions."""

    files: npt.NDArray[np.int64]  # places of files, those that are due and those that are read for most first
    today: float
    expected: float  # after a rewrite of these
    attainable: float  # after a rewrite of all
    is_finer: bool  # whether they are written to half as many files again as usual


def rows_to_spread(expected: Sequence[int]) -> list[int]:
    """Share out the rows that partitions are judged by, by the files that each would be written to.

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
    budget: int,
    rows: int,
    request: UpkeepRequest,
) -> Choice:
    """Choose the files of a partition that are to be rewritten; there is one at least.

    Sizes call for some, of which those that are due are rewritten whatever comes of it. A rewrite for gain may take as
    many bytes as the budget has.

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
    >>> request = UpkeepRequest(1.2, lambda size: size // 100, LayoutRequest(1), [None], [1.0])
    >>> choice = choose(files, *np.zeros((2, 5), bool), 1000, 1000, request)
    >>> choice.files.tolist(), round(choice.today, 2), round(choice.expected, 2)
    ([0, 1, 2], 0.4, 0.2)
    """
    everything = np.arange(files.count)
    partition = PartitionRows(files, rows, request)
    # Bounds hide that columns are correlated: files that are read for more than the average are taken to be as others.
    is_like = files.bytes * partition.reach < partition.cost(everything)
    if is_like.any():
        partition = PartitionRows(files, rows, request, partition.rows_alike(is_like))
    today = partition.cost(everything)
    attainable, attained = partition.rewritten(everything)
    limit = request.max_scan_ratio * attainable
    chosen = np.flatnonzero(called_for)
    expected, is_finer = partition.after(chosen), False
    # Files of the size that is asked for are read more than smaller ones: that is no loss. A file by itself is left to
    # the rules of sizes.
    if expected > min(limit, max(today, attainable)) * _AS_MUCH and files.count > 1:
        chosen = np.flatnonzero(is_due)
        expected = partition.after(chosen)
        if expected > limit:
            attained = partition.average(attained)
            excess = np.divide(partition.reach, attained, out=np.zeros(files.count), where=attained > 0)
            by_excess = np.argsort(-excess, kind="stable")
            order = np.concatenate([chosen, by_excess[~is_due[by_excess]]])
            # At best, the rows of a set are read for what they are after a rewrite of everything.
            at_best = today - np.cumsum((files.sizes * (partition.reach - attained))[order])
            at_best[-1] = attainable
            if found := _best(partition, files.sizes[order], order, at_best, len(chosen), limit, budget):
                chosen, expected = found
                is_finer = partition.is_finer(chosen)
    size = max(1, files.bytes)
    return Choice(chosen, today / size, expected / size, attainable / size, is_finer)


def _best(
    partition: PartitionRows,
    sizes: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    at_best: npt.NDArray[np.float64],
    due: int,
    limit: float,
    budget: int,
) -> tuple[npt.NDArray[np.int64], float] | None:
    """Find the first files of an order, more than those due, that stay furthest below the limit for their bytes."""
    ends = np.cumsum(sizes)
    found, best, count = None, -1.0, max(1, due)
    while count < len(order):
        enough = int(np.searchsorted(ends, _GROWTH * ends[count - 1], "left"))
        count = min(max(count, enough) + 1, len(order))
        size = int(ends[count - 1])
        if size > budget:
            break
        expected = float(at_best[count - 1])
        if count < len(order):
            # Growing trees is what takes the time.
            if (limit - expected) / max(1, size) <= max(best, 0.0):
                continue
            expected = partition.after(np.sort(order[:count]), for_gain=True)
        score = (limit - expected) / max(1, size)
        if expected <= limit and score > best:
            found, best = (order[:count], expected), score
    return found
