"""Data files as arrays: bounds, rows and bytes; the ranks of their bounds; and their boxes in a picture."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import NULL, VALUE, Beginning, KeyColumn
from iceberg_zorder.layout.sample import Sample

"""What lower/upper bounds keep of a key of bytes."""


def dense_ranks(columns: Sequence[KeyColumn], kept: Beginning | None = None) -> list[npt.NDArray[np.int64]]:
    """Rank the values of columns of one type together.

    Examples
    --------
    >>> from iceberg_zorder.layout.keys import encode
    >>> [each.tolist() for each in dense_ranks([encode(pa.array([7, None, 3]), "long"), encode(pa.array([5]), "long")])]
    [[2, -1, 0], [1]]
    """
    states = np.concatenate([column.states for column in columns])
    values: pa.Array = pa.concat_arrays([_values(column, kept) for column in columns])
    ranks = np.full(len(states), -1, np.int64)
    if len(values):
        ranks[states == VALUE] = pc.rank(values, tiebreaker="dense").to_numpy().astype(np.int64) - 1
    ends = np.cumsum([column.rows for column in columns])
    return np.split(ranks, ends[:-1])


def distinct_keys(
    columns: Sequence[KeyColumn], kept: Beginning | None = None
) -> npt.NDArray[np.int64] | pa.LargeBinaryArray:
    """Return the values that :func:`dense_ranks` ranks, by rank.

    Examples
    --------
    >>> from iceberg_zorder.layout.keys import encode
    >>> distinct_keys([encode(pa.array([7, None, 3]), "long"), encode(pa.array([5, 7]), "long")])
    array([3, 5, 7])
    """
    values: pa.Array = pa.concat_arrays([_values(column, kept) for column in columns]).unique().sort()
    return values.to_numpy() if pa.types.is_int64(values.type) else values


def _values(column: KeyColumn, kept: Beginning | None) -> pa.Array:
    values = column.values
    if isinstance(values, np.ndarray):
        return pa.array(values, pa.int64())
    return values if kept is None else pa.array([kept.of(each.as_py()) for each in values], pa.large_binary())


_MOST = (1 << 48) - 1
"""Number of values among which rows rarely collide."""
_TRUNCATED = re.compile(r"truncate\((\d+)\)")


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """Lower/upper bounds of a column, one element per data file."""

    column: ClusteringColumn
    # The bounds as keys, truncated or not; of the state ``VALUE`` where there is one.
    lower: KeyColumn
    upper: KeyColumn
    # The share of the rows that have a value, neither NULL nor NaN, in [0, 1], shape (files,); 1 where it is not known.
    valued: npt.NDArray[np.float64]

    @property
    def has_values(self) -> npt.NDArray[np.bool_]:
        """Whether each file may hold a value."""
        found: npt.NDArray[np.bool_] = self.valued > 0
        return found

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether each file may hold a value, and has both bounds."""
        found: npt.NDArray[np.bool_] = self.has_values & (self.lower.states == VALUE) & (self.upper.states == VALUE)
        return found

    @property
    def is_open(self) -> bool:
        """Whether the column may have values, and no file has bounds of it."""
        return bool(self.has_values.any() and not self.bounded.any())

    def spanned(self) -> ColumnBounds:
        """Return bounds that span the whole domain for each file with values, as integers for any type.

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
        """Return the files at some places."""
        return ColumnBounds(self.column, self.lower.take(places), self.upper.take(places), self.valued[places])


@dataclass(frozen=True, eq=False)
class DataFiles:
    """The data files of a snapshot, or some of them."""

    # The number of each file's partition, from 0, shape (files,); files of two partitions are never rewritten together.
    partitions: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]  # of each file, deleted ones included, 0 or more, shape (files,)
    sizes: npt.NDArray[np.int64]  # bytes of each file, 0 or more, shape (files,)
    columns: tuple[ColumnBounds, ...]  # the clustering columns, at least one

    @property
    def count(self) -> int:
        """Number of files."""
        return len(self.sizes)

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return int(self.sizes.sum())

    def take(self, places: npt.NDArray[np.int64]) -> DataFiles:
        """Return the files at some places."""
        columns = tuple(column.take(places) for column in self.columns)
        return DataFiles(self.partitions[places], self.rows[places], self.sizes[places], columns)


def bounds_that_are_alike(bounds: ColumnBounds, metrics_mode: str) -> npt.NDArray[np.bool_]:
    """Return the files whose truncated lower and upper bounds share a prefix that another file has, too.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.keys import encode
    >>> lower, upper = (encode(pa.array(each), "string") for each in (["http", "http", "a"], ["httq", "httq", "b"]))
    >>> bounds = ColumnBounds(ClusteringColumn(("url",), "string"), lower, upper, np.ones(3))
    >>> bounds_that_are_alike(bounds, "truncate(4)").tolist()
    [True, True, False]
    """
    are_alike = np.zeros(len(bounds.valued), np.bool_)
    truncated = _TRUNCATED.fullmatch(metrics_mode)
    if not truncated or bounds.column.type not in ("string", "binary"):
        return are_alike
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
        are_alike[place] = files_of[pair] > 1
    return are_alike


def bounds_without_end(bounds: ColumnBounds, metrics_mode: str) -> npt.NDArray[np.bool_]:
    """Return the files without an upper bound because no truncated value is above their values.

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
    are_endless: npt.NDArray[np.bool_] = bounds.has_values & (bounds.lower.states == VALUE) & ~bounds.bounded
    return are_endless if is_cut else np.zeros(len(are_endless), np.bool_)


