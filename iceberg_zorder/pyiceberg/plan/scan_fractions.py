"""Scan fractions of file groups: of the data files of today, as predicted, and of those that were written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.types import NestedField

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import NULL, KeyColumn, domain
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg.content_files import joined_file
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.kept_bounds import KeptBounds
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.scan.file_arrays import file_arrays, new_data_files, new_files_read
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.pyiceberg.scan.requested_workload import BytesRead, RequestedWorkload
from iceberg_zorder.report.attainable import new_files
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.report.scan_fraction import BoundedRows, scan_fraction_of_groups
from iceberg_zorder.report.scan_prediction import SampledGroup
from iceberg_zorder.request.reasons import COLUMNS, QUERIES
from iceberg_zorder.request.result import ColumnScan, PredicateScan, WorkloadScan
from iceberg_zorder.request.rewrite_messages import gains_and_losses

_TODAY, _PLANNED, _WRITTEN = "today", "planned", "written"


@dataclass(frozen=True, eq=False)
class MeasuredGroup:
    """The files of a file group: today, as its layout is predicted to make them, and once they are written.

    Rows whose values are looked for have not made the layout, where there are others. Of all file groups together they
    are about as many as are sampled (``sample-rows``, and one a group), and their keys take at most about 128 MiB a
    column.
    """

    values: Sample  # of the rows whose values are looked for
    rows: int  # of the group
    today: DataFiles
    planned: DataFiles
    written: DataFiles | None = None
    reads: Mapping[str, BytesRead | None] = field(default_factory=dict)  # of a workload's queries, by which files
    may_find: npt.NDArray[np.bool_] | None = None  # which queries its rows may be of use to


class ScanFractions:
    """Measures file groups of one plan, all by the same function.

    The sampled keys of columns are cut to some bytes, and bounds with them, as ``lengths`` says. With a workload,
    groups are judged by its queries instead of by equality with values of the columns.
    """

    def __init__(
        self,
        table: Table,
        order: RowOrder,
        kept: KeptBounds,
        lengths: Sequence[int | None],
        workload: RequestedWorkload | None = None,
    ) -> None:
        self.workload = workload
        self._order = order
        self._kept = kept
        self._lengths = lengths
        self.fields = [table.schema().find_field(each) for each in order.field_ids]
        """The columns in the table's schema as it is now."""
        self.over = QUERIES if workload else COLUMNS
        """What scan fractions are averaged over, for messages."""

    def files(self, files: Sequence[DataFile]) -> DataFiles:
        """Describe data files by their manifest entries."""
        return file_arrays(files, self.fields, self._order.named, lengths=self._lengths)

    def group(self, sampled: SampledGroup, group: FileGroup) -> MeasuredGroup:
        """Measure a group by its sample and its data files."""
        files = [task.data_file for task in group.tasks]
        looked_for = sampled.held_out if sampled.held_out.rows else sampled.fitted
        values = Sample(looked_for.columns[len(self._order.partition) :])
        found = MeasuredGroup(values, sampled.rows, self.files(files), self.planned_files(sampled))
        if self.workload:
            reads = {_TODAY: self.workload.read_of(files)}
            found = replace(found, reads=reads, may_find=self.workload.may_find(files))
        return self._with_planned(found, found.planned, group)

    def planned_anew(self, measured: MeasuredGroup, sampled: SampledGroup, group: FileGroup) -> MeasuredGroup:
        """Take a layout for another one of the same group."""
        return self._with_planned(measured, self.planned_files(sampled), group)

    def _with_planned(self, measured: MeasuredGroup, planned: DataFiles, group: FileGroup) -> MeasuredGroup:
        if self.workload is None or measured.may_find is None:
            return replace(measured, planned=planned)
        new = new_data_files(planned, self.fields, [group.like])
        size, read = self.workload.read_of(new, are_placed=group.like is not None)
        found = BytesRead(size, np.where(measured.may_find, read, 0))
        return replace(measured, planned=planned, reads={**measured.reads, _PLANNED: found})

    def with_written(self, measured: MeasuredGroup, files: Sequence[DataFile]) -> MeasuredGroup:
        """Take note of the new files of a group."""
        read = self.workload.read_of(files) if self.workload else None
        return replace(measured, written=self.files(files), reads={**measured.reads, _WRITTEN: read})

    def planned_files(self, group: SampledGroup) -> DataFiles:
        """Describe the files that a layout is predicted to make; of one that was fitted to no row nothing is known."""
        if not group.fitted.rows:
            return _unknown(group, self._order.named)
        found = new_files({0: group}, self._order.all)
        columns = zip(found.columns[len(self._order.partition) :], self._kept.are_kept, strict=True)
        bounded = tuple(each if is_kept else _unbounded(each) for each, is_kept in columns)
        return DataFiles(found.partitions, found.rows, found.sizes, bounded)

    def means(self, groups: Sequence[MeasuredGroup]) -> tuple[float | None, float | None]:
        """Average over the workload's queries, or over the columns by their weights: before, and as predicted."""
        if self.workload:
            return self._mean_read(groups, _TODAY), self._mean_read(groups, _PLANNED)
        return self._order.mean(self.before(groups)), self._order.mean(self.predicted(groups))

    def _mean_read(self, groups: Sequence[MeasuredGroup], which: str) -> float | None:
        return self.workload.mean(each.reads.get(which) for each in groups) if self.workload else None

    def workload_scan(self, groups: Sequence[MeasuredGroup]) -> WorkloadScan | None:
        """Tell what the queries of the workload read of groups; None without one."""
        if self.workload is None:
            return None
        reads = (self._mean_read(groups, each) for each in (_TODAY, _PLANNED, _WRITTEN))
        return WorkloadScan(len(self.workload.queries), *reads)

    def column_scans(self, groups: Sequence[MeasuredGroup]) -> tuple[ColumnScan, ...]:
        """Give the scan fractions of file groups by column: before, predicted, and actual if files are written."""
        before, predicted, actual = self.before(groups), self.predicted(groups), self.actual(groups)
        names = [column.name for column in self._order.named if column.name in before]
        return tuple(ColumnScan(name, before[name], predicted.get(name), actual.get(name)) for name in names)

    def gains_and_losses(self, groups: Sequence[MeasuredGroup], *, rewrite_all: bool) -> list[str]:
        """Say, in sentences, which columns pay for the others, and whether the whole gets worse."""
        before, predicted = self.means(groups)
        if before is None or predicted is None:
            return []
        by_column, means = (self.before(groups), self.predicted(groups)), (before, predicted)
        return gains_and_losses(*by_column, means, rewrite_all=rewrite_all, over=self.over)

    def before(self, groups: Sequence[MeasuredGroup]) -> dict[str, float]:
        """Measure, by column, among the data files of today."""
        return self._measured([(each, each.today) for each in groups])

    def predicted(self, groups: Sequence[MeasuredGroup]) -> dict[str, float]:
        """Predict by column; without bounds every file is read."""
        found = self._measured([(each, each.planned) for each in groups], self._kept.cuts)
        kept = {column.name for column, is_kept in zip(self._order.named, self._kept.are_kept, strict=True) if is_kept}
        return {name: fraction if name in kept else 1.0 for name, fraction in found.items()}

    def actual(self, groups: Sequence[MeasuredGroup]) -> dict[str, float]:
        """Measure, by column, among the files that were written."""
        return self._measured([(each, each.written) for each in groups if each.written is not None])

    def _measured(
        self,
        groups: Sequence[tuple[MeasuredGroup, DataFiles]],
        kept: Sequence[Callable[[bytes], bytes] | None] | None = None,
    ) -> dict[str, float]:
        """Measure, by column, among data files of file groups; columns without a value are left out.

        Where their bounds are not truncated yet, ``kept`` tells for each column what is kept of a key.
        """
        found = {}
        for place, column in enumerate(self._order.named):
            bounded = [
                BoundedRows(files.columns[place], files.sizes, group.values.columns[place], group.rows)
                for group, files in groups
            ]
            fraction = scan_fraction_of_groups(bounded, kept[place] if kept else None)
            if fraction is not None:
                found[column.name] = fraction
        return found


