"""Run a rewrite: read each file group once, write its new files, commit; report what was committed, even on failure."""

from __future__ import annotations

import hashlib
import json
import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from threading import Event, Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record

from iceberg_zorder.errors import RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.layout.box_tree import ADAPTIVE, EVEN, BoxTree
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.layout.layout import Layout, layout_hash
from iceberg_zorder.maintain.past_rewrites import SCAN_FRACTIONS
from iceberg_zorder.metrics.history import COLUMNS, CUTS, DURATION, LAYOUT_HASH, TARGET
from iceberg_zorder.pyiceberg.bounds import fix_metrics
from iceberg_zorder.pyiceberg.catalog import why
from iceberg_zorder.pyiceberg.commit.replacement import CommitManager
from iceberg_zorder.pyiceberg.files import (
    READ,
    DataFileTask,
    FileGroup,
    GroupResult,
    Progress,
    SampledGroup,
    delete_files,
    display_name,
    silent,
)
from iceberg_zorder.pyiceberg.partitions import Partitions
from iceberg_zorder.pyiceberg.plan.layouts import ScanFractions, fit_plan
from iceberg_zorder.pyiceberg.plan.planner import key_of_request
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, SampledPlan, planned_snapshot
from iceberg_zorder.pyiceberg.plan.rewrite_spec import ResolvedSpec, RewriteSpec
from iceberg_zorder.pyiceberg.plan.selection import TargetSize
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.pyiceberg.read.projection import field_paths, file_fields
from iceberg_zorder.pyiceberg.read.reader import BATCH_BYTES, Reader, Rows
from iceberg_zorder.pyiceberg.write.file_writer import FileSettings, FileWriter, row_group_size
from iceberg_zorder.rewrite.options import SMALLEST_MEMORY_LIMIT, rewrite_options
from iceberg_zorder.rewrite.result import ColumnScan, RewriteResult
from iceberg_zorder.select.branch_history import REQUEST, REWRITE_ID, SETTLED_FROM
from iceberg_zorder.sort.bucket_sorter import BucketSorter, PrefixColumns
from iceberg_zorder.sort.codecs import Codecs, leaf
from iceberg_zorder.sort.memory_budget import LargeValuesError, MemoryBudget
from iceberg_zorder.sort.routing import Router
from iceberg_zorder.sort.spill import Spill, parted
from iceberg_zorder.sort.threads import ReadAhead, StoppedError, Turns, available_cores, run_together

logger = logging.getLogger("iceberg_zorder")

# Spilled rows take at most about this many times the bytes of their files. Measured with zstd: TPC-H's lineitem 1.65,
# orders 1.54, customer 1.52, partsupp 1.48, events with random keys 1.5, rows that hardly differ 0.92. Measured with
# Snappy: 0.75 to 1.32.
_SPILLED_BYTES_PER_FILE_BYTE = 1.75
_MOST_RANGES = 256
_BATCH_LIMIT_DIVISOR = 24
"""All threads' batches have at most 1/24 of the budget's limit in files; in memory several times that, beside it."""
_Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RewriteContext:
    """What all file groups of a rewrite share."""

    table: Table
    order: ResolvedSortOrder
    budget: MemoryBudget
    spill_directory: str | None = None  # for rows above the memory limit; None is the directory of temporary files
    progress: Progress = silent
    threads: int = 1  # for one file group, or for all in `_rewrite_groups`
    stopped: Event = field(default_factory=Event)  # when set, every file group stops


