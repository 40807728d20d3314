"""What filters read of a plan's file groups: today, as predicted, and of new files; with the files that stay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.types import NestedField

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import NULL, Beginning, KeyColumn, domain
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.metrics.attainable import new_files
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles
from iceberg_zorder.metrics.scan_cost import open_cost, planning_cost
from iceberg_zorder.metrics.scan_fraction import BoundedRows, FilterRead, LaidOutSample, filter_read, mean_filter_cost
from iceberg_zorder.metrics.spread_rows import rows_for, spread_rows
from iceberg_zorder.pyiceberg.bounds import KeptBounds
from iceberg_zorder.pyiceberg.files import (
    BytesRead,
    DataFileTask,
    FileGroup,
    GroupResult,
    SampledGroup,
    by_partition,
    joined_file,
    partition_of,
)
from iceberg_zorder.pyiceberg.listing.listing import (
    FileFilter,
    file_arrays,
    kept_fields,
    new_data_files,
    new_files_read,
)
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.rewrite.messages import COLUMNS, QUERIES, costs_less
from iceberg_zorder.rewrite.result import ColumnScan, PredicateScan, TableFiles, WorkloadScan
from iceberg_zorder.select.gain import rows_to_spread


class _Values(NamedTuple):
    """Made-up rows, for values that filters look for, and how many rows of data files they stand for."""

    sample: Sample
    rows: int


@dataclass(frozen=True, eq=False)
class ScanMeasure:
    """What the scan fractions of a plan are measured by: columns with their bounds, queries, and the files that stay.

    A workload replaces the filters ``column = value``.
    """

    order: ResolvedSortOrder
    fields: tuple[NestedField, ...]  # the columns in the table's schema
    kept: KeptBounds  # the lower/upper bounds that new files keep of each column
    lengths: tuple[int | None, ...]  # bytes that sampled keys and bounds are cut to, by column; None for whole values
    open_cost: int
    workload: RequestedWorkload | None = None
    filtered: tuple[NestedField, ...] = ()  # the workload's columns for which new files keep bounds
    left: DataFiles | None = None  # the files that the plan leaves; None without any
    left_rows: Sample | None = None  # rows spread over these files
    left_read: BytesRead | None = None  # what the workload reads of these files

    @property
    def over(self) -> str:
        """The set that scan fractions are averaged over, for messages."""
        return QUERIES if self.workload else COLUMNS


def scan_measure(
    table: Table,
    order: ResolvedSortOrder,
    kept: KeptBounds,
    lengths: Sequence[int | None],
    workload: RequestedWorkload | None = None,
) -> ScanMeasure:
    """Return what scan fractions are measured by on a table's current schema, before its plan leaves files."""
    fields = tuple(table.schema().find_field(each) for each in order.field_ids)
    filtered = tuple(kept_fields(table, workload.filters)) if workload else ()
    return ScanMeasure(order, fields, kept, tuple(lengths), open_cost(table.properties), workload, filtered)


def with_left(measure: ScanMeasure, left: Sequence[DataFileTask]) -> ScanMeasure:
    """Return the measure of a plan that leaves these files."""
    if not left:
        return measure
    files = _by_path(left)
    described = described_files(measure, files)
    rows = spread_rows(described, rows_for(len(files)))[0]
    read = measure.workload.read_of(files) if measure.workload else None
    return replace(measure, left=described, left_rows=rows, left_read=read)


def _by_path(tasks: Iterable[DataFileTask]) -> list[DataFile]:
    """Return data files by path: rows are spread over files in an order that is equal in both engines."""
    return sorted((task.data_file for task in tasks), key=lambda file: file.file_path)


def described_files(measure: ScanMeasure, files: Sequence[DataFile]) -> DataFiles:
    """Return data files as arrays, from their manifest entries."""
    return file_arrays(files, measure.fields, measure.order.named, lengths=measure.lengths)


