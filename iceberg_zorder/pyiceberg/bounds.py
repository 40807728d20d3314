"""Read the lower/upper bounds of a table's data files from its manifests; no data file is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.table import Table
from pyiceberg.types import NestedField, PrimitiveType

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import parse_name, quoted_name
from iceberg_zorder.pyiceberg.content_files import bounds


@dataclass(frozen=True)
class FileBounds:
    """Lower/upper bounds of some columns in every data file of a snapshot.

    Parameters
    ----------
    lower, upper : dict of str to list
        By the column's name, one element per data file: the bound, truncated or not, or None where the manifest keeps
        none. Dates are days and timestamps micro- or nanoseconds since 1970, times are microseconds, UUIDs are bytes.
    sizes : list of int
        Sizes of the data files in bytes.
    record_counts : list of int
        Rows of the data files.
    """

    lower: dict[str, list[Any]]
    upper: dict[str, list[Any]]
    sizes: list[int]
    record_counts: list[int]


def file_bounds(table: Table, columns: Sequence[str]) -> FileBounds:
    """Read the bounds of columns in the data files of a table's current snapshot.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from pyiceberg.catalog.sql import SqlCatalog
    >>> from iceberg_zorder.report.scan_fraction import scan_fraction
    >>> with (
    ...     tempfile.TemporaryDirectory() as lake,
    ...     SqlCatalog("lake", uri=f"sqlite:///{lake}/catalog.db", warehouse=f"file://{lake}") as catalog,
    ... ):
    ...     catalog.create_namespace("db")
    ...     rows = pa.table({"a": pa.array([1, 5, 9], pa.int64())})
    ...     table = catalog.create_table("db.t", rows.schema)
    ...     table.append(rows)
    ...     found = file_bounds(table, ["a"])
    >>> found.lower, found.upper, found.record_counts
    ({'a': [1]}, {'a': [9]}, [3])
    >>> scan_fraction([4, 10], found.lower["a"], found.upper["a"], found.sizes)
    0.5
    """
    fields = {name: _field(table, name) for name in columns}
    files = [task.file for task in table.scan().plan_files()]
    found = {name: [bounds(file, field) for file in files] for name, field in fields.items()}
    return FileBounds(
        lower={name: [lower for lower, _ in each] for name, each in found.items()},
        upper={name: [upper for _, upper in each] for name, each in found.items()},
        sizes=[file.file_size_in_bytes for file in files],
        record_counts=[file.record_count for file in files],
    )


def _field(table: Table, name: str) -> NestedField:
    parts = parse_name(name)
    try:
        field = table.schema().find_field(".".join(parts))
    except ValueError as error:
        raise InvalidInputError(
            f"Cannot read the bounds of {quoted_name(parts)}, because {quoted_name(table.name())} has no such column"
        ) from error
    if not isinstance(field.field_type, PrimitiveType):
        raise InvalidInputError(
            f"Cannot read the bounds of {quoted_name(parts)}, because it is of type {field.field_type}, which has none"
        )
    return field
