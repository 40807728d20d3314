"""The metrics of a data file: counts, bounds and sizes of its columns, from the Parquet footer and from the rows.

As Iceberg's own writers have it, fields inside lists and maps have sizes only, and NaN is counted and bounds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.conversions import to_bytes
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    DoubleType,
    FloatType,
    ListType,
    MapType,
    PrimitiveType,
    StringType,
    StructType,
)

from iceberg_zorder.pyiceberg.metrics_config import MetricsConfig, MetricsMode

# Arrow's Parquet writer keeps no bounds that are longer.
_LONGEST_STATISTIC = 4096


@dataclass(frozen=True)
class _Column:
    """A leaf column of a Parquet file."""

    field_id: int
    type: PrimitiveType
    mode: MetricsMode
    path: tuple[int, ...] | None  # nothing inside lists and maps


@dataclass
class FileMetrics:
    """Collects the metrics of one data file.

    Parameters
    ----------
    schema : pyiceberg.schema.Schema
        The table's schema.
    config : MetricsConfig
        What to keep of which column.
    """

    schema: Schema
    config: MetricsConfig
    _columns: list[_Column] = field(init=False)
    _nan: dict[int, int] = field(default_factory=dict)
    _long: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._columns = list(_columns(self.schema, self.config))

    def see(self, batch: pa.RecordBatch) -> None:
        """Look at rows that are written: count NaN, and find the bounds of long strings."""
        for column in self._columns:
            if column.path is None or column.mode.kind == "none":
                continue
            if isinstance(column.type, FloatType | DoubleType):
                nans = pc.sum(pc.is_nan(_leaf(batch, column.path))).as_py() or 0
                self._nan[column.field_id] = self._nan.get(column.field_id, 0) + nans
            elif column.mode.keeps_bounds and isinstance(column.type, StringType | BinaryType):
                self._see_long(column, _leaf(batch, column.path))

    def _see_long(self, column: _Column, array: pa.Array) -> None:
        if pa.types.is_dictionary(array.type):
            array = array.dictionary
        if column.field_id not in self._long and (pc.max(pc.binary_length(array)).as_py() or 0) < _LONGEST_STATISTIC:
            return
        found = pc.min_max(array.cast(pa.large_binary()))
        low, high = found["min"].as_py(), found["max"].as_py()
        if low is not None:
            known = self._long.get(column.field_id, (low, high))
            self._long[column.field_id] = (min(low, known[0]), max(high, known[1]))

    def arguments(self, footer: Any) -> dict[str, Any]:
        """Tell what a data file is made with, once its footer is known.

        Parameters
        ----------
        footer : pyarrow.parquet.FileMetaData
            The footer.

        Returns
        -------
        dict of str to object
            Record count, column sizes, value, null and NaN counts, bounds, and split offsets.
        """
        found: dict[str, dict[int, Any]] = {
            name: {}
            for name in (
                "column_sizes",
                "value_counts",
                "null_value_counts",
                "nan_value_counts",
                "lower_bounds",
                "upper_bounds",
            )
        }
        groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
        for place, column in enumerate(self._columns):
            if column.mode.kind == "none":
                continue
            chunks = [group.column(place) for group in groups]
            found["column_sizes"][column.field_id] = sum(chunk.total_compressed_size for chunk in chunks)
            if column.path is not None:
                self._count(column, chunks, found)
        return {"record_count": footer.num_rows, "split_offsets": [_offset(group) for group in groups], **found}

    def _count(self, column: _Column, chunks: Sequence[Any], found: dict[str, dict[int, Any]]) -> None:
        statistics = [chunk.statistics for chunk in chunks]
        if any(each is None or not each.has_null_count for each in statistics):
            return
        field_id = column.field_id
        found["value_counts"][field_id] = sum(chunk.num_values for chunk in chunks)
        found["null_value_counts"][field_id] = sum(each.null_count for each in statistics)
        if field_id in self._nan:
            found["nan_value_counts"][field_id] = self._nan[field_id]
        if not column.mode.keeps_bounds:
            return
        bounds = self._bounds(column, statistics)
        if bounds is None:
            return
        lower, upper = bounds
        found["lower_bounds"][field_id] = lower
        if upper is not None:
            found["upper_bounds"][field_id] = upper

    def _bounds(self, column: _Column, statistics: Sequence[Any]) -> tuple[bytes, bytes | None] | None:
        extremes = [(each.min_raw, each.max_raw) for each in statistics if each.has_min_max]
        if column.field_id in self._long:
            extremes.append(self._long[column.field_id])
        if not extremes:
            return None
        values = [(_value(column.type, low), _value(column.type, high)) for low, high in extremes]
        low, high = min(value for value, _ in values), max(value for _, value in values)
        length = column.mode.length
        if isinstance(column.type, StringType | BinaryType):
            return _truncated(low, length, column.type), _incremented(high, length, column.type)
        return to_bytes(column.type, low), to_bytes(column.type, high)


def _columns(schema: Schema, config: MetricsConfig) -> Iterator[_Column]:
    """Find the leaf columns in the order in which Parquet has them."""

    def visit(field_id: int, kind: Any, path: tuple[int, ...] | None) -> Iterator[_Column]:
        if isinstance(kind, StructType):
            for place, inner in enumerate(kind.fields):
                yield from visit(inner.field_id, inner.field_type, None if path is None else (*path, place))
        elif isinstance(kind, ListType):
            yield from visit(kind.element_id, kind.element_type, None)
        elif isinstance(kind, MapType):
            yield from visit(kind.key_id, kind.key_type, None)
            yield from visit(kind.value_id, kind.value_type, None)
        else:
            yield _Column(field_id, kind, config.mode(schema.find_column_name(field_id) or ""), path)

    yield from visit(-1, schema.as_struct(), ())


def _leaf(batch: pa.RecordBatch, path: tuple[int, ...]) -> pa.Array:
    array = batch.column(path[0])
    return pc.struct_field(array, list(path[1:])) if len(path) > 1 else array


def _offset(group: Any) -> int:
    """Tell where a row group starts."""
    first = group.column(0)
    offsets = (first.dictionary_page_offset, first.data_page_offset)
    return min(int(offset) for offset in offsets if offset)


def _value(kind: PrimitiveType, raw: Any) -> Any:
    """Make what Parquet stores comparable."""
    if isinstance(kind, DecimalType):
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else int(raw)
        return Decimal(f"{unscaled}E-{kind.scale}")
    return raw


def _truncated(value: bytes, length: int | None, kind: PrimitiveType) -> bytes:
    """Cut a lower bound: text to characters, bytes to bytes."""
    if length is None:
        return value
    return value.decode()[:length].encode() if isinstance(kind, StringType) else value[:length]


def _incremented(value: bytes, length: int | None, kind: PrimitiveType) -> bytes | None:
    r"""Cut an upper bound and make it larger than what was cut; nothing if there is no such value.

    Examples
    --------
    >>> _incremented("abz".encode(), 2, StringType()), _incremented(b"a\xff\x00", 2, BinaryType())
    (b'ac', b'b')
    """
    if length is None:
        return value
    if not isinstance(kind, StringType):
        return value if len(value) <= length else _next_bytes(value[:length])
    text = value.decode()
    if len(text) <= length:
        return value
    for end in range(length, 0, -1):
        code = ord(text[end - 1]) + 1
        # Surrogates are no characters of their own.
        code = 0xE000 if code == 0xD800 else code
        if code <= 0x10FFFF:
            return (text[: end - 1] + chr(code)).encode()
    return None


def _next_bytes(value: bytes) -> bytes | None:
    stripped = value.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
