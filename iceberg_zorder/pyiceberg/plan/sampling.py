"""Draw the joint row samples of all file groups, equal to Spark's.

Several threads read only the clustering columns, and only an even part of the row groups of large file groups. A row is
sampled if ``xxhash64(file_path, position, seed)`` falls below a threshold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event, Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.schema import prune_columns
from pyiceberg.table import Table

from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample, cut, is_cut, sampled_bytes, tails
from iceberg_zorder.pyiceberg.bounds import KeptBounds, key_pool
from iceberg_zorder.pyiceberg.files import SAMPLE, FileGroup, Progress, silent
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_fields
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.pyiceberg.read.projection import field_paths, file_fields
from iceberg_zorder.pyiceberg.read.reader import Reader
from iceberg_zorder.rewrite.metrics_check import FIX, KeyPool
from iceberg_zorder.rewrite.options import SMALLEST_MEMORY_LIMIT, ZOrderOptions
from iceberg_zorder.sample.sampled_row_groups import ManifestFile, SampledRowGroup, row_hashes, sampled_row_groups
from iceberg_zorder.sort.codecs import leaf, type_at
from iceberg_zorder.sort.memory_budget import LargeValuesError, MemoryBudget
from iceberg_zorder.sort.threads import StoppedError, available_cores, run_together

_MOST_FILES = 2**31 - 1
_LARGEST_HASH = 2**63 - 1
Failed = Callable[[FileGroup, Exception], None]
"""Called with each failed file group and its error."""


def reraised(group: FileGroup, error: Exception) -> None:  # noqa: ARG001
    """Raise the error of a failed file group."""
    raise error


@dataclass(frozen=True, eq=False)
class SampleContext:
    """The inputs that all samples share."""

    table: Table
    order: ResolvedSortOrder
    options: ZOrderOptions
    progress: Progress = silent
    failed: Failed = reraised  # not called concurrently
    budget: MemoryBudget | None = None  # counts the deleted rows held in memory
    threads: int = field(default_factory=available_cores)
    workload: RequestedWorkload | None = None

    def sampled_lengths(self, rows: int) -> tuple[int | None, ...]:
        """Return, by column, the length in bytes of keys in a sample of ``rows`` rows; None for short types.

        Keys must be at least as long as bounds; if the rewrite sets the metrics modes, as long as memory allows.
        """
        kept = KeptBounds.of(self.table, self.order.named)
        lengths = (None,) * len(kept.columns) if self.options.metrics_check == FIX else kept.lengths
        pairs = zip(kept.columns, lengths, strict=True)
        return tuple(sampled_bytes(length, rows) if is_cut(column.type) else None for column, length in pairs)


@dataclass(frozen=True, eq=False)
class GroupScan:
    """The row groups to read for a file group's sample, by data file."""

    group: FileGroup
    wanted: int  # number of rows to sample
    most: int  # limit for all file groups together
    row_groups: Sequence[tuple[SampledRowGroup, ...]] | None

    def of_clusters(self, seed: int) -> GroupScan:
        """Return a scan of more row groups for the same number of rows, because row groups are clusters."""
        return replace(self, row_groups=_row_groups(self.group, self.wanted, seed, are_clusters=True))