def sampled_group(
    measure: ScanMeasure, group: FileGroup, sample: LaidOutSample, others: _Values | None = None
) -> SampledGroup:
    """Return a group with its measures, from its sample and data files.

    Filters look for the values of the group, and to judge the gain also for those of ``others``: the rows of its
    partition outside of it, as the choice of files did.
    """
    files = [task.data_file for task in group.tasks]
    looked_for = sample.held_out if sample.held_out.rows else sample.fitted
    values = Sample(looked_for.columns[len(measure.order.partition) :])
    today, planned = described_files(measure, files), planned_files(measure, sample)
    measured = SampledGroup(group, sample.layout, values, today, planned)
    if measure.workload:
        new = new_data_files(planned, measure.fields, [group.example])
        of_new = measure.workload.read_of(new, are_placed=group.example is not None)
        may_find = measure.workload.may_find(files, measure.filtered)
        planned_read = BytesRead(of_new.all, *(np.where(may_find, each, 0) for each in (of_new.read, of_new.files)))
        measured = replace(measured, read_today=measure.workload.read_of(files), read_planned=planned_read)
    kinds = ((today, None), (planned, measure.kept.cuts))
    before, predicted = judged = [_reads(measure, [(measured, of)], kept) for of, kept in kinds]
    if others is not None:
        judged = [_reads(measure, [(measured, of)], kept, others) for of, kept in kinds]
    costs = _costs(measure, measured, *judged)
    return replace(
        measured,
        scan_fractions={name: read.fraction for name, read in predicted.items()},
        scan_fractions_before={name: read.fraction for name, read in before.items()},
        costs=costs,
        gains=costs is None or costs_less(*costs),
    )


def group_result(measure: ScanMeasure, sampled: SampledGroup, files: Sequence[DataFile]) -> GroupResult:
    """Measure the new files of a group."""
    read = measure.workload.read_of(files) if measure.workload else None
    return GroupResult(sampled, tuple(files), described_files(measure, files), read)


def planned_files(measure: ScanMeasure, group: LaidOutSample) -> DataFiles:
    """Return the predicted new files; without bounds if the layout was fitted to no row."""
    if not group.fitted.rows:
        return _unknown(group, measure.order.named)
    described = new_files({0: group}, measure.order.all)
    columns = zip(described.columns[len(measure.order.partition) :], measure.kept.are_kept, strict=True)
    bounded = tuple(each if is_kept else _unbounded(each) for each, is_kept in columns)
    return DataFiles(described.partitions, described.rows, described.sizes, bounded)


def _costs(
    measure: ScanMeasure, group: SampledGroup, before: Mapping[str, FilterRead], predicted: Mapping[str, FilterRead]
) -> tuple[float, float] | None:
    """Return what a filter costs on average in a group's files today, and in its new files; None if unknown."""
    if measure.workload:
        reads = [
            measure.workload.mean_cost([each], measure.open_cost) for each in (group.read_today, group.read_planned)
        ]
        counts = group.today.count, group.planned.count
        today, after = (
            None if read is None else read + planning_cost(count, measure.open_cost)
            for read, count in zip(reads, counts, strict=True)
        )
        return None if today is None or after is None else (today, after)
    names = [name for name in before if name in predicted]
    if not names:
        return None
    weight_of = dict(zip((each.name for each in measure.order.named), measure.order.named_weights, strict=True))
    weights = [weight_of[name] for name in names]
    today, after = (
        mean_filter_cost([reads[name] for name in names], weights, files.bytes, files.count, measure.open_cost)
        for reads, files in ((before, group.today), (predicted, group.planned))
    )
    return today, after


def values_outside(
    measure: ScanMeasure, groups: Sequence[FileGroup], left: Iterable[DataFileTask]
) -> dict[int, _Values]:
    """Spread the rows of each group's partition outside of the group; given are the other files of the table.

    Returns them by the group's index. Groups of several partitions, and those that are all of theirs, have none.
    """
    files = _by_path([*(task for each in groups for task in each.tasks), *left])
    places_of, partition = by_partition(files), {}
    for group in groups:
        keys = {partition_of(task.data_file) for task in group.tasks}
        if len(keys) == 1 and len(places_of[key := keys.pop()]) > len(group.tasks):
            partition[group.index] = key
    distinct = [*dict.fromkeys(partition.values())]
    spread = {}
    for key, rows in zip(distinct, rows_to_spread([len(places_of[each]) for each in distinct]), strict=True):
        described = described_files(measure, [files[place] for place in places_of[key]])
        spread[key] = described, *spread_rows(described, rows)
    outside = {}
    for group in groups:
        if (of_group := partition.get(group.index)) is not None:
            described, sample, places = spread[of_group]
            mine = {task.data_file.file_path for task in group.tasks}
            is_outside = np.array([files[place].file_path not in mine for place in places_of[of_group]], np.bool_)
            values = sample.take(np.flatnonzero(is_outside[places]))
            outside[group.index] = _Values(values, int(described.rows[is_outside].sum()))
    return outside


def workload_scan(
    measure: ScanMeasure, groups: Sequence[SampledGroup], results: Sequence[GroupResult] = ()
) -> WorkloadScan | None:
    """Return the workload's reads of the table before and after; None without a workload."""
    if measure.workload is None:
        return None
    reads = (
        [each.read_today for each in groups],
        [each.read_planned for each in groups],
        [each.read for each in results],
    )
    means = (measure.workload.mean([*each, measure.left_read] if each else ()) for each in reads)
    return WorkloadScan(len(measure.workload.queries), *means)