def _is_cut(lower: str, upper: str, length: int, last: str) -> bool:
    """Return whether an upper bound is a full-length lower bound with its last possible character incremented."""
    if len(lower) != length or not 0 < len(upper) <= length:
        return False
    common = len(upper) - 1
    counted_up, left_out = lower[common], lower[common + 1 :]
    return lower[:common] == upper[:common] and upper[common] == _next(counted_up) and not left_out.strip(last)


def _next(character: str) -> str:
    """Return the next character, skipping surrogates."""
    return "\ue000" if character == "\ud7ff" else chr(min(ord(character) + 1, 0x10FFFF))


MOST_BOXES = 5_000
"""Most files in a chart; of more, an even selection is shown."""
_TICKS = 5
_LONGEST_LABEL = 24
_UNITS = {
    "date": "D",
    "time": "us",
    "timestamp": "us",
    "timestamptz": "us",
    "timestamp_ns": "ns",
    "timestamptz_ns": "ns",
}


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis of the chart."""

    name: str  # the column
    # Where each box begins and ends, shape (boxes,): the share of the table's rows below, in [0, 1].
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    ticks: tuple[tuple[float, str], ...]  # places in [0, 1], and the values there


@dataclass(frozen=True, eq=False)
class FileBoxes:
    """Boxes of data files, and the sizes of all files."""

    bounds: tuple[ColumnBounds, ...]  # of the files that are shown, by one column or two
    # Keys of rows in the same columns that define the scale: a place is the share of these rows below.
    rows: tuple[KeyColumn, ...]
    sizes: npt.NDArray[np.int64]  # bytes of all files, shape (files,)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The boxes by each column. To show two sets of boxes on one scale, give both the same ``rows``."""
        return tuple(_axis(bounds, rows) for bounds, rows in zip(self.bounds, self.rows, strict=True))


def file_boxes(files: DataFiles, sample: Sample) -> FileBoxes:
    """Return the boxes over the first two columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.keys import encode
    >>> lower, upper, rows = (encode(pa.array(each), "date") for each in ([0, 50], [49, 99], range(100)))
    >>> bounds = ColumnBounds(ClusteringColumn(("day",), "date"), lower, upper, np.ones(2))
    >>> both = np.ones(2, np.int64)
    >>> (axis,) = file_boxes(DataFiles(0 * both, both, both, (bounds,)), Sample((rows,))).axes
    >>> axis.lower.tolist(), axis.upper.tolist(), axis.ticks[2]
    ([0.0, 0.5], [0.5, 1.0], (0.5, '1970-02-20'))
    """
    count = min(files.count, MOST_BOXES)
    shown = files.take(np.arange(count) * files.count // max(count, 1))
    return FileBoxes(shown.columns[:2], sample.columns[:2], files.sizes)


def _axis(bounds: ColumnBounds, rows: KeyColumn) -> Axis:
    lower, upper, values = dense_ranks([bounds.lower, bounds.upper, rows])
    ordered = np.sort(values[values >= 0])
    count = max(1, len(ordered))
    begin = np.searchsorted(ordered, lower, "left") / count
    end = np.searchsorted(ordered, upper, "right") / count
    bounded, has_values = bounds.bounded, bounds.has_values
    return Axis(
        bounds.column.name,
        np.where(bounded, begin, np.where(has_values, 0.0, 1.0)),
        np.where(bounded, end, 1.0),
        _ticks(bounds.column, rows, values),
    )


def _ticks(column: ClusteringColumn, rows: KeyColumn, values: npt.NDArray[np.int64]) -> tuple[tuple[float, str], ...]:
    valued = np.flatnonzero(values >= 0)
    if not len(valued):
        return ()
    order = valued[np.argsort(values[valued], kind="stable")]
    shares = [tick / (_TICKS - 1) for tick in range(_TICKS)]
    places = [order[min(int(share * len(order)), len(order) - 1)] for share in shares]
    keys = rows.take(np.array(places)).keys
    return tuple(zip(shares, (_text(key, column.type) for key in keys.tolist()), strict=True))


def _text(key: int | bytes, kind: str) -> str:
    base = kind.partition("(")[0]
    if base == "decimal":
        unscaled = int.from_bytes(key, "big") - (1 << 127) if isinstance(key, bytes) else key
        return str(Decimal(unscaled).scaleb(-int(kind.rpartition(",")[2][:-1]), Context(prec=50)))
    if isinstance(key, bytes):
        # Rows that are spread between bounds may end within a character; decoders differ in how many marks they leave.
        text = re.sub("\ufffd+", "\ufffd", key.decode(errors="replace")) if base == "string" else key.hex()
        return text if len(text) <= _LONGEST_LABEL else f"{text[:_LONGEST_LABEL]}…"
    if base in ("float", "double"):
        bits = key if key >= 0 else key ^ np.iinfo(np.int64).max
        return f"{np.array(bits, np.int64).view(np.float64):.6g}"
    if base in _UNITS:
        moment = str(np.array(key).view(f"datetime64[{_UNITS[base]}]")).partition(".")[0].replace("T", " ")
        return moment.rpartition(" ")[2] if base == "time" else moment
    return f"{key}"
