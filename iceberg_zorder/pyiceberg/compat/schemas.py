"""Schemas as Arrow has them, names of columns as files have them, and transforms and paths of partitions.

``schema_to_pyarrow``, ``sanitize_column_names`` and ``NameMapping`` are what PyIceberg's own reader and writer use.
When a release moves them, take their new names; the tests of types and of odd names tell whether they do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyiceberg.exceptions import NotInstalledError
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionKey, PartitionSpec
from pyiceberg.schema import Schema, sanitize_column_names
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.transforms import Transform
from pyiceberg.typedef import Record
from pyiceberg.types import BinaryType

__all__ = [
    "MappedField",
    "NameMapping",
    "arrow_transform",
    "partition_path",
    "sanitize_column_names",
    "schema_to_pyarrow",
]


def arrow_transform(transform: Transform[Any, Any], source_type: Any) -> Callable[[Any], Any] | None:
    """Find a transform over Arrow arrays, or nothing where the optional package pyiceberg-core is missing."""
    try:
        found: Callable[[Any], Any] = transform.pyarrow_transform(source_type)
    except (NotInstalledError, NotImplementedError):
        return None
    if isinstance(source_type, BinaryType):
        # pyiceberg-core 0.10 truncates binary, and not what has large offsets; rows come in batches that fit either.
        return lambda column: found(column.cast(pa.binary()))
    return found


def partition_path(spec: PartitionSpec, partition: Record, schema: Schema) -> PartitionKey:
    """Make a key whose path is that of a partition's values as a manifest has them."""
    return _RecordedPartition([], spec, schema, partition)


@dataclass(frozen=True)
class _RecordedPartition(PartitionKey):
    """A partition whose values are transformed already; PyIceberg's own refuses two transforms of one column.

    A location provider takes a key and asks it for ``to_path()`` only, which is made of ``partition``. When a release
    takes a record, or ``PartitionKey`` two transforms of a column, this can go.
    """

    record: Record

    @cached_property
    def partition(self) -> Record:
        return self.record
