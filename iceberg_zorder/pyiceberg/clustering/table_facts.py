"""Collect what a clustering report is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.table import Table
from pyiceberg.types import NestedField

from iceberg_zorder.pyiceberg.content_files import Partition, partition_of
from iceberg_zorder.pyiceberg.display import display_name, sql_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask
from iceberg_zorder.pyiceberg.metrics_config import metrics_config
from iceberg_zorder.pyiceberg.plan.last_order import is_by_order
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.selection.sizes import size_rules
from iceberg_zorder.pyiceberg.plan.selection.target_size import found_target
from iceberg_zorder.pyiceberg.scan.file_arrays import file_arrays, new_files_read
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.report.findings import RewriteCommand
from iceberg_zorder.report.history import SnapshotFacts, layout_history
from iceberg_zorder.report.measure import FileSizes, PredicateFacts, TableFacts
from iceberg_zorder.request.rewrite_options import RewriteOptions


@dataclass(frozen=True, eq=False)
class FactsRequest:
    """What is reported on.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    branch : str
        The branch.
    sort_order : str
        The clustering columns, as a rewrite takes them.
    where : str or None
        The filter, for people.
    order : RowOrder
        The clustering columns.
    options : RewriteOptions
        What the table remembers.
    snapshots : sequence of SnapshotFacts
        The branch's snapshots, oldest first.
    predicates : sequence of (str, Listing)
        Conditions, as they were written and as they choose files.
    rewrite_command : callable
        Writes the command of a rewrite with some options.
    """

    table: Table
    branch: str
    sort_order: str
    where: str | None
    order: RowOrder
    options: RewriteOptions
    snapshots: Sequence[SnapshotFacts]
    predicates: Sequence[tuple[str, Listing]]
    rewrite_command: RewriteCommand


def table_facts(request: FactsRequest, tasks: Sequence[DataFileTask]) -> TableFacts:
    """Collect the facts of data files."""
    table = request.table
    listed = _Listed(request, [task.data_file for task in tasks])
    options = request.options
    of_partitions = np.bincount(listed.files.partitions, listed.files.sizes).astype(np.int64)
    is_filtered = request.where is not None
    found = found_target(options, request.snapshots, of_partitions, is_filtered=is_filtered)
    sizes = size_rules(table, options, found)
    added_by = np.array([-1 if task.added_by is None else task.added_by for task in tasks], np.int64)
    spec_id = table.spec().spec_id
    delete_files = {file.file_path: file for task in tasks for file in (*task.position_deletes, *task.equality_deletes)}
    by_equality = sum(file.content == DataFileContent.EQUALITY_DELETES for file in delete_files.values())
    config, schema = metrics_config(table), table.schema()
    return TableFacts(
        table=display_name(table),
        sql_name=sql_name(table),
        branch=request.branch,
        snapshot_id=request.snapshots[-1].snapshot_id if request.snapshots else None,
        where=request.where,
        sort_order=request.sort_order,
        files=listed.files,
        partition_names=listed.partition_names,
        metrics=[str(config.mode(schema.find_column_name(each) or "")) for each in request.order.field_ids],
        sizes=FileSizes(
            sizes.target_file_size,
            sizes.min_file_size,
            sizes.max_file_size,
            options.min_input_files,
            sizes.expected_output_files,
        ),
        layout=request.order.layout_request(options.layout),
        of_old_specs=np.array([task.data_file.spec_id != spec_id for task in tasks], np.bool_),
        with_deletes=np.array([bool(task.position_deletes or task.equality_deletes) for task in tasks], np.bool_),
        position_delete_files=len(delete_files) - by_equality,
        equality_delete_files=by_equality,
        history=layout_history(
            request.snapshots, added_by, listed.files, partial(is_by_order, table, request.order, options.layout.cuts)
        ),
        rewrite_command=request.rewrite_command,
        predicates=[
            PredicateFacts(
                text,
                np.array([listing.may_match(task.data_file) for task in tasks], np.bool_),
                partial(listed.matching, listing),
            )
            for text, listing in request.predicates
        ],
    )


class _Listed:
    """Data files as arrays, and new ones of the same partitions as data files."""

    def __init__(self, request: FactsRequest, files: Sequence[DataFile]) -> None:
        self._table = request.table
        self._fields: list[NestedField] = [self._table.schema().find_field(each) for each in request.order.field_ids]
        self._first_of: dict[Partition, DataFile] = {}
        numbers: dict[Partition, int] = {}
        partitions = np.empty(len(files), np.int64)
        for place, file in enumerate(files):
            partition = partition_of(file)
            partitions[place] = numbers.setdefault(partition, len(numbers))
            self._first_of.setdefault(partition, file)
        self.files = file_arrays(files, self._fields, request.order.named, partitions=partitions)

    @cached_property
    def partition_names(self) -> list[str]:
        """Name each partition as its directory is named, of another spec with that."""
        return [self._name(file) for file in self._first_of.values()]

    def _name(self, file: DataFile) -> str:
        specs, current = self._table.specs(), self._table.spec().spec_id
        path = specs[file.spec_id].partition_to_path(file.partition, self._table.schema())
        return path if file.spec_id == current else f"spec {file.spec_id}: {path}".rstrip(": ")

    def matching(self, listing: Listing, files: DataFiles) -> npt.NDArray[np.bool_]:
        """Tell which of some new files a condition does not rule out."""
        return new_files_read(listing, files, self._fields, list(self._first_of.values()))
