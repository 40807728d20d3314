"""Scan fractions of file groups: of the data files of today, as predicted, and of those that were written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.types import NestedField

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import NULL, KeyColumn, domain
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg.content_files import joined_file
from iceberg_zorder.pyiceberg.file_groups import BytesRead, FileGroup, GroupResult, SampledGroup
from iceberg_zorder.pyiceberg.kept_bounds import KeptBounds
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.scan.file_arrays import file_arrays, new_data_files, new_files_read
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.report.attainable import new_files
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.report.scan_fraction import BoundedRows, scan_fraction_of_groups
from iceberg_zorder.report.scan_prediction import LaidOutSample
from iceberg_zorder.request.reasons import COLUMNS, QUERIES
from iceberg_zorder.request.result import ColumnScan, PredicateScan, WorkloadScan


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
        self.kept = kept
        self.lengths = tuple(lengths)
        self.fields = [table.schema().find_field(each) for each in order.field_ids]
        """The columns in the table's schema as it is now."""
        self.over = QUERIES if workload else COLUMNS
        """What scan fractions are averaged over, for messages."""

    def files(self, files: Sequence[DataFile]) -> DataFiles:
        """Describe data files by their manifest entries."""
        return file_arrays(files, self.fields, self._order.named, lengths=self.lengths)

    def group(self, group: FileGroup, sample: LaidOutSample) -> SampledGroup:
        """Measure a group by its sample and its data files."""
        files = [task.data_file for task in group.tasks]
        looked_for = sample.held_out if sample.held_out.rows else sample.fitted
        values = Sample(looked_for.columns[len(self._order.partition) :])
        today = self.files(files)
        found = SampledGroup(group, sample.layout, values, today, today)
        if self.workload:
            found = replace(found, read_today=self.workload.read_of(files), may_find=self.workload.may_find(files))
        return self.with_layout(replace(found, scan_fractions_before=self.before([found])), sample)

    def with_layout(self, measured: SampledGroup, sample: LaidOutSample, files: int | None = None) -> SampledGroup:
        """Take a layout for another one of the same group, of so many files if another number is expected."""
        group, planned, read = measured.group, self.planned_files(sample), None
        if files is not None:
            group = replace(group, expected_output_files=files)
        if self.workload and measured.may_find is not None:
            new = new_data_files(planned, self.fields, [group.like])
            size, found = self.workload.read_of(new, are_placed=group.like is not None)
            read = BytesRead(size, np.where(measured.may_find, found, 0))
        laid_out = replace(measured, group=group, layout=sample.layout, planned=planned, read_planned=read)
        predicted = self.predicted([laid_out])
        before, after = self._order.mean(measured.scan_fractions_before), self._order.mean(predicted)
        if scan := self.workload_scan([laid_out]):
            before, after = scan.before, scan.predicted
        means = None if before is None or after is None else (before, after)
        return replace(laid_out, scan_fractions=predicted, means=means)

    def result(self, sampled: SampledGroup, files: Sequence[DataFile]) -> GroupResult:
        """Measure the new files of a group."""
        read = self.workload.read_of(files) if self.workload else None
        return GroupResult(sampled, tuple(files), self.files(files), read)

    def planned_files(self, group: LaidOutSample) -> DataFiles:
        """Describe the files that a layout is predicted to make; of one that was fitted to no row nothing is known."""
        if not group.fitted.rows:
            return _unknown(group, self._order.named)
        found = new_files({0: group}, self._order.all)
        columns = zip(found.columns[len(self._order.partition) :], self.kept.are_kept, strict=True)
        bounded = tuple(each if is_kept else _unbounded(each) for each, is_kept in columns)
        return DataFiles(found.partitions, found.rows, found.sizes, bounded)

    def means(self, groups: Sequence[SampledGroup]) -> tuple[float | None, float | None]:
        """Average over the workload's queries, or over the columns by their weights: before, and as predicted."""
        scan = self.workload_scan(groups)
        if scan is not None:
            return scan.before, scan.predicted
        return self._order.mean(self.before(groups)), self._order.mean(self.predicted(groups))

    def workload_scan(self, groups: Sequence[SampledGroup], results: Sequence[GroupResult] = ()) -> WorkloadScan | None:
        """Tell what the queries of the workload read of groups, and of their new files; None without one."""
        if self.workload is None:
            return None
        reads = (
            [each.read_today for each in groups],
            [each.read_planned for each in groups],
            [each.read for each in results],
        )
        return WorkloadScan(len(self.workload.queries), *map(self.workload.mean, reads))

    def column_scans(
        self, groups: Sequence[SampledGroup], results: Sequence[GroupResult] = ()
    ) -> tuple[ColumnScan, ...]:
        """Give the scan fractions of file groups by column: before, predicted, and actual if files are written."""
        before, predicted, actual = self.before(groups), self.predicted(groups), self.actual(results)
        names = [column.name for column in self._order.named if column.name in before]
        return tuple(ColumnScan(name, before[name], predicted.get(name), actual.get(name)) for name in names)

    def before(self, groups: Sequence[SampledGroup]) -> dict[str, float]:
        """Measure, by column, among the data files of today."""
        return self._measured([(each, each.today) for each in groups])

    def predicted(self, groups: Sequence[SampledGroup]) -> dict[str, float]:
        """Predict by column; without bounds every file is read."""
        found = self._measured([(each, each.planned) for each in groups], self.kept.cuts)
        kept = {column.name for column, is_kept in zip(self._order.named, self.kept.are_kept, strict=True) if is_kept}
        return {name: fraction if name in kept else 1.0 for name, fraction in found.items()}

    def actual(self, results: Sequence[GroupResult]) -> dict[str, float]:
        """Measure, by column, among the files that were written."""
        return self._measured([(each.sampled, each.written) for each in results])

    def _measured(
        self,
        groups: Sequence[tuple[SampledGroup, DataFiles]],
        kept: Sequence[Callable[[bytes], bytes] | None] | None = None,
    ) -> dict[str, float]:
        """Measure, by column, among data files of file groups; columns without a value are left out.

        Where their bounds are not truncated yet, ``kept`` tells for each column what is kept of a key.
        """
        found = {}
        for place, column in enumerate(self._order.named):
            bounded = [
                BoundedRows(files.columns[place], files.sizes, group.values.columns[place], group.group.rows)
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
    sampled: Sequence[SampledGroup],
    fields: Sequence[NestedField],
) -> PredicateScan:
    """Measure what a condition reads of file groups, and predict it of their new files once they are sampled."""
    files = [task.data_file for group in groups for task in group.tasks]
    before = _share([(file.file_size_in_bytes, listing.may_match(file)) for file in files])
    new: list[tuple[int, bool]] = []
    for each in sampled:
        read = new_files_read(listing, each.planned, fields, [each.group.like])
        # What data files hold together, those hold that are made of them.
        together = joined_file([task.data_file for task in each.group.tasks], listing.kept_fields)
        read &= listing.values_may_match(together)
        new += zip(each.planned.sizes.tolist(), read.tolist(), strict=True)
    return PredicateScan(text, before, _share(new))


def _share(files: Sequence[tuple[int, bool]]) -> float | None:
    total = sum(size for size, _ in files)
    return sum(size for size, is_read in files if is_read) / total if total else None


def _unbounded(bounds: ColumnBounds) -> ColumnBounds:
    """Take the bounds away, and leave how many values there are."""
    lower, upper = (KeyColumn(each.keys, np.full(each.rows, NULL, np.uint8)) for each in (bounds.lower, bounds.upper))
    return ColumnBounds(bounds.column, lower, upper, bounds.valued)


def _unknown(group: LaidOutSample, columns: Sequence[ClusteringColumn]) -> DataFiles:
    """Describe a file group as a file that every filter reads."""
    state = np.array([NULL], np.uint8)
    bounds = []
    for column in columns:
        keys = np.zeros(1, np.int64) if domain(column.type) == "long" else pa.array([b""], pa.large_binary())
        bounds.append(ColumnBounds(column, KeyColumn(keys, state), KeyColumn(keys, state), np.ones(1)))
    one = np.zeros(1, np.int64)
    return DataFiles(one, one + group.rows, one + group.size, tuple(bounds))