def column_scans(
    measure: ScanMeasure, groups: Sequence[SampledGroup], results: Sequence[GroupResult] = ()
) -> tuple[ColumnScan, ...]:
    """Return the reads of the table by column: before, predicted, and actual if files were written."""
    reads = (
        _reads(measure, [(each, each.today) for each in groups]),
        # New files without bounds are always read.
        _reads(measure, [(each, each.planned) for each in groups], measure.kept.cuts),
        _reads(measure, [(each.sampled, each.written) for each in results]),
    )
    names = [column.name for column in measure.order.named if column.name in reads[0]]
    of_columns = ((name, [each.get(name) for each in reads]) for name in names)
    return tuple(
        ColumnScan(
            name,
            *(None if each is None else each.fraction for each in of),
            *(None if each is None else each.files for each in of),
        )
        for name, of in of_columns
    )


def table_files(measure: ScanMeasure, groups: Sequence[DataFiles]) -> TableFiles | None:
    """Count the files of the table, given those of its file groups; None without a file group."""
    if not groups:
        return None
    all_files = [*groups, *([] if measure.left is None else [measure.left])]
    return TableFiles(sum(each.count for each in all_files), sum(each.bytes for each in all_files))


def _reads(
    measure: ScanMeasure,
    groups: Sequence[tuple[SampledGroup, DataFiles]],
    kept: Sequence[Beginning | None] | None = None,
    others: _Values | None = None,
) -> dict[str, FilterRead]:
    """Return what filters read of groups, given with their data files, and of the files that are left, by column.

    ``kept`` truncates bounds that are not truncated yet, by column. The values of ``others`` are looked for, too.
    """
    reads = {}
    for place, column in enumerate(measure.order.named):
        bounded = [
            BoundedRows(files.columns[place], files.sizes, group.values.columns[place], group.group.rows)
            for group, files in groups
        ]
        if measure.left is not None and measure.left_rows is not None and groups:
            of_left = measure.left.columns[place], measure.left.sizes, measure.left_rows.columns[place]
            bounded.append(BoundedRows(*of_left, int(measure.left.rows.sum())))
        if others is not None:
            none = np.zeros(0, np.int64)
            bounds = groups[0][1].columns[place].take(none)
            bounded.append(BoundedRows(bounds, none, others.sample.columns[place], others.rows))
        read = filter_read(bounded, kept[place] if kept else None)
        if read is not None:
            reads[column.name] = read
    return reads


def predicate_scan(
    text: str,
    by: FileFilter,
    kept: Sequence[NestedField],
    groups: Sequence[FileGroup],
    sampled: Sequence[SampledGroup],
    fields: Sequence[NestedField],
) -> PredicateScan:
    """Return the share of file groups that a condition reads today, and of their new files if sampled.

    ``kept`` are the condition's columns for which new files keep bounds, ``fields`` the clustering columns.
    """
    files = [task.data_file for group in groups for task in group.tasks]
    before = _share([(file.file_size_in_bytes, by.may_match(file)) for file in files])
    new: list[tuple[int, bool]] = []
    for each in sampled:
        read = new_files_read(by, each.planned, fields, [each.group.example])
        # The new files hold the values of all old files together.
        together = joined_file([task.data_file for task in each.group.tasks], kept)
        read &= by.values_may_match(together)
        new += zip(each.planned.sizes.tolist(), read.tolist(), strict=True)
    return PredicateScan(text, before, _share(new))


def _share(files: Sequence[tuple[int, bool]]) -> float | None:
    total = sum(size for size, _ in files)
    return sum(size for size, is_read in files if is_read) / total if total else None


def _unbounded(bounds: ColumnBounds) -> ColumnBounds:
    """Return bounds that are unknown, with the counts of values."""
    lower, upper = (KeyColumn(each.keys, np.full(each.rows, NULL, np.uint8)) for each in (bounds.lower, bounds.upper))
    return ColumnBounds(bounds.column, lower, upper, bounds.valued)


def _unknown(group: LaidOutSample, columns: Sequence[ClusteringColumn]) -> DataFiles:
    """Return a file group as one file that every filter reads."""
    state = np.array([NULL], np.uint8)
    bounds = []
    for column in columns:
        keys = np.zeros(1, np.int64) if domain(column.type) == "long" else pa.array([b""], pa.large_binary())
        bounds.append(ColumnBounds(column, KeyColumn(keys, state), KeyColumn(keys, state), np.ones(1)))
    one = np.zeros(1, np.int64)
    return DataFiles(one, one + group.rows, one + group.size, tuple(bounds))
