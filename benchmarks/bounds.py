"""Read the lower/upper bounds of a table's data files from its manifests; no data file is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.files import bounds


@dataclass(frozen=True)
class FileBounds:
    """Lower/upper bounds of some columns in every data file of a snapshot.

    Parameters
    ----------
    lower, upper : dict of str to list
        By the column's name, one element per data file: the bound, truncated or not, or None where the manifest keeps
        none. Dates are days and timestamps micro- or nanoseconds since 1970.
    sizes, record_counts : list of int
        Bytes and rows of the data files.
    """

    lower: dict[str, list[Any]]
    upper: dict[str, list[Any]]
    sizes: list[int]
    record_counts: list[int]


def file_bounds(table: Table, columns: Sequence[str]) -> FileBounds:
    """Read the bounds of columns in the data files of a table's current snapshot."""
    files = [task.file for task in table.scan().plan_files()]
    found = {name: [bounds(file, table.schema().find_field(name)) for file in files] for name in columns}
    return FileBounds(
        {name: [lower for lower, _ in each] for name, each in found.items()},
        {name: [upper for _, upper in each] for name, each in found.items()},
        [file.file_size_in_bytes for file in files],
        [file.record_count for file in files],
    )
