"""The metrics of a data file: counts, bounds and sizes of its columns, from the Parquet footer and from the rows.

As with Iceberg's own writers, fields inside lists and maps have only sizes, and NaN is counted but is no bound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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
    IcebergType,
    PrimitiveType,
    StringType,
    StructType,
)

from iceberg_zorder.pyiceberg.bounds import MetricsConfig, MetricsMode, children
from iceberg_zorder.sort.codecs import leaf

# Arrow's Parquet writer drops longer bounds.
_LONGEST_STATISTIC = 4096
_COUNTS = ("value_counts", "null_value_counts", "nan_value_counts")
_METRICS = ("column_sizes", *_COUNTS, "lower_bounds", "upper_bounds")


@dataclass(frozen=True)
class _Column:
    """A leaf column of a Parquet file."""

    field_id: int
    type: PrimitiveType
    mode: MetricsMode
    path: tuple[int, ...] | None  # None inside lists and maps


@dataclass
class _RowGroup:
    """A row group's metrics by field; ``bounded`` are the fields whose bounds the footer lacks."""

    nulls: dict[int, int] = field(default_factory=dict)
    nans: dict[int, int] = field(default_factory=dict)
    bounded: set[int] = field(default_factory=set)


class FileMetrics:
    """Collects the metrics of one data file; the footer lacks statistics of the string columns in ``large``."""

    def __init__(self, schema: Schema, config: MetricsConfig, large: Collection[int] = ()) -> None:
        self.large = large
        self._columns = list(_columns(schema, config, -1, schema.as_struct(), ()))
        self._row_groups: list[_RowGroup] = []
        self._bounds: dict[int, tuple[bytes, bytes]] = {}

    def see(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Process the rows of the next row group: count NaN, and compute bounds of long strings."""
        seen = _RowGroup()
        for column in self._columns:
            if column.path is None or column.mode.kind == "none":
                continue
            arrays = [leaf(batch, column.path) for batch in batches]
            seen.nulls[column.field_id] = sum(array.null_count for array in arrays)
            if isinstance(column.type, FloatType | DoubleType):
                seen.nans[column.field_id] = sum(pc.sum(pc.is_nan(array)).as_py() or 0 for array in arrays)
            elif not (column.mode.keeps_bounds and isinstance(column.type, StringType | BinaryType)):
                continue
            elif column.path[0] in self.large or not all(_has_statistics(array) for array in arrays):
                seen.bounded.add(column.field_id)
                self._widen(column, arrays)
        self._row_groups.append(seen)

    def _widen(self, column: _Column, arrays: Sequence[pa.Array]) -> None:
        """Extend a column's bounds to strings, cut just behind the length that the mode keeps."""
        known = [self._bounds[column.field_id]] if column.field_id in self._bounds else []
        for array in arrays:
            found = pc.min_max(_cut(_distinct(array), column.mode.length).cast(pa.large_binary()))
            if found["min"].is_valid:
                known.append((found["min"].as_py(), found["max"].as_py()))
        if known:
            self._bounds[column.field_id] = min(low for low, _ in known), max(high for _, high in known)

    def arguments(self, footer: Any) -> dict[str, Any]:
        """Return the metrics as arguments of a data file, given its footer."""
        found: dict[str, dict[int, Any]] = {name: {} for name in _METRICS}
        groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
        for place, column in enumerate(self._columns):
            if column.mode.kind == "none":
                continue
            chunks, field_id = [group.column(place) for group in groups], column.field_id
            found["column_sizes"][field_id] = sum(chunk.total_compressed_size for chunk in chunks)
            if column.path is None:
                continue
            found["value_counts"][field_id] = sum(chunk.num_values for chunk in chunks)
            found["null_value_counts"][field_id] = sum(seen.nulls[field_id] for seen in self._row_groups)
            if isinstance(column.type, FloatType | DoubleType):
                found["nan_value_counts"][field_id] = sum(seen.nans[field_id] for seen in self._row_groups)
            lower, upper = self._cut_bounds(column, chunks)
            if lower is not None:
                found["lower_bounds"][field_id] = lower
            if upper is not None:
                found["upper_bounds"][field_id] = upper
        firsts = [group.column(0) for group in groups]
        offsets = [min(filter(None, (first.dictionary_page_offset, first.data_page_offset))) for first in firsts]
        return {"record_count": footer.num_rows, "split_offsets": offsets, **found}

    def _cut_bounds(self, column: _Column, chunks: Sequence[Any]) -> tuple[bytes | None, bytes | None]:
        """Return the bounds of a column, truncated by its mode; None if unknown or not kept."""
        if not column.mode.keeps_bounds:
            return None, None
        extremes: list[tuple[Any, Any]] = [self._bounds[column.field_id]] if column.field_id in self._bounds else []
        for chunk, seen in zip(chunks, self._row_groups, strict=True):
            empty = seen.nulls[column.field_id] + seen.nans.get(column.field_id, 0)
            if chunk.num_values == empty or column.field_id in seen.bounded:
                continue
            if (statistics := chunk.statistics) and statistics.has_min_max:
                extremes.append((statistics.min_raw, statistics.max_raw))
            else:
                return None, None
        if not extremes:
            return None, None
        low = min(_value(column.type, each) for each, _ in extremes)
        high = max(_value(column.type, each) for _, each in extremes)
        if isinstance(column.type, StringType | BinaryType):
            length = column.mode.length
            return _truncated(low, length, column.type), _incremented(high, length, column.type)
        return to_bytes(column.type, low), to_bytes(column.type, high)


def _columns(
    schema: Schema, config: MetricsConfig, field_id: int, kind: IcebergType, path: tuple[int, ...] | None
) -> Iterator[_Column]:
    """Yield the leaf columns of a field in Parquet's order."""
    if isinstance(kind, PrimitiveType):
        yield _Column(field_id, kind, config.mode(schema.find_column_name(field_id) or ""), path)
    for place, (inner_id, inner) in enumerate(children(kind)):
        inner_path = (*path, place) if path is not None and isinstance(kind, StructType) else None
        yield from _columns(schema, config, inner_id, inner, inner_path)


def _has_statistics(array: pa.Array) -> bool:
    """Return whether Arrow writes correct statistics for an array of strings.

    One long value removes the statistics of the whole row group. For NULLs with a dictionary, Arrow writes a value of
    the dictionary.
    """
    return not pa.types.is_dictionary(array.type) and (
        (pc.max(pc.binary_length(array)).as_py() or 0) < _LONGEST_STATISTIC
    )


def _cut(array: pa.Array, length: int | None) -> pa.Array:
    """Cut strings to the bounds' length plus one, which shows whether the value is longer; this saves memory."""
    if length is None:
        return array
    is_text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    return (pc.utf8_slice_codeunits if is_text else pc.binary_slice)(array, 0, length + 1)


def _distinct(array: pa.Array) -> pa.Array:
    """Return the distinct strings of an array; its dictionary may hold more than its rows."""
    return array.dictionary.take(array.indices.unique().drop_null()) if pa.types.is_dictionary(array.type) else array


def _value(kind: PrimitiveType, raw: Any) -> Any:
    """Return a Parquet value in comparable form."""
    if isinstance(kind, DecimalType):
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else int(raw)
        return Decimal(f"{unscaled}E-{kind.scale}")
    return raw


def _truncated(value: bytes, length: int | None, kind: PrimitiveType) -> bytes:
    """Truncate a lower bound: text to characters, binary to bytes."""
    if length is None:
        return value
    return value.decode()[:length].encode() if isinstance(kind, StringType) else value[:length]


def _incremented(value: bytes, length: int | None, kind: PrimitiveType) -> bytes | None:
    """Truncate an upper bound and increment it; None if no such value exists."""
    if length is None:
        return value
    if not isinstance(kind, StringType):
        return value if len(value) <= length else _next_bytes(value[:length])
    text = value.decode()
    if len(text) <= length:
        return value
    for end in range(length, 0, -1):
        code = ord(text[end - 1]) + 1
        # Surrogates are not characters.
        code = 0xE000 if code == 0xD800 else code
        if code <= 0x10FFFF:
            return (text[: end - 1] + chr(code)).encode()
    return None


def _next_bytes(value: bytes) -> bytes | None:
    stripped = value.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
