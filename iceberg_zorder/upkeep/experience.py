"""What the files of earlier rewrites show of the rows of a partition, which bounds do not tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.upkeep.upkeep_request import UpkeepRequest, is_small_part
from iceberg_zorder.upkeep.workload_rows import rows_of

MATTERS = 7 / 6
"""By less, differences are those of the predictions themselves, and of few files by chance."""
_LEAST_OF_A_RUN = 8


def known_rewrites(
    files: DataFiles, runs: npt.NDArray[np.int64], request: UpkeepRequest
) -> list[npt.NDArray[np.int64]]:
    """Find the earlier rewrites whose files show what another one brings.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.fit import LayoutRequest
    >>> from iceberg_zorder.layout.keys import encode
    >>> from iceberg_zorder.report.data_files import ColumnBounds
    >>> starts, count = list(range(0, 1600, 100)), np.full(16, 100)
    >>> x = [encode(pa.array(each), "long") for each in ([0] * 16, [1599] * 16)]
    >>> y = [encode(pa.array(each), "long") for each in (starts, [start + 99 for start in starts])]
    >>> columns = [(ClusteringColumn((name,), "long"), ends) for name, ends in (("x", x), ("y", y))]
    >>> files = DataFiles(
    ...     np.zeros(16, int), count, count, tuple(ColumnBounds(column, *ends, np.ones(16)) for column, ends in columns)
    ... )
    >>> request = UpkeepRequest(
    ...     1.2, lambda size: size // 100, lambda size: size // 67, LayoutRequest(1), [None, None], [1.0, 1.0]
    ... )
    >>> known = known_rewrites(files, np.zeros(16, int), request)
    >>> [places.tolist() == list(range(16)) for places in known], round(missed(files, known, 4000, request), 1)
    ([True], 2.1)
    """
    written = [np.flatnonzero(runs == run) for run in range(int(runs.max()) + 1)]
    known = [places for places in written if _shows(files, places, request)]
    return sorted(known, key=lambda places: -int(files.sizes[places].sum()))


def missed(files: DataFiles, known: Sequence[npt.NDArray[np.int64]], rows: int, request: UpkeepRequest) -> float:
    """Tell how many times as much new files are read for as is predicted of them."""
    found = min(_times_predicted(files.take(places), rows, request.of(places)) for places in known)
    return found if found > MATTERS else 1.0


def _shows(files: DataFiles, written: npt.NDArray[np.int64], request: UpkeepRequest) -> bool:
    """Tell whether files that a rewrite wrote show what another one brings: enough of them, with all their bounds."""
    mine = files.take(written)
    if mine.count < _LEAST_OF_A_RUN or is_small_part(mine.bytes, files.bytes):
        return False
    pairs = zip(mine.columns, request.weights, strict=True)
    return all(bool((of.bounded | ~of.has_values).all()) for of, weight in pairs if weight)


def _times_predicted(files: DataFiles, rows: int, request: UpkeepRequest) -> float:
    """Tell how many times as much the files of a rewrite are read for as is predicted of a rewrite to as many."""
    every = np.arange(files.count)
    partition = rows_of(files, rows, request)
    predicted, _ = partition.rewritten(every, files.count, request.layout)
    return partition.cost(every) / predicted if predicted else 1.0
