"""Predict the scan fraction of files that layouts will make, from samples of their rows; the Java core has the twin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.layout.keys import VALUE, KeyColumn
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample

Kept = Callable[[bytes], bytes]
"""What lower/upper bounds keep of a key of bytes."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class SampledGroup:
    """A file group whose rows a layout will send to files.

    Parameters
    ----------
    layout : Layout
        The layout.
    fitted : Sample
        The sample that it was fitted to.
    held_out : Sample
        Another sample of the same rows; without rows, if the first one is of all there are.
    rows, size : int
        The rows and the bytes of the group, 0 or more.
    """

    layout: Layout
    fitted: Sample
    held_out: Sample
    rows: int
    size: int

    @property
    def samples(self) -> tuple[Sample, Sample]:
        """Both samples."""
        return self.fitted, self.held_out


def scan_prediction(groups: Sequence[SampledGroup], ordinal: int, kept: Kept | None = None) -> float | None:
    """Predict the scan fraction of ``column = value``, on average over the values of the rows.

    The rows whose values are looked for have not made the layout: of rows that have, each lies in a box that was drawn
    around it. The bounds of a file are taken from all sampled rows that it gets, its bytes from its share of them.

    Parameters
    ----------
    groups : sequence of SampledGroup
        The file groups, at least one, all of which a filter on the column alone has to look at.
    ordinal : int
        The column's place in the samples.
    kept : callable, optional
        What bounds keep of a key, for columns of bytes; all of it by default.

    Returns
    -------
    float or None
        In [0, 1], lower is better; None if no sampled row has a value.

    Examples
    --------
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.fit import LayoutRequest, fit
    >>> from iceberg_zorder.layout.keys import encode
    >>> sample = Sample((encode(pa.array(range(400)), "long"),))
    >>> layout = fit([ClusteringColumn(("a",), "long")], sample, LayoutRequest(files=4))
    >>> nothing = Sample((encode(pa.array([], pa.int64()), "long"),))
    >>> scan_prediction([SampledGroup(layout, sample, nothing, 400, 8000)], 0)
    0.25
    """
    ranks = _ranks([sample.columns[ordinal] for group in groups for sample in group.samples], kept)
    count = max((int(each.max(initial=-1)) for each in ranks), default=-1) + 1
    steps = np.zeros(count + 1)
    always = 0.0
    for place, group in enumerate(groups):
        if group.fitted.rows == 0:
            always += group.size
        else:
            _add_files(steps, group, ranks[2 * place : 2 * place + 2])
    read = always + np.cumsum(steps[:count])
    total = weights = 0.0
    for place, group in enumerate(groups):
        is_held_out = group.held_out.rows > 0
        looked_for = ranks[2 * place + is_held_out]
        found = looked_for[looked_for >= 0]
        # A row of a group that was sampled thinly stands for more of them.
        weight = group.rows / max(1, len(looked_for))
        total += weight * float(read[found].sum())
        weights += weight * len(found)
    size = sum(group.size for group in groups)
    return total / weights / size if weights and size else None


def _add_files(steps: npt.NDArray[np.float64], group: SampledGroup, ranks: Sequence[npt.NDArray[np.int64]]) -> None:
    """Add the bytes of each file at the lowest rank that it holds, and take them away after the highest."""
    files = group.layout.files
    low = np.full(files, np.iinfo(np.int64).max)
    high = np.full(files, -1, np.int64)
    rows = np.zeros(files, np.int64)
    for sample, of_sample in zip(group.samples, ranks, strict=True):
        # Any number that differs from row to row: where rows are told apart by nothing else, they are spread.
        tie_breakers = (np.arange(sample.rows, dtype=np.uint64) * _GOLDEN).view(np.int64)
        file = group.layout.file(sample, tie_breakers)
        rows += np.bincount(file, minlength=files)
        has_value = of_sample >= 0
        np.minimum.at(low, file[has_value], of_sample[has_value])
        np.maximum.at(high, file[has_value], of_sample[has_value])
    sizes = rows * (group.size / (group.fitted.rows + group.held_out.rows))
    known = high >= 0
    np.add.at(steps, low[known], sizes[known])
    np.add.at(steps, high[known] + 1, -sizes[known])


def _ranks(columns: Sequence[KeyColumn], kept: Kept | None) -> list[npt.NDArray[np.int64]]:
    """Rank the values of a column's samples together: equal values have one rank, and -1 is no value."""
    states = np.concatenate([column.states for column in columns])
    values: pa.Array = pa.concat_arrays([_values(column, kept) for column in columns])
    ranks = np.full(len(states), -1, np.int64)
    if len(values):
        ranks[states == VALUE] = pc.rank(values, tiebreaker="dense").to_numpy().astype(np.int64) - 1
    ends = np.cumsum([column.rows for column in columns])
    return np.split(ranks, ends[:-1])


def _values(column: KeyColumn, kept: Kept | None) -> pa.Array:
    values = column.values
    if isinstance(values, np.ndarray):
        return pa.array(values, pa.int64())
    return values if kept is None else pa.array([kept(each.as_py()) for each in values], pa.large_binary())
