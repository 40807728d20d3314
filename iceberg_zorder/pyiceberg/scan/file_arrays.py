"""Data files as arrays, and arrays as data files that do not exist yet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pyiceberg.manifest import DataFile
from pyiceberg.typedef import Record
from pyiceberg.types import NestedField, PrimitiveType

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import VALUE, KeyColumn
from iceberg_zorder.pyiceberg.scan.bound_keys import bound, column_bounds
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.report.data_files import DataFiles


def file_arrays(
    files: Sequence[DataFile],
    fields: Sequence[NestedField],
    columns: Sequence[ClusteringColumn],
    *,
    partitions: npt.NDArray[np.int64] | None = None,
    lengths: Sequence[int | None] | None = None,
) -> DataFiles:
    """Describe data files by what their manifest entries say."""
    cuts = [None] * len(columns) if lengths is None else lengths
    return DataFiles(
        np.zeros(len(files), np.int64) if partitions is None else partitions,
        np.array([file.record_count for file in files], np.int64),
        np.array([file.file_size_in_bytes for file in files], np.int64),
        tuple(
            column_bounds(files, field, column, length)
            for field, column, length in zip(fields, columns, cuts, strict=True)
        ),
    )


def new_files_read(
    listing: Listing, files: DataFiles, fields: Sequence[NestedField], partitions: Sequence[DataFile | None]
) -> npt.NDArray[np.bool_]:
    """Tell which files that do not exist yet a condition does not rule out."""
    found = np.empty(files.count, np.bool_)
    for place, new in enumerate(new_data_files(files, fields, partitions)):
        is_known = partitions[files.partitions[place]] is not None
        found[place] = listing.may_match(new) if is_known else listing.values_may_match(new)
    return found


def new_data_files(
    files: DataFiles, fields: Sequence[NestedField], partitions: Sequence[DataFile | None]
) -> list[DataFile]:
    """Describe files that do not exist yet as those that do, with the arguments of :func:`new_files_read`."""
    return [_new_file(files, place, fields, partitions[files.partitions[place]]) for place in range(files.count)]


def _new_file(files: DataFiles, place: int, fields: Sequence[NestedField], like: DataFile | None) -> DataFile:
    rows = max(1, int(files.rows[place]))
    lower, upper = (
        {
            field.field_id: bound(_key(keys, place), field.field_type)
            for field, bounds in zip(fields, files.columns, strict=True)
            for keys in [getattr(bounds, end)]
            if keys.states[place] == VALUE and isinstance(field.field_type, PrimitiveType)
        }
        for end in ("lower", "upper")
    )
    shares = zip(fields, files.columns, strict=True)
    file = DataFile.from_args(
        partition=Record() if like is None else like.partition,
        record_count=rows,
        file_size_in_bytes=int(files.sizes[place]),
        value_counts={field.field_id: rows for field in fields},
        null_value_counts={field.field_id: round(rows * (1 - bounds.valued[place])) for field, bounds in shares},
        nan_value_counts={},
        lower_bounds=lower,
        upper_bounds=upper,
    )
    if like is not None:
        file.spec_id = like.spec_id
    return file


def _key(keys: KeyColumn, place: int) -> int | bytes:
    return int(keys.keys[place]) if isinstance(keys.keys, np.ndarray) else keys.keys[place].as_py()
