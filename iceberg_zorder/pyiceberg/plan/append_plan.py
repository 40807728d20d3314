"""Plan an append: the partitions whose rows are worth several files, and a layout for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.appended import Boxes, append_files, fit_appended
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample, cut
from iceberg_zorder.pyiceberg.files import display_name, identity, partition_of
from iceberg_zorder.pyiceberg.listing.listing import FileFilter, column_bounds, list_files, snapshots_to
from iceberg_zorder.pyiceberg.partitions import Partitions
from iceberg_zorder.pyiceberg.plan.rewrite_spec import RewriteSpec, branch_snapshot, row_order
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext
from iceberg_zorder.pyiceberg.plan.selection import explicit_target, size_rules
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder, known_sort_order
from iceberg_zorder.pyiceberg.read.projection import field_paths, file_fields
from iceberg_zorder.rewrite.options import (
    MEMORY_LIMIT,
    SPILL_DIRECTORY,
    OptionValue,
    RewriteOptions,
    option_text,
    rewrite_options,
    sort_order_text,
)
from iceberg_zorder.rewrite.table_defaults import COLUMNS_PROPERTY, completed_options
from iceberg_zorder.sort.codecs import leaf

FILE_BYTES = 8 * 1024 * 1024
"""The default size from which a new file of an append is worth its opening, if the target is not smaller."""
_TARGET = 512 * 1024 * 1024
"""Iceberg's own target size."""
OPTIONS = (
    "boundaries",
    "column-weights",
    "sample-rows",
    "sample-seed",
    "size-tolerance",
    "target-file-size-bytes",
    MEMORY_LIMIT,
    SPILL_DIRECTORY,
)
"""The options of a rewrite that an append has, too."""


