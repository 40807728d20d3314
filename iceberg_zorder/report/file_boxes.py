"""The boxes of data files over two columns, as a picture shows them: by the share of the rows that lie below."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isqrt

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import KeyColumn
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.report.ranks import dense_ranks

MOST_BOXES = 5_000
"""Of more files so many are shown, evenly taken: a picture has no room for more."""
_TICKS = 5
_LONGEST_LABEL = 24
_CLASSES = 8
"""So many classes of sizes lie between a power of two and the next."""
_UNREADABLE = re.compile("\ufffd+")
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECONDS = {"timestamp": 1, "timestamptz": 1, "timestamp_ns": 1000, "timestamptz_ns": 1000}


@dataclass(frozen=True, eq=False)
class Axis:
    """A column of the picture.

    Parameters
    ----------
    name : str
        The column.
    lower, upper : ndarray of float64, shape (boxes,)
        Where each box begins and ends: the share of the table's rows below, in [0, 1].
    ticks : tuple of (float, str)
        Places in [0, 1], and the values there.
    """

    name: str
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, eq=False)
class FileBoxes:
    """Boxes of data files, and the sizes of all files.

    Parameters
    ----------
    axes : tuple of Axis
        One or two.
    sizes : mapping of str to int
        How many files of the table are of which size, in classes by :func:`size_classes`.
    """

    axes: tuple[Axis, ...]
    sizes: Mapping[str, int]


def file_boxes(files: DataFiles, sample: Sample) -> FileBoxes:
    """Find the boxes over the first two columns.

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
    axes = tuple(_axis(bounds, keys) for bounds, keys in zip(shown.columns[:2], sample.columns, strict=False))
    return FileBoxes(axes, size_classes(files.sizes.astype(np.int64)))


def size_classes(sizes: npt.NDArray[np.int64]) -> dict[str, int]:
    """Count files by size, in classes of which each is a little wider than the one before.

    Examples
    --------
    >>> size_classes(np.array([0, 1000, 1023, 1024, 1100, 1117]))
    {'0': 1, '940': 2, '1024': 2, '1117': 1}
    """
    octaves = int(sizes.max(initial=0)).bit_length()
    begins = sorted({0, *(_root_of_two(eighths) for eighths in range(_CLASSES * octaves))})
    found, counts = np.unique(np.searchsorted(begins, sizes, "right") - 1, return_counts=True)
    return {str(begins[each]): count for each, count in zip(found.tolist(), counts.tolist(), strict=True)}


def _root_of_two(eighths: int) -> int:
    """Raise two to a number of eighths and round up, in whole numbers: every machine finds the same."""
    root = isqrt(isqrt(isqrt(1 << eighths)))
    return root + int(root**_CLASSES < 1 << eighths)


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
    return tuple(zip(shares, (_label(key, column.type) for key in keys.tolist()), strict=True))


def _label(key: int | bytes, kind: str) -> str:
    text = _text(key, kind)
    return text if len(text) <= _LONGEST_LABEL else f"{text[:_LONGEST_LABEL]}…"


def _text(key: int | bytes, kind: str) -> str:
    if kind.startswith("decimal"):
        unscaled = int.from_bytes(key, "big") - (1 << 127) if isinstance(key, bytes) else key
        return str(Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -int(kind.rpartition(",")[2][:-1]))))
    if isinstance(key, bytes):
        # Rows that are spread between bounds may end within a character; decoders differ in how many marks they leave.
        return _UNREADABLE.sub("\ufffd", key.decode(errors="replace")) if kind == "string" else key.hex()
    if kind in ("float", "double"):
        bits = key if key >= 0 else key ^ np.iinfo(np.int64).max
        return f"{np.array(bits, np.int64).view(np.float64):.6g}"
    return _time(key, kind) or f"{key}"


def _time(key: int, kind: str) -> str:
    """Write a date, a time or a timestamp; empty for other types, and for years that Python does not know."""
    try:
        if kind == "date":
            return f"{(_EPOCH + datetime.timedelta(days=key)).date()}"
        if kind == "time":
            return f"{(_EPOCH + datetime.timedelta(microseconds=key)).time()}"
        if kind in _MICROSECONDS:
            return f"{_EPOCH + datetime.timedelta(microseconds=key // _MICROSECONDS[kind])}"
    except OverflowError:
        pass
    return ""
