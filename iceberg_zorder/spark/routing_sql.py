"""Write a layout as a SQL expression that gives each row its file, for Spark to shuffle by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from uuid import UUID

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.box_tree import BoxTree, Split
from iceberg_zorder.layout.keys import NAN, NULL, key_at
from iceberg_zorder.layout.layout import Layout, LayoutColumn

_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_WORD = np.uint32


def file_of_row(layout: Layout, columns: Sequence[str], spread: str) -> str:
    """Return an expression for the file of a row.

    Parameters
    ----------
    layout : Layout
        A layout by a box tree.
    columns : sequence of str
        An expression for each fitted column, of the column's type in Spark.
    spread : str
        An expression for a number that differs between rows with equal clustering columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.fit import LayoutRequest, fit
    >>> from iceberg_zorder.layout.keys import encode
    >>> from iceberg_zorder.layout.sample import Sample
    >>> values = pa.array(range(8))
    >>> layout = fit([ClusteringColumn(("a",), "long")], Sample((encode(values, "long"),)), LayoutRequest(files=2))
    >>> file_of_row(layout, ["`a`"], "0")
    'IF(`a` < 4L, 0, 1)'
    """
    assert isinstance(layout.cuts, BoxTree)  # noqa: S101
    nodes, first = iter(layout.cuts.nodes), 0

    def node() -> str:
        nonlocal first
        each = next(nodes)
        if isinstance(each, Split):
            column = layout.columns[each.column]
            left = _is_left(column, each.start, columns[column.ordinal])
            return f"IF({left}, {node()}, {node()})"
        first += each.files
        start = first - each.files
        return str(start) if each.files == 1 else f"{start} + CAST(pmod({spread}, {each.files}) AS INT)"

    return node()


def _is_left(column: LayoutColumn, start: int, value: str) -> str:
    """Return the condition for a position below ``start``; NULL counts as false."""
    size, kind = column.boundaries.size, column.column.type
    left = column.positions < start
    value = compared(value, kind)
    of_values = np.flatnonzero(left[: size + 1])
    found = []
    if len(of_values):
        lowest, highest = int(of_values[0]), int(of_values[-1])
        ends = [(lowest - 1, ">=")] if lowest > 0 else []
        ends += [(highest, "<")] if highest < size else []
        parts = [f"{value} {sign} {literal(key_at(column.boundaries.keys, place), kind)}" for place, sign in ends]
        if not parts:
            parts.append(f"{value} IS NOT NULL")
        if kind in ("float", "double") and highest == size:
            parts.append(f"NOT isnan({value})")
        found.append(" AND ".join(parts))
    if left[size + NAN] and kind in ("float", "double"):
        found.append(f"isnan({value})")
    if left[size + NULL]:
        found.append(f"{value} IS NULL")
    return " OR ".join(f"({each})" for each in found) if len(found) > 1 else found[0] if found else "false"


def compared(value: str, kind: str) -> str:
    """Return an expression whose order in Spark is that of the keys of an Iceberg type."""
    if kind in ("float", "double"):
        return f"CAST({value} AS DOUBLE)"
    if kind == "uuid":
        return f"lower({value})"
    return f"CAST({value} AS BINARY)" if kind in ("string", "binary") or kind.startswith("fixed[") else value


def literal(key: int | bytes, kind: str) -> str:
    """Return a key of an Iceberg type as a literal that compares with :func:`compared`.

    Examples
    --------
    >>> literal(3, "long"), literal(-1, "date"), literal(b"a", "string"), literal(250, "decimal(9, 2)")
    ('3L', 'date_from_unix_date(-1)', "X'61'", "CAST('2.50' AS DECIMAL(9,2))")
    >>> literal(0, "timestamp"), literal(0, "timestamptz")
    ("TIMESTAMP_NTZ'1970-01-01 00:00:00.000000'", 'timestamp_micros(0L)')
    """
    if isinstance(key, bytes):
        if decimal := _DECIMAL.fullmatch(kind):
            flipped = bytes([key[0] ^ 0x80]) + key[1:]
            return _decimal(int.from_bytes(flipped, "big", signed=True), int(decimal[1]), int(decimal[2]))
        return f"'{UUID(bytes=key)}'" if kind == "uuid" else f"X'{key.hex()}'"
    if decimal := _DECIMAL.fullmatch(kind):
        return _decimal(key, int(decimal[1]), int(decimal[2]))
    if kind == "boolean":
        return "true" if key else "false"
    if kind in ("float", "double"):
        bits = np.int64(key if key >= 0 else key ^ (2**63 - 1))
        return f"double('{float(bits.view(np.float64))!r}')"
    if kind == "date":
        return f"date_from_unix_date({key})"
    if kind == "timestamptz":
        return f"timestamp_micros({key}L)"
    if kind == "timestamp":
        day, time = str(np.datetime64(key, "us")).split("T")
        return f"TIMESTAMP_NTZ'{day if day.startswith('-') or len(day) == 10 else f'+{day}'} {time}'"
    return f"{key}L"


def _decimal(unscaled: int, precision: int, scale: int) -> str:
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    whole, part = digits[: len(digits) - scale], digits[len(digits) - scale :]
    text = f"{'-' if unscaled < 0 else ''}{whole}{f'.{part}' if part else ''}"
    return f"CAST('{text}' AS DECIMAL({precision},{scale}))"


def keys_of_tasks(tasks: int) -> list[int]:
    """Return a whole number for each task: Spark's ``repartition(tasks, number)`` sends a row with it to that task.

    Examples
    --------
    >>> keys_of_tasks(3)
    [0, 1, 11]
    """
    found: dict[int, int] = {}
    for start in _batches(max(1024, 16 * tasks)):
        numbers = np.arange(start.start, start.stop, dtype=np.int64)
        places = np.mod(murmur3(numbers), tasks).tolist()
        for number, place in zip(numbers.tolist(), places, strict=True):
            found.setdefault(place, number)
        if len(found) == tasks:
            break
    return [found[place] for place in range(tasks)]


def _batches(size: int) -> Iterator[range]:
    start = 0
    while True:
        yield range(start, start + size)
        start += size


def murmur3(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return Spark's ``hash`` of integers below 2^31.

    Source: A. Appleby, MurmurHash3_x86_32, with seed 42, of four bytes.

    Examples
    --------
    >>> murmur3(np.array([0, 1]))
    array([ 933211791, -559580957])
    """
    with np.errstate(over="ignore"):
        key = numbers.astype(_WORD) * _WORD(0xCC9E2D51)
        key = (key << _WORD(15)) | (key >> _WORD(17))
        found = _WORD(42) ^ (key * _WORD(0x1B873593))
        found = (found << _WORD(13)) | (found >> _WORD(19))
        found = found * _WORD(5) + _WORD(0xE6546B64)
        found ^= _WORD(4)
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
            found = (found ^ (found >> _WORD(shift))) * _WORD(factor)
    signed: npt.NDArray[np.int64] = found.astype(np.int32).astype(np.int64)
    return signed
