"""The data files of a snapshot as arrays: what their manifest entries say, and nothing that only the data could."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import VALUE, KeyColumn


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """Lower/upper bounds of a column, one element per data file.

    Parameters
    ----------
    column : ClusteringColumn
        The column.
    lower, upper : KeyColumn
        The bounds as keys, truncated or not; of the state ``VALUE`` where there is one.
    valued : ndarray of float64, shape (files,)
        The share of the rows that have a value, neither NULL nor NaN, in [0, 1]; 1 where it is not known.
    """

    column: ClusteringColumn
    lower: KeyColumn
    upper: KeyColumn
    valued: npt.NDArray[np.float64]

    @property
    def has_values(self) -> npt.NDArray[np.bool_]:
        """Which files may hold a value."""
        found: npt.NDArray[np.bool_] = self.valued > 0
        return found

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Which files may hold a value, and have both bounds."""
        found: npt.NDArray[np.bool_] = self.has_values & (self.lower.states == VALUE) & (self.upper.states == VALUE)
        return found

    def take(self, places: npt.NDArray[np.int64]) -> ColumnBounds:
        """Take files by their places."""
        return ColumnBounds(self.column, self.lower.take(places), self.upper.take(places), self.valued[places])


@dataclass(frozen=True, eq=False)
class DataFiles:
    """The data files of a snapshot, or some of them.

    Parameters
    ----------
    partitions : ndarray of int64, shape (files,)
        The number of each file's partition, from 0; files of two partitions are never rewritten together.
    rows, sizes : ndarray of int64, shape (files,)
        Rows, deleted ones included, and bytes of each file, 0 or more.
    columns : tuple of ColumnBounds
        The clustering columns, at least one.
    """

    partitions: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    columns: tuple[ColumnBounds, ...]

    @property
    def count(self) -> int:
        """Number of files."""
        return len(self.sizes)

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return int(self.sizes.sum())

    def take(self, places: npt.NDArray[np.int64]) -> DataFiles:
        """Take files by their places."""
        columns = tuple(column.take(places) for column in self.columns)
        return DataFiles(self.partitions[places], self.rows[places], self.sizes[places], columns)