def group_scans(groups: Sequence[FileGroup], options: ZOrderOptions) -> list[GroupScan]:
    """Choose the row groups to read of each file group; its rows are in proportion to its output files."""
    files = sum(group.expected_output_files for group in groups)
    rows = options.sample_rows_for(min(_MOST_FILES, files))
    most = max(1, min(rows, sum(group.rows for group in groups)))
    scans = []
    for group in groups:
        wanted = -(-rows * group.expected_output_files // files)
        row_groups = _row_groups(group, wanted, options.sample_seed, are_clusters=False)
        scans.append(GroupScan(group, wanted, most, row_groups))
    return scans


def _row_groups(
    group: FileGroup, wanted: int, seed: int, *, are_clusters: bool
) -> list[tuple[SampledRowGroup, ...]] | None:
    files = [
        ManifestFile(
            file.file_path,
            task.data_sequence_number,
            file.record_count,
            file.file_size_in_bytes,
            tuple(file.split_offsets or ()),
        )
        for task in group.tasks
        for file in [task.data_file]
    ]
    return sampled_row_groups(files, wanted, group.expected_output_files, seed, are_clusters=are_clusters)


@dataclass(frozen=True, eq=False)
class DrawnSample:
    """The sample of a file group: rows to fit a layout to, and held-out rows.

    ``tails`` tells values with equal cut keys apart, by the column's place; see ``layout.sample``.
    """

    scan: GroupScan
    fitted: Sample
    held_out: Sample
    row_groups: npt.NDArray[np.int64]  # row group of each row in ``fitted``; 0 if all were read
    tails: Mapping[int, npt.NDArray[np.int64]]

    def key_pool(self, layout: Layout, ordinal: int) -> KeyPool:
        """Return the sampled rows per bucket of a string or binary column, given its place."""
        boundaries = next((each.boundaries for each in layout.columns if each.ordinal == ordinal), None)
        return key_pool(self.fitted.columns[ordinal], self.tails[ordinal], boundaries)


def draw_samples(context: SampleContext, scans: Sequence[GroupScan], samples: int = 1) -> list[DrawnSample]:
    """Sample every file group."""
    sampler = _Sampler(context, scans, samples)
    files = sum(len(scan.group.tasks) for scan in scans)
    try:
        run_together(max(1, min(context.threads, files)), lambda _: sampler.run(), sampler.stopped.set)
    finally:
        for each in sampler.running:
            each.reader.close()
    return [sampler.drawn[place] for place in sorted(sampler.drawn)]


class _Sampler:
    """Samples file groups in several threads; each takes the next file, group by group."""

    def __init__(self, context: SampleContext, scans: Sequence[GroupScan], samples: int) -> None:
        self._context = context
        self._scans = scans
        self._samples = samples
        self._waiting = self._files()
        self._lock, self.stopped = Lock(), Event()
        self.running: set[_GroupSampling] = set()
        self.drawn: dict[int, DrawnSample] = {}

    def run(self) -> None:
        """Read files until none is left."""
        while True:
            with self._lock:
                place, sampling, file = next(self._waiting, (0, None, 0))
            if sampling is None:
                return
            sampling.read(file, self.stopped)
            with self._lock:
                sampling.left -= 1
                if sampling.left:
                    continue
                self.running.remove(sampling)
            sampling.reader.close()
            try:
                self.drawn[place] = sampling.drawn()
            except Exception as error:
                with self._lock:
                    self._context.failed(self._scans[place].group, error)

    def _files(self) -> Iterator[tuple[int, _GroupSampling, int]]:
        for place, scan in enumerate(self._scans):
            try:
                sampling = _GroupSampling(self._context, scan, self._samples)
            except Exception as error:
                self._context.failed(scan.group, error)
                continue
            self.running.add(sampling)
            for file in range(len(scan.group.tasks)):
                yield place, sampling, file


@dataclass(frozen=True, eq=False)
class _SampledRows:
    """Sampled rows: cut values by column with their tails, whether each row is fitted, and its row group."""

    columns: list[pa.Array]
    tails: dict[int, npt.NDArray[np.int64]]
    is_fitted: npt.NDArray[np.bool_]
    row_groups: npt.NDArray[np.int64]


class _GroupSampling:
    """Reads the sample of one file group, file by file, in any order.

    A row is sampled if its hash is below its row group's threshold. Held-out rows have hashes between that and a second
    threshold, which admits as many rows for each further sample.
    """

    def __init__(self, context: SampleContext, scan: GroupScan, samples: int) -> None:
        table, order, group = context.table, context.order, scan.group
        self._context = context
        self._scan = scan
        self._samples = samples
        whole = (SampledRowGroup(0, 0, 0, 0, scan.wanted, group.rows),)
        self._row_groups = scan.row_groups or [whole] * len(group.tasks)
        spec = table.specs()[group.spec_id]
        sources = {field.source_id for field in partition_fields(table.schema(), spec)} if order.partition else set()
        wanted = prune_columns(table.schema(), {*order.field_ids, *sources}, select_full_types=True)
        tasks = [task for task, of_file in zip(group.tasks, self._row_groups, strict=True) if of_file]
        self.reader = Reader(table, tasks, wanted, budget=context.budget)
        self._paths = field_paths(file_fields(self.reader.schema, None))
        self._lengths = context.sampled_lengths(scan.most)
        self._partitions = Partitions(spec, table.schema(), self.reader.schema) if order.partition else None
        self._found: list[list[_SampledRows]] = [[] for _ in group.tasks]
        self.left = len(group.tasks)
        """Number of unread files."""
        self._error: Exception | None = None

    def read(self, file: int, stopped: Event) -> None:
        """Read a file's sampled rows, unless another file failed."""
        if self._error:
            return
        budget = self._context.budget or MemoryBudget(sys.maxsize)
        try:
            try:
                self._read(file, budget.limit // self._context.threads, stopped)
            except LargeValuesError:
                with budget.alone:
                    self._read(file, max(4 * budget.limit, 2 * SMALLEST_MEMORY_LIMIT), stopped)
        except StoppedError:
            raise
        except Exception as error:
            self._error = error
            return
        data_file = self._scan.group.tasks[file].data_file
        self._context.progress(SAMPLE, data_file.record_count, data_file.file_size_in_bytes)

    def _read(self, file: int, most: int, stopped: Event) -> None:
        task, row_groups, partitions = self._scan.group.tasks[file], self._row_groups[file], self._partitions
        self._found[file].clear()
        if not row_groups:
            return
        ranges = [(each.start, each.end) for each in row_groups] if self._scan.row_groups else None
        for rows in self.reader.rows(task, partial(self._are_drawn, row_groups, self._samples), ranges, most):
            if stopped.is_set():
                raise StoppedError
            values = [leaf(rows.batch, self._paths[each]) for each in self._context.order.field_ids]
            keys = partitions.keys(partitions.transformed(rows.batch)) if partitions else []
            lengths = list(zip(values, self._lengths, strict=True))
            is_fitted = self._are_drawn(row_groups, 1, task.data_file.file_path, rows.positions)
            sampled = _SampledRows(
                [*keys, *(each if at is None else cut(each, at) for each, at in lengths)],
                {place: tails(each, at) for place, (each, at) in enumerate(lengths, len(keys)) if at is not None},
                np.ones(len(rows.positions), np.bool_) if is_fitted is None else is_fitted,
                row_groups[0].number + _places(row_groups, rows.positions),
            )
            self._found[file].append(sampled)

    def _are_drawn(
        self, row_groups: tuple[SampledRowGroup, ...], samples: int, path: str, positions: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_] | None:
        """Return which rows at these positions are in one of ``samples`` samples; None if all are."""
        shares = [(samples * each.sampled_rows, each.rows) for each in row_groups]
        if all(share >= rows for share, rows in shares):
            return None
        # The expected largest signed hash among the wanted rows.
        last = [_LARGEST_HASH if share >= rows else (share << 64) // rows - (1 << 63) - 1 for share, rows in shares]
        hashes = row_hashes(path, positions, self._context.options.sample_seed)
        return hashes <= np.array(last, np.int64)[_places(row_groups, positions)]

    def drawn(self) -> DrawnSample:
        """Return the sample in the order of the files; raises the first error."""
        if self._error:
            raise self._error
        order = self._context.order
        parts = [rows for of_file in self._found for rows in of_file]
        types = [
            *(self._partitions.key_types if self._partitions else []),
            *(
                type_at(self.reader.schema, self._paths[each]) if length is None else pa.large_binary()
                for each, length in zip(order.field_ids, self._lengths, strict=True)
            ),
        ]
        encoded = [
            encode(pa.chunked_array([rows.columns[place] for rows in parts], kind), column.type)
            for place, (kind, column) in enumerate(zip(types, order.all, strict=True))
        ]
        fitted = np.concatenate([np.ones(0, np.bool_), *(rows.is_fitted for rows in parts)])
        row_groups = np.concatenate([np.ones(0, np.int64), *(rows.row_groups for rows in parts)])[fitted]
        sample = Sample(tuple(encoded))
        return DrawnSample(
            self._scan,
            sample if fitted.all() else sample.take(np.flatnonzero(fitted)),
            sample.take(np.flatnonzero(~fitted)),
            row_groups,
            {
                place: np.concatenate([np.ones(0, np.int64), *(rows.tails[place] for rows in parts)])[fitted]
                for place, length in enumerate(self._lengths, len(order.all) - len(order.named))
                if length is not None
            },
        )


def _places(row_groups: Sequence[SampledRowGroup], positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the place of each position's row group among ``row_groups``."""
    first = np.array([each.first_position for each in row_groups], np.int64)
    return np.searchsorted(first, positions, side="right").astype(np.int64) - 1
