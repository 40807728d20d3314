"""Predict the scan fraction of files that layouts will make, from samples of their rows; the Java core has the twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.report.ranks import Kept, dense_ranks

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class LaidOutSample:
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

    @property
    def sampled_rows(self) -> int:
        """Rows of both samples."""
        return self.fitted.rows + self.held_out.rows

    def share(self, whole: int, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Tell what files with so many sampled rows get of the group's rows or bytes, in whole ones."""
        # The sums of whole ones are the same in any order, and so in Java.
        return np.rint(rows * float(whole) / max(1, self.sampled_rows)).astype(np.int64)

    def files_of(self, sample: Sample) -> npt.NDArray[np.int64]:
        """Find the file of every row of one of the samples."""
        # Any number that differs from row to row: where rows are told apart by nothing else, they are spread.
        tie_breakers = (np.arange(sample.rows, dtype=np.uint64) * _GOLDEN).view(np.int64)
        return self.layout.file(sample, tie_breakers)


def scan_prediction(groups: Sequence[LaidOutSample], ordinal: int, kept: Kept | None = None) -> float | None:
    """Predict the scan fraction of ``column = value``, on average over the values of the rows.

    The rows whose values are looked for have not made the layout: of rows that have, each lies in a box that was drawn
    around it. The bounds of a file are taken from all sampled rows that it gets, its bytes from its share of them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.fit import LayoutRequest, fit
    >>> from iceberg_zorder.layout.keys import encode
    >>> sample = Sample((encode(pa.array(range(400)), "long"),))
    >>> layout = fit([ClusteringColumn(("a",), "long")], sample, LayoutRequest(files=4))
    >>> nothing = Sample((encode(pa.array([], pa.int64()), "long"),))
    >>> scan_prediction([LaidOutSample(layout, sample, nothing, 400, 8000)], 0)
    0.25
    """
    ranks = dense_ranks([sample.columns[ordinal] for group in groups for sample in group.samples], kept)
    count = max((int(each.max(initial=-1)) for each in ranks), default=-1) + 1
    steps = np.zeros(count + 1, np.int64)
    always = size = 0
    for place, group in enumerate(groups):
        if group.fitted.rows == 0:
            always += group.size
            size += group.size
        else:
            size += _add_files(steps, group, ranks[2 * place : 2 * place + 2])
    read = (always + np.cumsum(steps[:count])).astype(np.float64)
    total = weights = 0.0
    for place, group in enumerate(groups):
        is_held_out = group.held_out.rows > 0
        looked_for = ranks[2 * place + is_held_out]
        found = looked_for[looked_for >= 0]
        # A row of a group that was sampled thinly stands for more of them.
        weight = group.rows / max(1, len(looked_for))
        # Summed up in their order, as Java does, where numpy's sum would take an order of its own.
        total += weight * float(np.cumsum(read[found])[-1]) if len(found) else 0.0
        weights += weight * len(found)
    return min(1.0, total / (weights * size)) if weights and size else None


def _add_files(steps: npt.NDArray[np.int64], group: LaidOutSample, ranks: Sequence[npt.NDArray[np.int64]]) -> int:
    """Add the bytes of each file at the lowest rank that it holds, take them away after the highest, and tell all."""
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
    np.add.at(steps, low[known], sizes[known])
    np.add.at(steps, high[known] + 1, -sizes[known])
    return int(sizes.sum())
