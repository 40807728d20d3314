"""Compute a clustering report from what an engine reads of a table's metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.metrics.attainable import new_files, rewritten_partitions
from iceberg_zorder.metrics.clustering_report import (
    VERSION,
    ClusteringReport,
    ColumnReport,
    PartitionReport,
    PredicateReport,
    Recommendation,
    SizeReport,
)
from iceberg_zorder.metrics.data_files import (
    DataFiles,
    FileBoxes,
    bounds_that_are_alike,
    bounds_without_end,
    dense_ranks,
    file_boxes,
)
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.metrics.findings import find
from iceberg_zorder.metrics.history import LayoutHistory
from iceberg_zorder.metrics.overlap import Overlap, measure_overlap
from iceberg_zorder.metrics.scan_fraction import FilterRead, mean_filter_cost, read_of_rows, scan_prediction
from iceberg_zorder.metrics.spread_rows import rows_for, spread_rows


@dataclass(frozen=True, eq=False)
class PredicateFacts:
    """A condition on rows."""

    text: str  # the condition, as written
    read: npt.NDArray[np.bool_]  # data files that the metadata does not rule out, shape (files,)


@dataclass(frozen=True, eq=False)
class TableFacts:
    """The inputs of a report."""

    table: str
    sql_name: str  # the table's name in SQL
    branch: str
    snapshot_id: int | None  # None without a snapshot
    where: str | None  # the condition that limits the data files, if given
    sort_order: str  # of the report, as a rewrite takes it
    files: DataFiles
    partition_names: Sequence[str]  # by number; empty for unpartitioned tables
    metrics: Sequence[str]  # metrics mode of each clustering column
    sizes: FileSizes  # a rewrite's size limits
    layout: LayoutRequest  # request for layouts; ``sizes`` has the number of files
    of_old_specs: npt.NDArray[np.bool_]  # files of other partition specs than the current one, shape (files,)
    with_deletes: npt.NDArray[np.bool_]  # files with deletes, shape (files,)
    # Delete files that apply to the data files; deletion vectors are position deletes.
    position_delete_files: int
    equality_delete_files: int
    history: LayoutHistory  # of the layout
    open_cost: int  # cost of opening a file, in bytes
    recommendation: Recommendation | None  # the recommended rewrite; None for older snapshots
    predicates: Sequence[PredicateFacts] = ()  # conditions to measure
    files_without_rows: int = 0  # files whose manifest entries count no row
    # Files outside of a rewrite's size limits, without those of rewrites to the same target size.
    files_below_min: int = 0
    files_above_max: int = 0
    # What a filter costs today and after a full rewrite, in bytes, as the plan says; None if it does not.
    costs: tuple[float, float] | None = None


ReadOfNew = Callable[[DataFiles], npt.NDArray[np.bool_]]
"""Returns which planned data files a condition does not rule out."""


def clustering_report(facts: TableFacts, read_of_new: Sequence[ReadOfNew] = ()) -> ClusteringReport:
    """Compute a report; ``read_of_new`` has a function for each condition of the facts."""
    files, sizes = facts.files, facts.sizes
    names = tuple(bounds.column.name for bounds in files.columns)
    measured = _Measured(facts)
    partitions = measured.partitions()
    reads = [measured.read(place) for place in range(len(names))]
    attainable = [measured.attainable(place) for place in range(len(names))]
    new_files = sum(group.files for group in measured.groups.values())
    cost, attainable_cost = facts.costs or _mean_costs(facts, reads, attainable, new_files)
    report = ClusteringReport(
        VERSION,
        facts.table,
        facts.branch,
        facts.snapshot_id,
        facts.where,
        names,
        files.count,
        int(measured.constant.sum()),
        files.bytes,
        int(files.rows.sum()),
        measured.overlap.average_overlaps(),
        measured.overlap.average_depth(files.rows),
        measured.overlap.histogram(),
        int(measured.overlap.measured.sum()),
        tuple(_column(facts, place, *read) for place, read in enumerate(zip(reads, attainable, strict=True))),
        tuple(measured.predicate(*each) for each in zip(facts.predicates, read_of_new, strict=True)),
        SizeReport(
            sizes.target,
            sizes.least,
            sizes.most,
            int(files.sizes.min()) if files.count else 0,
            int(np.median(files.sizes)) if files.count else 0,
            int(files.sizes.max(initial=0)),
            facts.files_below_min,
            facts.files_above_max,
            new_files,
        ),
        int(facts.of_old_specs.sum()),
        int(facts.with_deletes.sum()),
        facts.position_delete_files,
        facts.equality_delete_files,
        facts.history,
        len(partitions),
        tuple(sorted(partitions, key=_saved, reverse=True)),
        sort_order=facts.sort_order,
        recommendation=facts.recommendation,
        files_without_rows=facts.files_without_rows,
        cost=cost,
        attainable_cost=attainable_cost,
    )
    findings = find(report, facts.sql_name)
    return replace(report, findings=findings, boxes=measured.boxes() if files.count else None)


class _Measured:
    """Figures that table and partitions share, computed once."""

    def __init__(self, facts: TableFacts) -> None:
        self._facts = facts
        files = facts.files
        self.overlap: Overlap = measure_overlap(files)
        self.constant = _constant(files)
        by_partition = np.bincount(files.partitions, files.sizes) if files.count else np.zeros(0)
        expected = sum(facts.sizes.expected_files(int(size)) for size in by_partition)
        self._sample, self._places = spread_rows(files, rows_for(expected))
        columns = [bounds.column for bounds in files.columns]
        self.groups = rewritten_partitions(files, self._sample, self._places, columns, facts.sizes, facts.layout)
        self._new_files = new_files(self.groups, columns) if facts.predicates and self.groups else files

    def read(self, place: int) -> FilterRead | None:
        """Return what a filter on a column reads of all files."""
        return _read(self._facts.files, self._sample, place)

    def attainable(self, place: int) -> FilterRead | None:
        """Return what a filter on a column is predicted to read after a full rewrite."""
        groups = list(self.groups.values())
        return scan_prediction(groups, place) if groups else None

    def predicate(self, predicate: PredicateFacts, read_of_new: ReadOfNew) -> PredicateReport:
        sizes = self._facts.files.sizes
        new = self._new_files
        return PredicateReport(
            predicate.text,
            _share(sizes, predicate.read),
            int(predicate.read.sum()),
            # Sums of whole bytes are the same in any order, and so in Java.
            _share(new.sizes, read_of_new(new)),
        )

    def boxes(self) -> FileBoxes:
        """Return the boxes for charts."""
        return file_boxes(self._facts.files, self._sample)

    def partitions(self) -> list[PartitionReport]:
        return [self._partition(number, *each) for number, each in enumerate(self._split()) if each[0].count]

    def _split(self) -> Iterator[tuple[DataFiles, npt.NDArray[np.int64], Sample]]:
        """Split files, their places and the rows by partition."""
        numbers = self._facts.files.partitions
        order = np.argsort(numbers, kind="stable")
        rows = np.argsort(numbers[self._places], kind="stable")
        count = len(self._facts.partition_names)
        ends = np.searchsorted(numbers[order], np.arange(count + 1))
        row_ends = np.searchsorted(numbers[self._places][rows], np.arange(count + 1))
        for number in range(count):
            places = order[ends[number] : ends[number + 1]]
            mine = rows[row_ends[number] : row_ends[number + 1]]
            yield self._facts.files.take(places), places, self._sample.take(mine)

    def _partition(
        self, number: int, files: DataFiles, places: npt.NDArray[np.int64], sample: Sample
    ) -> PartitionReport:
        overlap = self.overlap.take(places)
        group = self.groups[number]
        columns = list(enumerate(bounds.column.name for bounds in files.columns))
        current = {name: _fraction(_read(files, sample, place)) for place, name in columns}
        attainable = {
            # Of one file nothing is skipped; most partitions are of one, and a prediction takes a while.
            name: _fraction(scan_prediction([group], place)) if group.files > 1 else current[name] and 1.0
            for place, name in columns
        }
        return PartitionReport(
            self._facts.partition_names[number],
            files.count,
            int(self.constant[places].sum()),
            files.bytes,
            int(files.rows.sum()),
            overlap.average_overlaps(),
            overlap.average_depth(files.rows),
            {name: value for name, value in current.items() if value is not None},
            {name: value for name, value in attainable.items() if value is not None},
        )


def _read(files: DataFiles, sample: Sample, place: int) -> FilterRead | None:
    bounds = files.columns[place]
    if not bounds.bounded.any():
        is_read = bounds.has_values.any() and files.bytes
        return FilterRead(1.0, float(bounds.has_values.sum())) if is_read else None
    return read_of_rows(bounds, files.sizes, sample.columns[place])


def _fraction(read: FilterRead | None) -> float | None:
    return None if read is None else read.fraction


def _mean_costs(
    facts: TableFacts, reads: Sequence[FilterRead | None], attainable: Sequence[FilterRead | None], new_files: int
) -> tuple[float | None, float | None]:
    """Return a filter's average cost today and after a full rewrite, over the columns for which both are known.

    Columns are weighted; prefix columns have weight 1.
    """
    weights = [1.0] * (len(reads) - len(facts.layout.weights)) + list(facts.layout.weights)
    triples = zip(reads, attainable, weights, strict=True)
    known = [(old, new, weight) for old, new, weight in triples if old is not None and new is not None]
    if not known:
        return None, None
    today, after, of = zip(*known, strict=True)
    size, open_cost = facts.files.bytes, facts.open_cost
    return (
        mean_filter_cost(today, of, size, facts.files.count, open_cost),
        mean_filter_cost(after, of, size, new_files, open_cost),
    )


def _share(sizes: npt.NDArray[np.int64], read: npt.NDArray[np.bool_]) -> float | None:
    total = float(sizes.sum())
    return float(sizes[read].sum()) / total if total else None


def _column(facts: TableFacts, place: int, read: FilterRead | None, attainable: FilterRead | None) -> ColumnReport:
    bounds, sizes = facts.files.columns[place], facts.files.sizes
    unbounded = bounds.has_values & ~bounds.bounded
    alike = bounds_that_are_alike(bounds, facts.metrics[place])
    endless = bounds_without_end(bounds, facts.metrics[place])
    return ColumnReport(
        bounds.column.name,
        bounds.column.path,
        bounds.column.type,
        facts.metrics[place],
        _fraction(read),
        _fraction(attainable),
        None if read is None else read.files,
        None if attainable is None else attainable.files,
        int(unbounded.sum()),
        int(sizes[unbounded].sum()),
        int(alike.sum()),
        int(sizes[alike].sum()),
        int(endless.sum()),
        int(sizes[endless].sum()),
    )


def _saved(partition: PartitionReport) -> float:
    """Return the bytes that a rewrite is predicted to save, summed over a filter on each column."""
    less = sum(current - partition.attainable.get(name, current) for name, current in partition.scan_fractions.items())
    return less * partition.bytes


def _constant(files: DataFiles) -> npt.NDArray[np.bool_]:
    """Return the files that have one value, or none, in each column."""
    found = np.ones(files.count, np.bool_)
    for bounds in files.columns:
        lower, upper = dense_ranks([bounds.lower, bounds.upper])
        # A file with a value and NULLs has two.
        found &= (bounds.bounded & (bounds.valued == 1) & (lower == upper)) | ~bounds.has_values
    return found
