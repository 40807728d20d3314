"""Compute the partitions of rows by a new partition spec."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from threading import Lock
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform, VoidTransform
from pyiceberg.typedef import Record
from pyiceberg.types import UUIDType

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import NULL, domain, encode
from iceberg_zorder.pyiceberg.compat import arrow_transform
from iceberg_zorder.pyiceberg.files import identity
from iceberg_zorder.pyiceberg.read.projection import field_paths, file_fields
from iceberg_zorder.sort.codecs import leaf
from iceberg_zorder.sort.equal_rows import comparable


class Partitions:
    """Numbers the partitions of rows in order of appearance, and returns the keys that rows are cut by.

    Batches have an Arrow schema with field ids. Raises InvalidInputError for transforms that PyIceberg does not know.
    """

    def __init__(self, spec: PartitionSpec, schema: Schema, arrow: pa.Schema) -> None:
        self.records: list[Record] = []
        """The partitions, by number."""
        self._numbers: dict[tuple[Hashable, ...], int] = {}
        self._lock = Lock()
        self._fields = [_Field(field, schema, arrow) for field in spec.fields]
        kinds = {field.field_id: _result_type(schema, field) for field in partition_fields(schema, spec)}
        self._keyed = [(place, kinds[f.field_id]) for place, f in enumerate(spec.fields) if f.field_id in kinds]

    def transformed(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """Return the transformed source columns by field, as the other methods take them."""
        return [field.partition(batch) for field in self._fields]

    @property
    def key_types(self) -> list[pa.DataType]:
        """The Arrow types of the keys."""
        return [pa.int64() if domain(kind) == "long" else pa.large_binary() for _, kind in self._keyed]

    def keys(self, transformed: Sequence[pa.Array]) -> list[pa.Array]:
        """Return the keys of rows by field; rows have equal keys only if they share the partition."""
        return [_keys(transformed[place], kind) for place, kind in self._keyed]

    def number(self, transformed: Sequence[pa.Array], rows: int) -> npt.NDArray[np.int64]:
        """Return the partition number of each row."""
        values: list[list[Any]] = []
        # Per field, the places of distinct values; per row, the number of its combination of fields so far.
        places = np.empty((0, 1), np.int64)
        combination = np.zeros(rows, np.int64)
        for field, array in zip(self._fields, transformed, strict=True):
            encoded = comparable(array).dictionary_encode(null_encoding="encode")
            distinct = encoded.dictionary
            values.append(field.values(distinct.view(array.type) if pa.types.is_floating(array.type) else distinct))
            # Renumbered after each field, because the product of all counts may exceed 64 bits.
            code = combination * max(1, len(values[-1])) + encoded.indices.to_numpy(zero_copy_only=False)
            found, combination = np.unique(code, return_inverse=True)
            before, place = np.divmod(found, max(1, len(values[-1])))
            places = np.vstack([places[:, before], place])
        partitions = [tuple(values[field][place] for field, place in enumerate(each)) for each in places.T.tolist()]
        with self._lock:
            return np.array([self._number(each) for each in partitions], np.int64)[combination]

    def _number(self, partition: tuple[Any, ...]) -> int:
        key = tuple(map(identity, partition))
        if key not in self._numbers:
            self._numbers[key] = len(self.records)
            self.records.append(Record(*partition))
        return self._numbers[key]


class _Field:
    """One field of a spec."""

    def __init__(self, field: PartitionField, schema: Schema, arrow: pa.Schema) -> None:
        self._transform = field.transform
        self._path: tuple[int, ...] | None = None
        self._is_uuid = False
        if isinstance(field.transform, VoidTransform):
            return
        self._path = field_paths(file_fields(arrow, None)).get(field.source_id)
        try:
            source: Any = schema.find_field(field.source_id).field_type
            self._one_by_one = field.transform.transform(source)
        except (NotImplementedError, ValueError, AttributeError):
            self._path = None
        if self._path is None:
            raise InvalidInputError(
                f"Cannot partition by {field.name}, because PyIceberg cannot compute {field.transform} of field "
                f"{field.source_id}"
            )
        self._arrow = arrow_transform(field.transform, source)
        self._is_uuid = isinstance(source, UUIDType) and isinstance(field.transform, IdentityTransform)

    def partition(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the transformed source column."""
        if self._path is None:
            return pa.nulls(batch.num_rows, pa.int32())
        array = leaf(batch, self._path)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if self._arrow and not isinstance(array, pa.ExtensionArray):
            if pa.types.is_decimal(array.type):
                # Its native code needs addresses that are multiples of 16, which rows of an IPC stream may not have.
                array = pc.take(array, pa.array(np.arange(len(array))))
            array = self._arrow(array)
        elif not isinstance(self._transform, IdentityTransform):
            return self._of_distinct(array)
        return array.storage if isinstance(array, pa.ExtensionArray) else array

    def values(self, distinct: pa.Array) -> list[Any]:
        """Return transformed values as partitions hold them, with times as numbers."""
        if pa.types.is_temporal(distinct.type):
            distinct = distinct.view(pa.int32() if distinct.type.bit_width == 32 else pa.int64())
        values: list[Any] = distinct.to_pylist()
        return [value and UUID(bytes=value) for value in values] if self._is_uuid else values

    def _of_distinct(self, array: pa.Array) -> pa.Array:
        """Transform the distinct values one by one."""
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        if pa.types.is_temporal(array.type):
            array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
        encoded = array.dictionary_encode()
        found = pa.array([self._one_by_one(value) for value in encoded.dictionary.to_pylist()])
        return pc.take(found, encoded.indices)


def partition_fields(schema: Schema, spec: PartitionSpec) -> list[PartitionField]:
    """Return a spec's fields that can differ between rows."""
    return [
        field
        for field in spec.fields
        if not isinstance(field.transform, VoidTransform) and schema.find_column_name(field.source_id) is not None
    ]


def identity_sources(spec: PartitionSpec) -> set[int]:
    """Return the ids of the columns that are constant within a partition."""
    return {field.source_id for field in spec.fields if isinstance(field.transform, IdentityTransform)}


def partition_columns(schema: Schema, spec: PartitionSpec) -> tuple[ClusteringColumn, ...]:
    """Return a spec's fields as columns to cut by."""
    return tuple(
        ClusteringColumn((field.name,), "long" if domain(_result_type(schema, field)) == "long" else "binary")
        for field in partition_fields(schema, spec)
    )


def _keys(values: pa.Array, kind: str) -> pa.Array:
    column = encode(values, kind)
    null = column.states == NULL
    if kind in ("float", "double"):
        # Unlike in clustering keys, -0.0 and 0.0 differ: they are two partitions.
        numbers = pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
        bits = np.where(np.isnan(numbers), np.float64("nan"), numbers).view(np.int64)
        return pa.array(np.where(bits >= 0, bits, bits ^ np.int64(np.iinfo(np.int64).max)), mask=null)
    if isinstance(column.keys, np.ndarray):
        return pa.array(column.keys, mask=null)
    return pc.if_else(pa.array(null), pa.scalar(None, pa.large_binary()), column.keys)


def _result_type(schema: Schema, field: PartitionField) -> str:
    return str(field.transform.result_type(schema.find_field(field.source_id).field_type))
