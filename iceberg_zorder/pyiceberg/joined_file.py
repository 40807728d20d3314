"""Describe what data files hold together, which is all that files made of them can hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyiceberg.conversions import from_bytes, to_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.typedef import Record
from pyiceberg.types import NestedField, PrimitiveType


def joined_file(files: Sequence[DataFile], fields: Iterable[NestedField]) -> DataFile:
    """Describe data files as one, by their manifest entries.

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
    args: dict[str, Any] = {"value_counts": values, "null_value_counts": nulls, "nan_value_counts": {}}
    return DataFile.from_args(
        partition=Record(),
        record_count=max(1, sum(file.record_count for file in files)),
        file_size_in_bytes=sum(file.file_size_in_bytes for file in files),
        lower_bounds=lower,
        upper_bounds=upper,
        **args,
    )