@dataclass(frozen=True)
class AppendSpec:
    """An append, resolved on a table's current state."""

    order: ResolvedSortOrder
    options: RewriteOptions
    branch: str
    file_bytes: int  # the least size of a new file, unless the rows of its partition have less
    target: int  # the most bytes of a new file, about

    def files(self, rows: int, row_bytes: float) -> int:
        """Return how many files so many rows are worth, at least 1."""
        return max(1, int(rows * row_bytes) // self.file_bytes)


def append_spec(
    table: Table,
    columns: Sequence[str] | str | None,
    options: Mapping[str, OptionValue] | None,
    branch: str | None,
    file_bytes: int | None,
    *,
    known: Sequence[str] = OPTIONS,
    case_sensitive: bool = False,
) -> AppendSpec:
    """Resolve the arguments of an append; raises InvalidInputError."""
    name, given = display_name(table), {key: option_text(key, value) for key, value in (options or {}).items()}
    rewrite_options(given)
    if other := sorted(set(given) - set(known)):
        raise InvalidInputError(
            f"Cannot append to {name} with option {other[0]}, because an append has only {', '.join(known)}"
        )
    if file_bytes is not None and (type(file_bytes) is not int or file_bytes < 1):
        raise InvalidInputError(
            f"Cannot append to {name} with file_bytes {file_bytes}, because it must be a positive whole number"
        )
    branch = branch or MAIN_BRANCH
    snapshots = snapshots_to(table, branch_snapshot(table, branch, "append rows"))
    by = None if columns is None else sort_order_text(name, columns)
    whole = completed_options(name, table.properties, given, by, case_sensitive=case_sensitive)
    read = rewrite_options({key: value for key, value in whole.items() if key in known})
    by = known_sort_order(table, snapshots, case_sensitive=case_sensitive) if by is None else by
    if by is None:
        raise InvalidInputError(
            f"Cannot append to {name}, because no columns are named, it has no property {COLUMNS_PROPERTY}, and no "
            "rewrite has clustered it: name columns, for example 'zorder(a, b)'"
        )
    size_rules(table, read)  # refuses sizes out of their domains
    explicit = explicit_target(table, read)
    last = next((each.target[0] for each in reversed(snapshots) if each.target), _TARGET)
    target = explicit.size if explicit else last
    return AppendSpec(
        row_order(table, RewriteSpec(by, case_sensitive=case_sensitive), read),
        read,
        branch,
        min(FILE_BYTES, target) if file_bytes is None else file_bytes,
        target,
    )


def row_bytes(head: Snapshot | None) -> float | None:
    """Return the bytes of a row in a table's files, by the summary of its snapshot; None if it does not say."""
    summary = head.summary if head else None
    size, rows = (
        int(text) if summary and (text := summary.additional_properties.get(key) or "").isdecimal() else 0
        for key in ("total-files-size", "total-records")
    )
    return size / rows if size and rows else None


def append_layouts(
    table: Table, spec: AppendSpec, batch: pa.RecordBatch, partitions: Partitions, rows: int, bytes_of_row: float
) -> dict[int, Layout]:
    """Return the layouts of the partitions whose rows are worth several files, by the partitions' numbers.

    Parameters
    ----------
    table : Table
        The table; its manifests are read if any partition is worth several files.
    spec : AppendSpec
        What to append by.
    batch : RecordBatch
        Sampled rows, each as likely as any other, whose columns have field ids; at least one row.
    partitions : Partitions
        The numbers of partitions, which may be completed.
    rows : int
        The number of all rows.
    bytes_of_row : float
        The bytes of a row in a file.
    """
    numbers = partitions.number(partitions.transformed(batch), batch.num_rows)
    counts = np.bincount(numbers, minlength=len(partitions.records))
    sizes = [int(count * (rows / batch.num_rows) * bytes_of_row) for count in counts.tolist()]
    files = append_files(sizes, spec.file_bytes, spec.target)
    wanted = {number: count for number, count in enumerate(files) if count > 1}
    if not wanted:
        return {}
    there = _files_there(table, spec.branch, {number: partitions.records[number] for number in wanted})
    paths = field_paths(file_fields(batch.schema, None))
    lengths = SampleContext(table, spec.order, spec.options.layout).sampled_lengths(batch.num_rows)
    keys = [
        encode(array if length is None else cut(array, length), column.type)
        for column, length, field_id in zip(spec.order.named, lengths, spec.order.field_ids, strict=True)
        for array in [leaf(batch, paths[field_id])]
    ]
    found = {}
    for number, count in wanted.items():
        sample = Sample(tuple(keys)).take(np.flatnonzero(numbers == number))
        boxes = _boxes(table, spec.order, there[number], lengths)
        request = spec.order.layout_request(spec.options.layout, count)
        found[number] = fit_appended(spec.order.named, sample, request, boxes)
    return found


def _files_there(table: Table, branch: str, records: Mapping[int, Record]) -> dict[int, list[DataFile]]:
    """Return the data files of some partitions of the table's spec, by the partitions' numbers."""
    spec_id, found = table.spec().spec_id, {number: list[DataFile]() for number in records}
    numbers = {
        (spec_id, *[identity(record[place]) for place in range(len(record))]): number
        for number, record in records.items()
    }
    head = branch_snapshot(table, branch, "append rows")
    for task in list_files(table, head, FileFilter.from_where(table)) if head else ():
        number = numbers.get(partition_of(task.data_file))
        if number is not None:
            found[number].append(task.data_file)
    return found


def _boxes(table: Table, order: ResolvedSortOrder, files: Sequence[DataFile], lengths: Sequence[int | None]) -> Boxes:
    """Return the boxes of files that have bounds of every column."""
    bounds = [
        column_bounds(files, table.schema().find_field(field_id), column, length)
        for column, field_id, length in zip(order.named, order.field_ids, lengths, strict=True)
    ]
    bounded = np.flatnonzero(np.logical_and.reduce([each.bounded for each in bounds]))
    sizes = np.array([file.file_size_in_bytes for file in files], np.int64)
    return Boxes(
        tuple(each.lower.take(bounded) for each in bounds),
        tuple(each.upper.take(bounded) for each in bounds),
        sizes[bounded],
    )
