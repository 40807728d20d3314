"""Scan fractions of file groups: of the data files of today, as predicted, and of those that were written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import NestedField

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import NULL, KeyColumn, domain
from iceberg_zorder.layout.sample import Sample
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
from iceberg_zorder.request.result import PredicateScan, WorkloadScan
from iceberg_zorder.request.rewrite_messages import COLUMNS, QUERIES, gains_and_losses


@dataclass(frozen=True, eq=False)
class GroupReads:
    """What the queries of a workload read of a file group.

    Parameters
    ----------
    before, predicted, actual : BytesRead or None
        Of its data files, of those that its layout is predicted to make, and of those that were written; None if it is
        not known, or there is no workload.
    may_find : ndarray of bool, shape (queries,), or None
        Which of them its rows may be of use to; None without a workload.
    """

    before: BytesRead | None = None
    predicted: BytesRead | None = None
    actual: BytesRead | None = None
    may_find: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class MeasuredGroup:
    """What a file group is measured by: its data files, and rows whose values are looked for.

    Parameters
    ----------
    values : Sample
        Rows that have not made the layout, or where there are no others those that have. Of all file groups together
        they are about as many as are sampled (``sample-rows``, and one a group), whose keys take at most about 128 MiB
        a column.
    rows : int
        The rows of the group.
    today, planned : DataFiles
        Its data files, and those that its layout is predicted to make.
    read : GroupReads, optional
        What the queries of a workload read of them.
    """

    values: Sample
    rows: int
    today: DataFiles
    planned: DataFiles
    read: GroupReads = GroupReads()


class ScanFractions:
    """Measures file groups of one plan, all by the same function.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table, of which the schema is taken as it is now.
    order : RowOrder
        The columns.
    kept : KeptBounds
        What new files keep of the columns that were named.
    lengths : sequence of (int or None)
        To how many bytes the sampled keys of these columns are cut, and bounds with them; None for short ones.
    workload : RequestedWorkload, optional
        The queries by which groups are judged, instead of by equality with values of the columns.
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
        schema: Schema = table.schema()
        self.fields = [schema.find_field(each) for each in order.field_ids]
        """The columns in the table's schema."""

    def files(self, files: Sequence[DataFile]) -> DataFiles:
        """Describe data files by their manifest entries."""
        return file_arrays(files, self.fields, self._order.named, lengths=self._lengths)

    def values(self, group: SampledGroup) -> Sample:
        """Choose the rows of a group whose values are looked for."""
        looked_for = group.held_out if group.held_out.rows else group.fitted
        return Sample(looked_for.columns[len(self._order.partition) :])

    def planned(self, groups: Mapping[int, SampledGroup]) -> DataFiles:
        """Describe the files that layouts are predicted to make, by the number of the group."""
        found = new_files(groups, self._order.all)
        columns = zip(found.columns[len(self._order.partition) :], self._kept.are_kept, strict=True)
        bounded = tuple(each if is_kept else _unbounded(each) for each, is_kept in columns)
        return DataFiles(found.partitions, found.rows, found.sizes, bounded)

    def group(self, sampled: SampledGroup, group: FileGroup) -> MeasuredGroup:
        """Measure a group by its sample and its data files."""
        files, planned = [task.data_file for task in group.tasks], self.planned_of(sampled)
        reads = GroupReads()
        if self.workload:
            reads = GroupReads(self.workload.read_of(files), may_find=self.workload.may_find(files))
        reads = replace(reads, predicted=self._read_of_planned(planned, group, reads))
        return MeasuredGroup(self.values(sampled), sampled.rows, self.files(files), planned, reads)

    def planned_anew(self, measured: MeasuredGroup, sampled: SampledGroup, group: FileGroup) -> MeasuredGroup:
        """Take a layout for another one of the same group."""
        planned = self.planned_of(sampled)
        reads = replace(measured.read, predicted=self._read_of_planned(planned, group, measured.read))
        return replace(measured, planned=planned, read=reads)

    def _read_of_planned(self, planned: DataFiles, group: FileGroup, reads: GroupReads) -> BytesRead | None:
        if self.workload is None or reads.may_find is None:
            return None
        new = new_data_files(planned, self.fields, [group.like])
        return self.workload.read_of_new(new, reads.may_find, are_placed=group.like is not None)

    def written(self, measured: MeasuredGroup, files: Sequence[DataFile]) -> tuple[MeasuredGroup, DataFiles]:
        """Measure the new files of a group."""
        read = self.workload.read_of(files) if self.workload else None
        return replace(measured, read=replace(measured.read, actual=read)), self.files(files)

    def means(self, groups: Sequence[MeasuredGroup]) -> tuple[float | None, float | None]:
        """Average over the queries of the workload, or else over the columns: before, and as predicted."""
        if self.workload:
            before = self.workload.mean(each.read.before for each in groups)
            return before, self.workload.mean(each.read.predicted for each in groups)
        return self.mean(self.before(groups)), self.mean(self.predicted(groups))

    def workload_scan(
        self, groups: Sequence[MeasuredGroup], written: Sequence[tuple[MeasuredGroup, DataFiles]] = ()
    ) -> WorkloadScan | None:
        """Tell what the queries of the workload read of groups, and of new files if there are any; None without one."""
        if self.workload is None:
            return None
        before, predicted = self.means(groups)
        actual = self.workload.mean(group.read.actual for group, _ in written)
        return WorkloadScan(len(self.workload.queries), before, predicted, actual)

    def planned_of(self, group: SampledGroup) -> DataFiles:
        """Describe the files of one layout; of one that was fitted to nothing, nothing is known."""
        return self.planned({0: group}) if group.fitted.rows else _unknown(group, self._order.named)

    def gains_and_losses(self, groups: Sequence[MeasuredGroup], *, rewrite_all: bool) -> list[str]:
        """Say, in sentences, which columns pay for the others, and whether the whole gets worse."""
        before, predicted = self.means(groups)
        if before is None or predicted is None:
            return []
        by_column, means = (self.before(groups), self.predicted(groups)), (before, predicted)
        return gains_and_losses(*by_column, means, rewrite_all=rewrite_all, over=self.over)

    @property
    def over(self) -> str:
        """What scan fractions are averaged over, for messages."""
        return QUERIES if self.workload else COLUMNS

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self._order.named]

    def mean(self, fractions: Mapping[str, float]) -> float | None:
        """Average over the columns by their weights; None without any."""
        return self._order.mean(fractions)

    def before(self, groups: Sequence[MeasuredGroup]) -> dict[str, float]:
        """Measure, by column, among the data files of today."""
        return self.measured([(each, each.today) for each in groups])

    def predicted(self, groups: Sequence[MeasuredGroup]) -> dict[str, float]:
        """Predict by column; without bounds every file is read."""
        found = self.measured([(each, each.planned) for each in groups], self._kept.cuts)
        is_kept = dict(zip(self.columns, self._kept.are_kept, strict=True))
        return {name: fraction if is_kept[name] else 1.0 for name, fraction in found.items()}

    def measured(
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
        read &= listing.new_values_may_match([task.data_file for task in group.tasks])
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
