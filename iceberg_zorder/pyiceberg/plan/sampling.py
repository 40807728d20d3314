"""Draw the joint row samples of all file groups: the same as Spark draws.

Only the clustering columns are read, and of large file groups only some row groups, by several threads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.schema import prune_columns
from pyiceberg.table import Table

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample, cut, tails
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.kept_bounds import KeptBounds, key_pool
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_fields
from iceberg_zorder.pyiceberg.plan.group_scans import Drawing, GroupScan
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.progress import SAMPLE, Progress, silent
from iceberg_zorder.pyiceberg.read.projection import field_paths, file_fields
from iceberg_zorder.pyiceberg.read.reader import Reader
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.request.layout_options import ZOrderOptions
from iceberg_zorder.request.metrics_check import FIX, KeyPool
from iceberg_zorder.request.rewrite_options import SMALLEST_MEMORY_LIMIT
from iceberg_zorder.rows.memory_budget import LargeValuesError, MemoryBudget
from iceberg_zorder.rows.nested import leaf, type_at
from iceberg_zorder.rows.threads import StoppedError, available_cores, run_together

Failed = Callable[[FileGroup, Exception], None]
"""Is told of a file group that failed, and why."""


def reraised(group: FileGroup, error: Exception) -> None:  # noqa: ARG001
    """Raise the error of a file group that failed."""
    raise error


@contextmanager
def told_failures(table: Table) -> Iterator[None]:
    """Have whatever a sample that is read before a rewrite raises end in a RewriteFailedError."""
    try:
        yield
    except Exception as error:
        raise RewriteFailedError(
            f"Cannot sample {display_name(table)}, because {str(error).rstrip('.')}. Nothing was written."
        ) from error


@dataclass(frozen=True, eq=False)
class SampleContext:
    """What the samples of all file groups share."""

    table: Table
    order: RowOrder
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
        run_together(max(1, min(context.threads, files)), lambda _: sampler.run(), sampler.stop)
    finally:
        sampler.close()
    return [each for each in sampler.drawn if each]


class _Sampler:
    """Samples file groups in several threads, which take file after file of one group after the other."""

    def __init__(self, context: SampleContext, scans: Sequence[GroupScan], samples: int) -> None:
        self._context = context
        self._scans = scans
        self._samples = samples
        self._running: set[_GroupSampling] = set()
        self._waiting = self._files()
        self._lock, self._stopped = Lock(), Event()
        self.drawn: list[DrawnSample | None] = [None] * len(scans)

    def run(self) -> None:
        """Read files until there are no more."""
        while True:
            with self._lock:
                place, sampling, file = next(self._waiting, (0, None, 0))
            if sampling is None:
                return
            sampling.read(file, self._stopped)
            with self._lock:
                sampling.left -= 1
                if sampling.left:
                    continue
                self._running.remove(sampling)
            self._finish(place, sampling)

    def stop(self) -> None:
        """Have all threads end."""
        self._stopped.set()

    def close(self) -> None:
        """Close what is not finished."""
        for sampling in self._running:
            sampling.close()

    def _files(self) -> Iterator[tuple[int, _GroupSampling, int]]:
        for place, scan in enumerate(self._scans):
            try:
                sampling = _GroupSampling(self._context, scan, self._samples)
            except Exception as error:
                self._context.failed(scan.group, error)
                continue
            self._running.add(sampling)
            for file in range(len(scan.group.tasks)):
                yield place, sampling, file

    def _finish(self, place: int, sampling: _GroupSampling) -> None:
        sampling.close()
        try:
            self.drawn[place] = sampling.drawn()
        except Exception as error:
            with self._lock:
                self._context.failed(self._scans[place].group, error)


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
            sample if fitted.all() else sample.where(fitted),
            sample.where(~fitted),
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
