"""Draw the joint row samples of all file groups: the same as Spark draws.

Only the clustering columns are read, and of large file groups an even part of the row groups, by several threads. A row
is drawn when ``xxhash64(file_path, position, seed)`` falls below a threshold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event, Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.schema import prune_columns
from pyiceberg.table import Table

from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample, cut, tails
from iceberg_zorder.pyiceberg.bounds import KeptBounds, key_pool
from iceberg_zorder.pyiceberg.files import SAMPLE, DataFileTask, FileGroup, Progress, silent
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
"""Is told of a file group that failed, and why."""


def reraised(group: FileGroup, error: Exception) -> None:  # noqa: ARG001
    """Raise the error of a file group that failed."""
    raise error


@dataclass(frozen=True, eq=False)
class SampleContext:
    """What the samples of all file groups share."""

    table: Table
    order: ResolvedSortOrder
    options: ZOrderOptions
    progress: Progress = silent
    failed: Failed = reraised  # never told of two at a time
    budget: MemoryBudget | None = None  # where deleted rows are counted while they are held
    threads: int = field(default_factory=available_cores)
    workload: RequestedWorkload | None = None

    @property
    def kept_of_samples(self) -> KeptBounds:
        """What of a value samples have to show: what bounds keep, or all where that is to be made enough."""
        kept = KeptBounds.of(self.table, self.order.named)
        return kept.in_full if self.options.metrics_check == FIX else kept


@dataclass(frozen=True, eq=False)
class GroupScan:
    """What is read of a file group for its sample: by data file, some row groups, or all of it."""

    group: FileGroup
    wanted: int  # so many of its rows are sampled
    most: int  # so many at most, of all file groups
    row_groups: Sequence[tuple[SampledRowGroup, ...]] | None

    def of_clusters(self, seed: int) -> GroupScan:
        """Choose more row groups for the same sample: they are known to be clusters."""
        return replace(self, row_groups=_row_groups(self.group, self.wanted, seed, are_clusters=True))

    def ranges(self) -> list[tuple[DataFileTask, list[tuple[int, int]] | None]]:
        """List what is read of each data file: begins and ends, in bytes, none or more; None for all of it."""
        if self.row_groups is None:
            return [(task, None) for task in self.group.tasks]
        ranges = [[(each.start, each.end) for each in of_file] for of_file in self.row_groups]
        return list(zip(self.group.tasks, ranges, strict=True))


def group_scans(groups: Sequence[FileGroup], options: ZOrderOptions) -> list[GroupScan]:
    """Choose what is read of each file group: each is sampled as densely as its share of the output files asks."""
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
    files = [_manifest_file(task) for task in group.tasks]
    return sampled_row_groups(files, wanted, group.expected_output_files, seed, are_clusters=are_clusters)


def _manifest_file(task: DataFileTask) -> ManifestFile:
    file = task.data_file
    offsets = tuple(file.split_offsets or ())
    return ManifestFile(file.file_path, task.data_sequence_number, file.record_count, file.file_size_in_bytes, offsets)


class Drawing:
    """Which rows of a file group are drawn, by their hashes.

    Those of the sample lie below the threshold of their row group, those held out of it between that and another: as
    many for each of ``samples`` but the first.
    """

    def __init__(self, scan: GroupScan, seed: int, samples: int) -> None:
        self._seed = seed
        self._samples = samples
        rows = scan.group.rows
        self._all = (SampledRowGroup(0, 0, 0, 0, scan.wanted, rows),)
        read = scan.row_groups or [self._all] * len(scan.group.tasks)
        paths = (task.data_file.file_path for task in scan.group.tasks)
        self._row_groups = dict(zip(paths, read, strict=True))

    def is_drawn(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        """Tell of rows at some positions of a file whether they are drawn; None if all are."""
        return self._are_below(self._samples, path, positions)

    def is_fitted(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell of rows that are drawn whether they are of the sample, or held out of it."""
        # With nothing held out, what was drawn is the sample.
        below = None if self._samples == 1 else self._are_below(1, path, positions)
        return np.ones(len(positions), np.bool_) if below is None else below

    def row_groups(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Find the numbers of the row groups of rows."""
        return self._row_groups[path][0].number + self._places(path, positions)

    def _places(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        first = np.array([each.first_position for each in self._row_groups[path]], np.int64)
        return np.searchsorted(first, positions, side="right").astype(np.int64) - 1

    def _are_below(self, samples: int, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        last = [_last_hash(samples * each.sampled_rows, each.rows) for each in self._row_groups[path]]
        if all(each == _LARGEST_HASH for each in last):
            return None
        limits = np.array(last, np.int64)
        return row_hashes(path, positions, self._seed) <= limits[self._places(path, positions)]


def _last_hash(share: int, rows: int) -> int:
    """Find the largest signed hash of so many of so many rows, on average."""
    return _LARGEST_HASH if share >= rows else (share << 64) // rows - (1 << 63) - 1


@dataclass(frozen=True, eq=False)
class DrawnSample:
    """What is sampled of a file group: rows that a layout is fitted to, and others.

    By the column's place in the sample, ``tails`` tells values apart whose keys were cut, see ``layout.sample``.
    """

    scan: GroupScan
    fitted: Sample
    held_out: Sample
    row_groups: npt.NDArray[np.int64]  # of each row of ``fitted``, the number of that it was read from; 0 of all
    tails: Mapping[int, npt.NDArray[np.int64]]

    def key_pool(self, layout: Layout, ordinal: int) -> KeyPool:
        """Tell how its rows lie in a column of strings or binaries, by the column's place in the sample."""
        boundaries = next((each.boundaries for each in layout.columns if each.ordinal == ordinal), None)
        return key_pool(self.fitted.columns[ordinal], self.tails[ordinal], boundaries)


def draw_samples(context: SampleContext, scans: Sequence[GroupScan], samples: int = 1) -> list[DrawnSample]:
    """Draw a sample of every file group."""
    sampler = _Sampler(context, scans, samples)
    files = sum(len(scan.group.tasks) for scan in scans)
    try:
        run_together(max(1, min(context.threads, files)), lambda _: sampler.run(), sampler.stopped.set)
    finally:
        for each in sampler.running:
            each.close()
    return [sampler.drawn[place] for place in sorted(sampler.drawn)]


class _Sampler:
    """Samples file groups in several threads, which take file after file of one group after the other."""

    def __init__(self, context: SampleContext, scans: Sequence[GroupScan], samples: int) -> None:
        self._context = context
        self._scans = scans
        self._samples = samples
        self._waiting = self._files()
        self._lock, self.stopped = Lock(), Event()
        self.running: set[_GroupSampling] = set()
        self.drawn: dict[int, DrawnSample] = {}

    def run(self) -> None:
        """Read files until there are no more."""
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
            sampling.close()
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
    """What was sampled of some rows: values by column, cut, with their tails; whether they are fitted; row groups."""

    columns: list[pa.Array]
    tails: dict[int, npt.NDArray[np.int64]]
    is_fitted: npt.NDArray[np.bool_]
    row_groups: npt.NDArray[np.int64]


class _GroupSampling:
    """Reads the sample of one file group, file by file, in any order."""

    def __init__(self, context: SampleContext, scan: GroupScan, samples: int) -> None:
        table, order, group = context.table, context.order, scan.group
        self._context = context
        self._scan = scan
        self._drawing = Drawing(scan, context.options.sample_seed, samples)
        self._parts = scan.ranges()
        spec = table.specs()[group.spec_id]
        sources = {field.source_id for field in partition_fields(table.schema(), spec)} if order.partition else set()
        wanted = prune_columns(table.schema(), {*order.field_ids, *sources}, select_full_types=True)
        tasks = [task for task, ranges in self._parts if ranges != []]
        self._reader = Reader(table, tasks, wanted, budget=context.budget)
        self._paths = field_paths(file_fields(self._reader.schema, None))
        self._lengths = context.kept_of_samples.sampled_lengths(scan.most)
        self._partitions = Partitions(spec, table.schema(), self._reader.schema) if order.partition else None
        self._found: list[list[_SampledRows]] = [[] for _ in self._parts]
        self.left = len(self._parts)
        """How many files are still to be read."""
        self._error: Exception | None = None

    def read(self, file: int, stopped: Event) -> None:
        """Read what is sampled of a file, unless another could not be read."""
        task, _ = self._parts[file]
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
        self._context.progress(SAMPLE, task.data_file.record_count, task.data_file.file_size_in_bytes)

    def _read(self, file: int, most: int, stopped: Event) -> None:
        task, ranges = self._parts[file]
        self._found[file].clear()
        for rows in self._reader.rows(task, self._drawing.is_drawn, ranges, most) if ranges != [] else ():
            if stopped.is_set():
                raise StoppedError
            self._found[file].append(self._sampled(task.data_file.file_path, rows.batch, rows.positions))

    def _sampled(self, path: str, batch: pa.RecordBatch, positions: npt.NDArray[np.int64]) -> _SampledRows:
        partitions = self._partitions
        values = [leaf(batch, self._paths[each]) for each in self._context.order.field_ids]
        columns = [
            *(partitions.keys(partitions.transformed(batch)) if partitions else []),
            *(each if at is None else cut(each, at) for each, at in zip(values, self._lengths, strict=True)),
        ]
        return _SampledRows(
            columns,
            {
                place: tails(each, at)
                for place, (each, at) in enumerate(zip(values, self._lengths, strict=True), len(columns) - len(values))
                if at is not None
            },
            self._drawing.is_fitted(path, positions),
            self._drawing.row_groups(path, positions),
        )

    def drawn(self) -> DrawnSample:
        """Put together what was read, in the order of the files; raises why one could not be read."""
        if self._error:
            raise self._error
        order = self._context.order
        found = [rows for of_file in self._found for rows in of_file]
        types = [
            *(self._partitions.key_types if self._partitions else []),
            *(
                type_at(self._reader.schema, self._paths[each]) if length is None else pa.large_binary()
                for each, length in zip(order.field_ids, self._lengths, strict=True)
            ),
        ]
        encoded = [
            encode(pa.chunked_array([rows.columns[place] for rows in found], kind), column.type)
            for place, (kind, column) in enumerate(zip(types, order.all, strict=True))
        ]
        fitted = np.concatenate([np.ones(0, np.bool_), *(rows.is_fitted for rows in found)])
        row_groups = np.concatenate([np.ones(0, np.int64), *(rows.row_groups for rows in found)])[fitted]
        sample = Sample(tuple(encoded))
        return DrawnSample(
            self._scan,
            sample if fitted.all() else sample.take(np.flatnonzero(fitted)),
            sample.take(np.flatnonzero(~fitted)),
            row_groups,
            {
                place: np.concatenate([np.ones(0, np.int64), *(rows.tails[place] for rows in found)])[fitted]
                for place, length in enumerate(self._lengths, len(order.all) - len(order.named))
                if length is not None
            },
        )

    def close(self) -> None:
        """Forget the deleted rows that are held."""
        self._reader.close()