def predicate_scan(
    text: str,
    listing: Listing,
    groups: Sequence[FileGroup],
    measured: Sequence[MeasuredGroup],
    fields: Sequence[NestedField],
) -> PredicateScan:
    """Measure what a condition reads of file groups, and predict it of their new files."""
    files = [task.data_file for group in groups for task in group.tasks]
    before = _share([(file.file_size_in_bytes, listing.may_match(file)) for file in files])
    new: list[tuple[int, bool]] = []
    for group, of_group in zip(groups, measured, strict=True):
        read = new_files_read(listing, of_group.planned, fields, [group.like])
        # What data files hold together, those hold that are made of them.
        read &= listing.values_may_match(joined_file([task.data_file for task in group.tasks], listing.kept_fields))
        new += zip(of_group.planned.sizes.tolist(), read.tolist(), strict=True)
    return PredicateScan(text, before, _share(new))


def _share(files: Sequence[tuple[int, bool]]) -> float | None:
    total = sum(size for size, _ in files)
    return sum(size for size, is_read in files if is_read) / total if total else None


def _unbounded(bounds: ColumnBounds) -> ColumnBounds:
    """Take the bounds away, and leave how many values there are."""
    lower, upper = (KeyColumn(each.keys, np.full(each.rows, NULL, np.uint8)) for each in (bounds.lower, bounds.upper))
    return ColumnBounds(bounds.column, lower, upper, bounds.valued)


def _unknown(group: SampledGroup, columns: Sequence[ClusteringColumn]) -> DataFiles:
    """Describe a file group as a file that every filter reads."""
    state = np.array([NULL], np.uint8)
    bounds = []
    for column in columns:
        keys = np.zeros(1, np.int64) if domain(column.type) == "long" else pa.array([b""], pa.large_binary())
        bounds.append(ColumnBounds(column, KeyColumn(keys, state), KeyColumn(keys, state), np.ones(1)))
    one = np.zeros(1, np.int64)
    return DataFiles(one, one + group.rows, one + group.size, tuple(bounds))
