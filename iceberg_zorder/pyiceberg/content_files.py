"""What data files and delete files say of themselves: their partition, sequence number, bounds, the one file they name.

Planning, reading and committing match files with each other by these answers, so that each is given in one place.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pyiceberg.conversions import from_bytes, to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntry
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.transforms import VoidTransform
from pyiceberg.typedef import Record
from pyiceberg.types import NestedField, PrimitiveType

from iceberg_zorder.pyiceberg.compat.manifests import referenced_data_file

_Kept = TypeVar("_Kept")
PATH_FIELD = 2147483546
"""Field id of ``file_path`` in a position delete file."""

Partition = tuple[Hashable, ...]
"""A partition spec's id and the values of a partition: hashable, and equal for what Iceberg takes as one partition."""


def partition_of(file: DataFile) -> Partition:
    """Return a file's partition, so that it can be compared.

    Examples
    --------
    >>> from pyiceberg.typedef import Record
    >>> file = DataFile.from_args(partition=Record("a", None, float("nan")))
    >>> file.spec_id = 3
    >>> partition_of(file)
    (3, 'a', None, 'nan')
    """
    values = file.partition
    return (file.spec_id, *[identity(values[place]) for place in range(len(values))])


def by_partition(files: Sequence[DataFile]) -> dict[Partition, list[int]]:
    """Find the places of the files of each partition."""
    places: dict[Partition, list[int]] = {}
    for place, file in enumerate(files):
        places.setdefault(partition_of(file), []).append(place)
    return places


def identity(value: Hashable) -> Hashable:
    """Make a partition's value one that Python compares as Iceberg does: NaN is itself, and -0.0 is not 0.0.

    Examples
    --------
    >>> identity(float("nan")) == identity(-float("nan")), identity(0.0) == identity(-0.0), identity(7)
    (True, False, 7)
    """
    return value.hex() if isinstance(value, float) else value


def is_unpartitioned(spec: PartitionSpec) -> bool:
    """Tell whether a spec has no partitions, which is when its equality deletes apply to all data files."""
    return all(isinstance(field.transform, VoidTransform) for field in spec.fields)


def single_path(delete_file: DataFile) -> str | None:
    """Tell which one data file a position delete file names.

    Examples
    --------
    >>> bounds = {2147483546: b"s3://lake/a.parquet"}
    >>> kind = DataFileContent.POSITION_DELETES
    >>> single_path(DataFile.from_args(content=kind, lower_bounds=bounds, upper_bounds=bounds))
    's3://lake/a.parquet'
    >>> other = {2147483546: b"s3://lake/b.parquet"}
    >>> single_path(DataFile.from_args(content=kind, lower_bounds=bounds, upper_bounds=other))
    """
    if delete_file.content != DataFileContent.POSITION_DELETES:
        return None
    if path := referenced_data_file(delete_file):
        return path
    lower, upper = _encoded_bounds(delete_file, PATH_FIELD)
    return lower.decode() if lower is not None and lower == upper else None


def bounds(file: DataFile, field: NestedField) -> tuple[Any, Any]:
    """Read the lower and the upper bound that a file's manifest keeps of a column; None where it keeps none."""
    lower, upper = _encoded_bounds(file, field.field_id)
    return _decoded(lower, field), _decoded(upper, field)


def _encoded_bounds(file: DataFile, field_id: int) -> tuple[bytes | None, bytes | None]:
    return of_field(file.lower_bounds, field_id, None), of_field(file.upper_bounds, field_id, None)


def of_field(kept: Mapping[int, _Kept] | None, field_id: int, otherwise: _Kept) -> _Kept:
    """Look up what a manifest keeps of a field, which may be nothing of any."""
    # Manifests are read into mappings that are slow to ask whether they are empty.
    return otherwise if kept is None else kept.get(field_id, otherwise)


def _decoded(encoded: bytes | None, field: NestedField) -> Any:
    if encoded is None:
        return None
    try:
        value: Any = from_bytes(field.field_type, encoded)  # type: ignore[arg-type]
    except (ValueError, struct.error):
        # What is no value of the type bounds nothing.
        return None
    # Old writers left NaN in the bounds of columns that hold it. It compares with nothing, so it bounds nothing.
    return None if isinstance(value, float) and math.isnan(value) else value


def sequence_number(entry: ManifestEntry) -> int:
    """Return an entry's data sequence number; those of a version 1 table are 0."""
    return entry.sequence_number or 0


def joined_file(files: Sequence[DataFile], fields: Iterable[NestedField]) -> DataFile:
    """Describe data files as one that holds their rows, by their manifest entries.

    Examples
    --------
    >>> from pyiceberg.types import LongType
    >>> field = NestedField(1, "a", LongType(), required=False)
    >>> def file(nulls, **bounds):
    ...     bounds = {name: {1: to_bytes(LongType(), value)} for name, value in bounds.items()}
    ...     counts = {"value_counts": {1: 9}, "null_value_counts": {1: nulls}}
    ...     return DataFile.from_args(record_count=9, file_size_in_bytes=70, **counts, **bounds)
    >>> files = [file(2, lower_bounds=-5, upper_bounds=3), file(9), file(0, lower_bounds=4, upper_bounds=8)]
    >>> found = joined_file(files, [field])
    >>> [from_bytes(LongType(), bounds[1]) for bounds in (found.lower_bounds, found.upper_bounds)]
    [-5, 8]
    >>> found.value_counts, found.null_value_counts, joined_file([*files, file(8)], [field]).upper_bounds
    ({1: 27}, {1: 11}, {})
    """
    values: dict[int, int] = {}
    nulls: dict[int, int] = {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for field in fields:
        key, kind = field.field_id, field.field_type
        counts = [((file.value_counts or {}).get(key), (file.null_value_counts or {}).get(key)) for file in files]
        if not isinstance(kind, PrimitiveType) or not files:
            continue
        if all(None not in count for count in counts):
            values[key], nulls[key] = (sum(count[place] or 0 for count in counts) for place in (0, 1))
        valued = [file for file, (count, empty) in zip(files, counts, strict=True) if count is None or count != empty]
        for bounds, found, chosen in (
            ([file.lower_bounds for file in valued], lower, min),
            ([file.upper_bounds for file in valued], upper, max),
        ):
            known = [from_bytes(kind, each[key]) for each in bounds if each and key in each]
            if len(known) == len(bounds) and known and all(each == each for each in known):
                found[key] = to_bytes(kind, chosen(known))
    counted: dict[str, Any] = {"value_counts": values, "null_value_counts": nulls, "nan_value_counts": {}}
    return DataFile.from_args(
        partition=Record(),
        record_count=max(1, sum(file.record_count for file in files)),
        file_size_in_bytes=sum(file.file_size_in_bytes for file in files),
        lower_bounds=lower,
        upper_bounds=upper,
        **counted,
    )
