"""The sampled rows of a table, as keys and as ranks; candidates are simulated on them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import VALUE, Beginning, KeyColumn
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.workload.boxes import Edge


@dataclass(frozen=True, eq=False)
class SampledTable:
    """Sampled rows with their file groups."""

    columns: tuple[ClusteringColumn, ...]  # filtered columns of types with keys, at least one
    sample: Sample  # keys of the rows, in the order of the data files
    kept: tuple[Beginning | None, ...]  # for each column, what bounds keep of a key; None if they keep all
    are_bounded: tuple[bool, ...]  # for each column, whether new files get bounds
    # File group of each row, from 0, shape (rows,). A group is written together, such as the files of a partition.
    groups: npt.NDArray[np.int64]
    group_rows: npt.NDArray[np.int64]  # rows of each group, 1 or more, shape (groups,)
    group_bytes: npt.NDArray[np.int64]  # bytes of each group, 1 or more, shape (groups,)

    @property
    def bytes(self) -> int:
        """Bytes of all groups."""
        return int(self.group_bytes.sum())

    @cached_property
    def row_bytes(self) -> npt.NDArray[np.float64]:
        """Bytes represented by each sampled row."""
        sampled = np.bincount(self.groups, minlength=len(self.group_bytes))
        found: npt.NDArray[np.float64] = (self.group_bytes / np.maximum(sampled, 1))[self.groups]
        return found

    @cached_property
    def rows_of_sampled(self) -> npt.NDArray[np.float64]:
        """Number of rows represented by each sampled row, at least 1."""
        sampled = np.bincount(self.groups, minlength=len(self.group_rows))
        found: npt.NDArray[np.float64] = np.maximum(1.0, self.group_rows / np.maximum(sampled, 1))[self.groups]
        return found

    @cached_property
    def ranked(self) -> tuple[RankedColumn, ...]:
        """The columns' ranks."""
        return tuple(RankedColumn.of(*each) for each in zip(self.sample.columns, self.kept, strict=True))

    @cached_property
    def rows_of_groups(self) -> list[npt.NDArray[np.int64]]:
        """Places of each group's rows, ascending."""
        order = np.argsort(self.groups, kind="stable")
        ends = np.searchsorted(self.groups[order], np.arange(len(self.group_bytes) + 1))
        return [order[start:stop] for start, stop in pairwise(ends.tolist())]

    def thinned(self, most: int) -> SampledTable:
        """Take every n-th row, at most ``most`` rows."""
        if self.sample.rows <= most:
            return self
        rows = np.arange(0, self.sample.rows, -(-self.sample.rows // most))
        return replace(self, sample=self.sample.take(rows), groups=self.groups[rows])

    def of_columns(self, places: Sequence[int]) -> Sample:
        """Take some columns."""
        return Sample(tuple(self.sample.columns[place] for place in places))

    def separates(self, place: int) -> bool:
        """Return whether a column has at least two values."""
        column = self.ranked[place]
        return bool(len(column.distinct) > 1 or len(np.unique(column.states)) > 1)

    def place(self, name: tuple[str, ...]) -> int | None:
        """Return the place of a column; None if it is not sampled."""
        return next((place for place, each in enumerate(self.columns) if each.parts == name), None)


@dataclass(frozen=True, eq=False)
class RankedColumn:
    """The ranks of a column's sampled keys, after truncation as in bounds.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.keys import encode
    >>> column = RankedColumn.of(encode(pa.array(["abc", "b", None, "abd"]), "string"), Beginning(2, is_text=True))
    >>> column.distinct, column.ranks.tolist(), column.first((VALUE, b"abx")), column.behind((VALUE, b"b"))
    ([b'ab', b'b'], [0, 1, -1, 0], 0, 1)
    """

    distinct: list[int | bytes]  # keys, strictly increasing
    ranks: npt.NDArray[np.int64]  # place of each row's key in ``distinct``, shape (rows,); -1 for NaN and NULL
    states: npt.NDArray[np.uint8]  # of each row: value, NaN or NULL; shape (rows,)
    kept: Beginning | None  # what bounds keep of a key; None if they keep all

    @staticmethod
    def of(column: KeyColumn, kept: Beginning | None) -> RankedColumn:
        """Rank the keys of a column."""
        ranks = np.full(column.rows, -1, np.int64)
        values = column.values
        if isinstance(values, np.ndarray):
            found, places = np.unique(values, return_inverse=True)
            distinct: list[int | bytes] = found.tolist()
        else:
            encoded = pc.dictionary_encode(values)
            cut = [key if kept is None else kept.of(key) for key in encoded.dictionary.to_pylist()]
            distinct = sorted(set(cut))
            rank = {key: place for place, key in enumerate(distinct)}
            of_key = np.array([rank[key] for key in cut], np.int64)
            indices = encoded.indices.to_numpy(zero_copy_only=False)
            places = of_key[indices] if len(cut) else np.zeros(0, np.int64)
        ranks[column.states == VALUE] = places
        return RankedColumn(distinct, ranks, column.states, kept)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of rows of each distinct key."""
        return np.bincount(self.ranks[self.ranks >= 0], minlength=len(self.distinct)).astype(np.int64)

    def first(self, start: Edge) -> int:
        """Return the lowest rank whose files may hold values from an edge on."""
        if len(start) == 1:
            return 0 if start[0] == VALUE else len(self.distinct)
        key = start[1]
        return bisect_left(self.distinct, self.kept.of(key) if self.kept and isinstance(key, bytes) else key)

    def behind(self, stop: Edge) -> int:
        """Return the lowest rank whose files hold no value before an edge."""
        if len(stop) == 1:
            return 0 if stop[0] == VALUE else len(self.distinct)
        return bisect_left(self.distinct, stop[1])
