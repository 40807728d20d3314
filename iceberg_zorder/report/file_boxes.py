"""The boxes of data files over two columns, as a picture shows them: by the share of the rows that lie below."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal

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
    sizes : ndarray of int64, shape (files,)
        Bytes of all files.
    """

    axes: tuple[Axis, ...]
    sizes: npt.NDArray[np.int64]


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
    return FileBoxes(axes, files.sizes)


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
