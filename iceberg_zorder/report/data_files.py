"""The data files of a snapshot as arrays: what their manifest entries say, and nothing that only the data could."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import NULL, VALUE, KeyColumn

"""Bytes of files: whole numbers, but of files that do not exist yet."""

_MOST = (1 << 48) - 1
"""Of so many values hardly two rows share one."""
_TRUNCATED = re.compile(r"truncate\((\d+)\)")


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

    @property
    def is_open(self) -> bool:
        """Whether there may be values, and no file has bounds of them."""
        return bool(self.has_values.any() and not self.bounded.any())

    def spanned(self) -> ColumnBounds:
        """Have each file with values span all of them; integers stand for the values, whatever their type.

        Examples
        --------
        >>> none = KeyColumn(np.zeros(2, np.int64), np.zeros(2, np.uint8))
        >>> bounds = ColumnBounds(ClusteringColumn(("a",), "date"), none, none, np.array([0.5, 0.0])).spanned()
        >>> bounds.bounded.tolist(), bounds.column.type, bounds.upper.keys.tolist()
        ([True, False], 'long', [281474976710655, 0])
        """
        states = np.where(self.has_values, np.uint8(VALUE), np.uint8(NULL))
        lower, upper = (KeyColumn(np.where(self.has_values, end, 0), states) for end in (0, _MOST))
        return ColumnBounds(replace(self.column, type="long"), lower, upper, self.valued)

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
    rows : ndarray of int64, shape (files,)
        Rows of each file, deleted ones included, 0 or more.
    sizes : ndarray of int64, shape (files,)
        Bytes of each file, 0 or more.
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


def bounds_that_are_alike(bounds: ColumnBounds, metrics_mode: str) -> npt.NDArray[np.bool_]:
    """Find the files whose lower and upper bound begin alike as far as bounds are kept, and as those of another file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.keys import encode
    >>> lower, upper = (encode(pa.array(each), "string") for each in (["http", "http", "a"], ["httq", "httq", "b"]))
    >>> bounds = ColumnBounds(ClusteringColumn(("url",), "string"), lower, upper, np.ones(3))
    >>> bounds_that_are_alike(bounds, "truncate(4)").tolist()
    [True, True, False]
    """
    found = np.zeros(len(bounds.valued), np.bool_)
    truncated = _TRUNCATED.fullmatch(metrics_mode)
    if not truncated or bounds.column.type not in ("string", "binary"):
        return found
    coding, last = ("utf-8", 0x10FFFF) if bounds.column.type == "string" else ("latin-1", 0xFF)
    length = int(truncated[1])
    places = np.flatnonzero(bounds.bounded).tolist()
    pairs = {
        place: tuple(
            keys[place].as_py().decode(coding, errors="replace") for keys in (bounds.lower.keys, bounds.upper.keys)
        )
        for place in places
    }
    alike = {place: pair for place, pair in pairs.items() if _is_cut(pair[0], pair[1], length, chr(last))}
    files_of = Counter(alike.values())
    for place, pair in alike.items():
        found[place] = files_of[pair] > 1
    return found


def bounds_without_end(bounds: ColumnBounds, metrics_mode: str) -> npt.NDArray[np.bool_]:
    """Find the files that have no upper bound because it would be cut, and nothing so short lies above their values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.keys import encode
    >>> lower, upper = (encode(pa.array(each), "string") for each in (["a", "b", None], ["c", None, None]))
    >>> bounds = ColumnBounds(ClusteringColumn(("t",), "string"), lower, upper, np.ones(3))
    >>> [bounds_without_end(bounds, mode).tolist() for mode in ("truncate(4)", "full")]
    [[False, True, False], [False, False, False]]
    """
    is_cut = _TRUNCATED.fullmatch(metrics_mode) and bounds.column.type in ("string", "binary")
    found: npt.NDArray[np.bool_] = bounds.has_values & (bounds.lower.states == VALUE) & ~bounds.bounded
    return found if is_cut else np.zeros(len(found), np.bool_)


def _is_cut(lower: str, upper: str, length: int, last: str) -> bool:
    """Tell whether an upper bound is a lower bound of full length whose last character that can be counted up is so."""
    if len(lower) != length or not 0 < len(upper) <= length:
        return False
    common = len(upper) - 1
    counted_up, left_out = lower[common], lower[common + 1 :]
    return lower[:common] == upper[:common] and upper[common] == _next(counted_up) and not left_out.strip(last)


def _next(character: str) -> str:
    """Count a character up; no text has surrogates."""
    return "\ue000" if character == "\ud7ff" else chr(min(ord(character) + 1, 0x10FFFF))