def rewrite_group(context: RewriteContext, group: FileGroup, layout: Layout) -> list[DataFile]:
    """Rewrite a file group without committing it; one with too large values is repeated alone, with one thread."""
    budget = context.budget
    try:
        return _rewrite_group_within(context, group, layout, budget.limit // available_cores())
    except LargeValuesError:
        with budget.alone:
            return _rewrite_group_within(
                replace(context, threads=1), group, layout, max(2 * budget.limit, SMALLEST_MEMORY_LIMIT)
            )


def _rewrite_group_within(context: RewriteContext, group: FileGroup, layout: Layout, largest: int) -> list[DataFile]:
    """Rewrite a file group; a value has at most ``largest`` bytes, and a decoded batch at most twice as many."""
    budget = context.budget
    batch_bytes = min(BATCH_BYTES, budget.limit // (_BATCH_LIMIT_DIVISOR * context.threads))
    reader = Reader(context.table, list(group.tasks), keep_dictionaries=True, budget=budget, batch_bytes=batch_bytes)
    codecs = Codecs(reader.schema)
    rewrite = _GroupRewrite(context, group, layout, reader)
    with Spill(budget, codecs, context.spill_directory, rewrite.ranges) as spill, closing(reader):
        if rewrite.expected_size > budget.limit:
            spill.check_space(rewrite.expected_size)
        rewrite.read(spill, codecs, largest)
        reader.close()
        try:
            return rewrite.write(spill, BucketSorter(codecs, rewrite.prefix, budget), codecs)
        except BaseException:
            rewrite.delete()
            raise


class _GroupRewrite:
    """The steps of rewriting one file group: read all rows, then sort and write the rows of each file."""

    def __init__(self, context: RewriteContext, group: FileGroup, layout: Layout, reader: Reader) -> None:
        self._context = context
        self._table = context.table
        self._group = group
        self._layout = layout
        self._reader = reader
        self._stopped = Event()
        self._writers: list[FileWriter] = []
        self._rows_read = 0
        paths = field_paths(file_fields(reader.schema, None))
        self._paths = [paths[field_id] for field_id in context.order.field_ids]
        prefix = context.order.prefix
        self.prefix = PrefixColumns(prefix, context.order.prefix_orders, tuple(self._paths[: len(prefix)]))
        """The columns that the rows of a file are sorted by first."""
        spec = context.table.specs()[group.spec_id]
        self._partitions = (
            Partitions(spec, context.table.schema(), reader.schema)
            if context.order.partition or group.partition is None
            else None
        )
        self.expected_size = int(group.input_size * _SPILLED_BYTES_PER_FILE_BYTE)
        """Estimated bytes of the rows while they are in memory or spilled."""

    @property
    def ranges(self) -> int:
        """The number of index ranges that the rows of a new file are split into, so that each sort fits in memory."""
        limit = self._context.budget.limit
        if self.expected_size <= limit or self._context.order.prefix or not isinstance(self._layout.cuts, BoxTree):
            return 1
        # Each thread needs memory for a range, a copy of it, and a row group.
        wanted = 4 * self._context.threads * self.expected_size // (limit * self._layout.files)
        return min(_MOST_RANGES, 1 << wanted.bit_length(), 1 << self._index_bits)

    @property
    def _index_bits(self) -> int:
        return self._layout.bits * (len(self._layout.columns) - self._layout.leading)

    def read(self, spill: Spill, codecs: Codecs, largest: int) -> None:
        """Read all rows, and add each to the bucket of its new file."""
        streams = _split_into_streams(self._group.tasks, self._context.threads)
        router, turns = Router(self._layout, self._group.rows), Turns(len(streams))

        def read_stream(place: int) -> None:
            flushes = 0
            try:
                found = self._rows(streams[place], 2 * largest)
                # If there are fewer streams than threads, a spare thread reads ahead.
                with ReadAhead(found, ahead=1) if len(streams) < self._context.threads else closing(found) as batches:
                    for task, rows in batches:
                        self._check_running()
                        slots, index = self._route(router, task, rows, spill.ranges)
                        columns = codecs.encoded(rows.batch)
                        _check_value_sizes(codecs, rows.batch.schema, largest)
                        parts = parted(columns, index, slots, spill.ranges)
                        with turns.turn(place):
                            spill.add(parts)
                            self._rows_read += rows.batch.num_rows
                        if spill.flushes > flushes:
                            flushes = spill.flushes
                            del parts, rows, columns
                            # Arrow keeps freed memory per thread, and only the same thread could use it again.
                            pa.default_memory_pool().release_unused()
            finally:
                turns.leave(place)

        run_together(len(streams), read_stream, self._stopped.set)
        spill.complete()

    def _rows(self, tasks: list[DataFileTask], most: int) -> Generator[tuple[DataFileTask, Rows], None, None]:
        for task in tasks:
            for rows in self._reader.rows(task, None, None, most):
                yield task, rows
            self._context.progress(READ, task.data_file.record_count, task.data_file.file_size_in_bytes)

    def _route(self, router: Router, task: DataFileTask, rows: Rows, ranges: int) -> tuple[_Longs, _Longs]:
        """Return the slot of every row (bucket * ranges + range in the bucket), and its index."""
        transformed = self._partitions.transformed(rows.batch) if self._partitions else []
        keys = self._partitions.keys(transformed) if self._partitions and self._context.order.partition else []
        columns = [*keys, *(leaf(rows.batch, path) for path in self._paths)]
        bucket, index = router.route(columns, task.data_file.file_path, rows.positions)
        if self._partitions and self._group.partition is None:
            bucket += self._partitions.number(transformed, rows.batch.num_rows) * self._layout.files
        if ranges == 1:
            return bucket, index
        return bucket * ranges + (index >> self._index_bits - (ranges.bit_length() - 1)), index

    def write(self, spill: Spill, sorter: BucketSorter, codecs: Codecs) -> list[DataFile]:
        """Sort and write the new files in parallel; each thread takes the next file that no other has taken."""
        numbers = sorted(spill.buckets)
        self._writers = [self._writer(number, sorter.row_group_rows, codecs) for number in numbers]
        waiting = iter(zip(numbers, self._writers, strict=True))
        lock = Lock()

        def write_files(_: int) -> None:
            while True:
                with lock:
                    number, writer = next(waiting, (None, None))
                if number is None or writer is None:
                    return
                self._check_running()
                sorter.write_bucket(spill, number, writer)
                writer.close()

        run_together(min(self._context.threads, max(1, len(numbers))), write_files, self._stopped.set)
        files = [file for writer in self._writers for file in writer.files]
        rows = sum(file.record_count for file in files)
        if rows != self._rows_read:
            raise RewriteFailedError(
                f"Cannot rewrite {len(self._group.tasks)} data files, because the new files have {rows:,} rows, and "
                f"{self._rows_read:,} were read"
            )
        return files

    def delete(self) -> None:
        """Delete the files that were written."""
        for writer in self._writers:
            writer.abort()
        delete_files(self._table, [path for writer in self._writers for path in writer.paths])

    def _writer(self, number: int, row_group_rows: int, codecs: Codecs) -> FileWriter:
        partition, file = divmod(number, self._layout.files)
        record = self._group.partition
        if self._partitions and record is None:
            record = self._partitions.records[partition]
        roll_at = self._group.max_output_file_size
        if self._layout.files >= self._group.expected_output_files:
            # The layout has all planned files already: start an extra file only if one is a whole row group too large.
            roll_at += row_group_size(self._table)
        settings = FileSettings(
            spec_id=self._group.spec_id,
            partition=Record() if record is None else record,
            name=f"{file:05d}-{partition}",
            roll_at=roll_at,
            row_group_rows=row_group_rows,
            row_width=codecs.width,
            row_size=self._group.input_size / max(1, self._group.rows),
            large=codecs.large,
        )
        return FileWriter(self._table, settings, self._on_row_group)

    def _on_row_group(self, stage: str, rows: int, size: int) -> None:
        """Report a written row group as progress; raises StoppedError once the rewrite is stopped."""
        self._check_running()
        self._context.progress(stage, rows, size)

    def _check_running(self) -> None:
        if self._stopped.is_set() or self._context.stopped.is_set():
            raise StoppedError


def _check_value_sizes(codecs: Codecs, schema: pa.Schema, largest: int) -> None:
    """Raise LargeValuesError if a value has more than ``largest`` bytes."""
    place, size = max(codecs.large.items(), key=itemgetter(1), default=(0, 0))
    if size > largest:
        raise LargeValuesError(
            f"column '{schema.names[place]}' holds a value of {size:,} bytes, which memory-limit-bytes of {largest:,} "
            f"cannot hold: raise it to {2 * size:,}"
        )


def _split_into_streams(tasks: Sequence[DataFileTask], streams: int) -> list[list[DataFileTask]]:
    """Split data files into at most ``streams`` lists; each file goes to the list with the fewest bytes so far."""
    dealt: list[list[DataFileTask]] = [[] for _ in range(min(streams, len(tasks)))]
    sizes = [0] * len(dealt)
    for task in tasks:
        least = sizes.index(min(sizes))
        dealt[least].append(task)
        sizes[least] += max(1, task.data_file.file_size_in_bytes)
    return dealt


class RewriteRun:
    """The state of one rewrite: its commits, its new files, and the properties of its snapshots.

    With partial progress, ``should_continue`` is asked before each file group whether to begin it.
    """

    def __init__(
        self,
        table: Table,
        spec: RewriteSpec,
        progress: Progress = silent,
        should_continue: Callable[[], bool] = lambda: True,
        summary: Mapping[str, str] | None = None,
    ) -> None:
        self.table, self._name = table, display_name(table)
        self._options = rewrite_options(spec.options)
        self.commits = CommitManager(table, spec.branch, self._options)
        """The commits and their counts."""
        self.progress = progress
        # The other half is for rows while they are read, sorted or written, and for fragmentation.
        self.budget = MemoryBudget(self._options.memory_limit // 2)
        self._should_continue: Callable[[], bool] = should_continue if self._options.partial_progress else lambda: True
        self.summary = {REWRITE_ID: uuid.uuid4().hex[:16], **(summary or {})}
        """The properties that all its snapshots have."""
        self._results: list[GroupResult] = []
        self._measure: ScanFractions | None = None
        self._set: list[str] = []
        self._open = 0
        """The number of file groups of the current plan that are not committed yet."""
        self._has_written = False
        self._end_marker: str | None = None
        """The end marker of the first plan."""
        self._since = time.monotonic()

    @contextmanager
    def report_commits_on_failure(self) -> Iterator[None]:
        """Make the errors of a block say what the rewrite has committed."""
        commits = self.commits
        try:
            yield
        except BaseException as error:
            if self._set:
                logger.warning("The failed rewrite of %s has set properties: %s", self._name, ", ".join(self._set))
            if isinstance(error, UnknownOutcomeError) and commits.count:
                raise UnknownOutcomeError(
                    f"{error} Earlier commits remain: {commits.count}, with {commits.rewritten_files} rewritten data "
                    "files."
                ) from error
            if isinstance(error, RewriteFailedError) or not isinstance(error, Exception):
                raise
            raise self._failure(why(error)) from error

    def sample(self, work: ResolvedSpec, plan: RewritePlan) -> SampledPlan:
        """Sample a plan and fit its layouts, unless it has them; a file group that cannot be read has failed."""
        return fit_plan(work, plan, self.progress, self.budget, partial(self._failed, "sampling"))

    def set_metrics_modes(self, plan: SampledPlan) -> list[str]:
        """Set the metrics modes that a plan's columns need; returns its warnings, with the modes that were set."""
        wanted = plan.metrics.fixes
        fixed = fix_metrics(self.table, wanted) if wanted else []
        for each in fixed:
            logger.info("%s", each.setting())
            self._set.append(f"{each.key} = '{each.wanted}'")
        reworded = {each.setting(would=True): each.setting() if each in fixed else "" for each in wanted}
        return [reworded.get(warning, warning) for warning in plan.warnings]

    def write(self, work: ResolvedSpec, plan: SampledPlan) -> Sequence[FileGroup]:
        """Rewrite the file groups of a plan, and commit them in batches; returns those that lost to another writer."""
        self.commits.conflicts, self.commits.lost = [], []
        if not plan.groups:
            return ()
        assert plan.order is not None  # noqa: S101
        assert plan.target is not None  # noqa: S101
        layouts = [each.layout for each in plan.sampled_groups]
        properties = {
            **self.summary,
            **snapshot_properties(plan.order, layouts, plan.target),
            REQUEST: key_of_request(work, plan.order, plan.target),
        }
        self._measure = ScanFractions(self.table, plan.order, plan.kept, plan.lengths, work.workload, plan.left_tasks)
        waiting = self._open = len(plan.groups)
        per_commit = -(-waiting // self._options.max_commits) if self._options.partial_progress else waiting
        context = RewriteContext(
            # A commit refreshes the table; the other file groups must still see it as it was planned.
            copy(self.table),
            plan.order,
            self.budget,
            self._options.spill_directory,
            self.progress,
            available_cores(),
        )
        commit = partial(self._commit, planned_snapshot(self.table, plan), properties, self._measure)
        most = self._options.max_concurrent_file_group_rewrites
        pool = _rewrite_groups(context, plan.sampled_groups, most, self._should_continue)
        batch: list[tuple[SampledGroup, list[DataFile]]] = []
        if not self._has_written:
            self._end_marker = plan.end_marker
        self._has_written = True
        try:
            with closing(pool) as outcomes:
                for sampled, outcome in outcomes:
                    waiting -= 1
                    if isinstance(outcome, Exception):
                        self._failed("a file group", sampled.group, outcome)
                        continue
                    # If anything fails before the commit, the handler below deletes the files of the batch.
                    batch.append((sampled, outcome))
                    if len(batch) == per_commit:
                        due, batch = batch, []
                        commit(due)
            self.commits.waiting += waiting
            due, batch = batch, []
            commit(due)
        except BaseException:
            self._delete(batch)
            raise
        return self.commits.lost

    def _commit(
        self,
        start: Snapshot | None,
        properties: Mapping[str, str],
        measure: ScanFractions,
        batch: Sequence[tuple[SampledGroup, list[DataFile]]],
    ) -> None:
        if not batch:
            return
        assert start is not None  # noqa: S101
        try:
            results = [measure.result(*each) for each in batch]
            scans = measure.column_scans([each.sampled for each in results], results)
            kinds = "before", "predicted", "actual"
            fractions = {
                scan.column: {kind: round(of, 6) for kind in kinds if (of := getattr(scan, kind)) is not None}
                for scan in scans
            }
            seconds = time.monotonic() - self._since
            commit_properties = {SCAN_FRACTIONS: json.dumps(fractions), DURATION: str(round(1000 * seconds))}
            is_last = len(batch) == self._open and not (self.commits.failed_files or self.commits.lost)
            if self._end_marker is not None and is_last:
                commit_properties[SETTLED_FROM] = self._end_marker
        except BaseException:
            self._delete(batch)
            raise
        if self.commits.commit(start, results, {**properties, **commit_properties}):
            self._open -= len(batch)
            self._results += results
            self._since = time.monotonic()

    def _delete(self, batch: Sequence[tuple[SampledGroup, list[DataFile]]]) -> None:
        delete_files(self.table, [file.file_path for _, files in batch for file in files])

    def drop_vanished_groups(self, lost: Sequence[FileGroup]) -> str | None:
        """Drop lost file groups whose files are gone; returns why nothing was rewritten, or None if something was."""
        conflict = self.commits.conflicts[-1]
        self.commits.conflicts, self.commits.lost = [], []
        if self.commits.rewritten_files:
            logger.warning("%s file groups of %s were removed by other operations: %s", len(lost), self._name, conflict)
            return None
        return (
            f"Nothing left to rewrite in {self._name}: other operations changed the data files of {len(lost)} file "
            f"groups meanwhile. {conflict}"
        )

    def check_failures(self) -> None:
        """Count the lost file groups as failed; raises if more commits failed than the options allow."""
        commits = self.commits
        commits.failed_files += sum(group.data_files_count for group in commits.lost)
        failed = [*commits.failed_commits, *commits.conflicts]
        kind = RewriteConflictError if commits.conflicts else RewriteFailedError
        if failed and not self._options.partial_progress:
            raise failed[-1]
        if commits.failed_files and not commits.count:
            reason = f"no file group could be rewritten: {failed[-1] if failed else commits.failure}"
            raise self._failure(reason, kind)
        if len(failed) > self._options.max_failed_commits:
            raise kind(
                f"Cannot complete the rewrite of {self._name}, because partial-progress.enabled is true but "
                f"{len(failed)} rewrite commits failed. This is more than the maximum allowed failures of "
                f"{self._options.max_failed_commits}. The log has the causes; the other commits remain."
            )

    def result(self, message: str | None, warnings: Sequence[str]) -> RewriteResult:
        """Return the counts, scan fractions and messages of the rewrite."""
        commits, measure, results = self.commits, self._measure if self._results else None, self._results
        sampled = [each.sampled for each in results]
        scans = measure.column_scans(sampled, results) if measure else ()
        if scans:
            logger.info("Scan fractions of the rewrite of %s: %s", self._name, _scan_fractions_text(scans))
        waiting = f"{commits.waiting:,} file groups were not begun, because there was no time left."
        said = (message, *warnings, waiting if commits.waiting else None)
        return RewriteResult(
            commits.rewritten_files,
            commits.added_files,
            commits.rewritten_bytes,
            commits.failed_files,
            commits.removed_delete_files,
            " ".join(filter(None, said)) or None,
            scans,
            workload=measure.workload_scan(sampled, results) if measure else None,
            before=measure.table_files(each.today for each in sampled) if measure else None,
            after=measure.table_files(each.written for each in results) if measure else None,
        )

    def _failed(self, what: str, group: FileGroup, error: Exception) -> None:
        """Count a failed file group; raises RewriteFailedError without partial progress."""
        if not self._options.partial_progress:
            raise self._failure(f"{what} failed: {error}") from error
        logger.error(
            "Cannot rewrite file group %s of %s, because %s failed", group.index, self._name, what, exc_info=error
        )
        self.commits.failed_files += group.data_files_count
        self.commits.failure = error

    def _failure(self, reason: str, kind: type[RewriteFailedError] = RewriteFailedError) -> RewriteFailedError:
        """Return the error that ends the rewrite, with the reason and what was committed."""
        count = self.commits.count
        left = (
            f"{count} commits remain, and the other new files were deleted."
            if count
            else f"Nothing was committed{', and the new files were deleted' if self._has_written else ''}."
        )
        return kind(f"Cannot complete the rewrite of {self._name}, because {reason.rstrip('.')}. {left}")


def _scan_fractions_text(scans: Sequence[ColumnScan]) -> str:
    """Return scan fractions as one line of text."""
    return "; ".join(
        f"{scan.column} "
        + ", ".join(
            f"{100 * value:.1f}% {name}"
            for name, value in (("before", scan.before), ("predicted", scan.predicted), ("actual", scan.actual))
            if value is not None
        )
        for scan in scans
    )


def _rewrite_groups(
    context: RewriteContext,
    groups: Sequence[SampledGroup],
    most: int,
    should_continue: Callable[[], bool],
) -> Generator[tuple[SampledGroup, list[DataFile] | Exception], None, None]:
    """Rewrite at most ``most`` file groups at a time, and yield each with its new files or its error.

    Running file groups share the threads of the context. ``should_continue`` is called before each file group begins.
    Closing the generator stops the file groups that run, and deletes their new files.
    """
    waiting, running = deque(groups), dict[Future[list[DataFile]], tuple[SampledGroup, int]]()
    with ThreadPoolExecutor(min(most, max(1, len(groups))), "iceberg-zorder-group") as pool:
        try:
            while True:
                # Start file groups while there are threads for the next one.
                while waiting and len(running) < most:
                    # One thread for each new file, but at least an equal share of all threads.
                    wanted = max(waiting[0].group.expected_output_files, context.threads // len(groups), 1)
                    share = min(context.threads, wanted)
                    if sum(busy for _, busy in running.values()) + share > context.threads or not should_continue():
                        break
                    each = waiting.popleft()
                    shared = replace(context, threads=share)
                    running[pool.submit(rewrite_group, shared, each.group, each.layout)] = each, share
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(finished, key=lambda done: running[done][0].group.index):
                    sampled, _ = running.pop(future)
                    error = future.exception()
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    yield sampled, error or future.result()
        finally:
            context.stopped.set()
            for future in running:
                # Wait for the file group, and delete its files; a failed one has deleted its own.
                if not future.exception():
                    delete_files(context.table, [file.file_path for file in future.result()])


def snapshot_properties(order: ResolvedSortOrder, layouts: Sequence[Layout], target: TargetSize) -> dict[str, str]:
    """Return the summary properties that describe the layouts of a snapshot."""
    hashes = sorted(layout_hash(layout) for layout in layouts)
    is_plain = order.curve == ZORDER and not order.prefix
    return {
        COLUMNS: ",".join(column.name for column in order.columns) if is_plain else order.sort_order,
        CUTS: ADAPTIVE if isinstance(layouts[0].cuts, BoxTree) else EVEN,
        LAYOUT_HASH: hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest(),
        TARGET: f"{target.size} {target.origin}",
    }
