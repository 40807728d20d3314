"""Choose the data files of a rewrite, each with a reason: by age, size, deletes, partition spec and gain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, compress
from operator import attrgetter

import numpy as np
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.metrics.data_files import DataFiles
from iceberg_zorder.metrics.history import SnapshotFacts
from iceberg_zorder.metrics.scan_cost import LOSS_FACTOR, ideal_file_size, open_cost
from iceberg_zorder.pyiceberg.bounds import KeptBounds
from iceberg_zorder.pyiceberg.files import DataFileTask, FileGroup, display_name, partition_of, single_path, size_of
from iceberg_zorder.pyiceberg.listing.listing import file_arrays
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.rewrite.messages import COLUMNS, QUERIES, Reason, why_nothing_of
from iceberg_zorder.rewrite.metrics_check import FIX
from iceberg_zorder.rewrite.options import RewriteOptions, domain_faults
from iceberg_zorder.select.branch_history import (
    NO_CAP,
    UnchangedSince,
    rewrite_budget,
    rewrites_to,
    small_files_to_merge,
    workload_of,
)
from iceberg_zorder.select.gain import UpkeepRequest, choose, rows_to_spread
from iceberg_zorder.select.group_cuts import cut_groups

OPTION, PROPERTY, LAST_LAYOUT, DATA = "option", "property", "last layout", "data"

_PROPERTY_NAME = "write.target-file-size-bytes"
_FAR_OFF = 4
_path = attrgetter("data_file.file_path")


@dataclass(frozen=True)
class TargetSize:
    """The size that data files are to have."""

    size: int  # bytes
    source: str  # where it is from: OPTION, PROPERTY, LAST_LAYOUT or DATA
    origin: str  # where the last layout's is from, else the same


def given_target(table: Table, options: RewriteOptions) -> TargetSize | None:
    """Find the target that the option or the table's property sets; raises InvalidInputError if it is no number."""
    if options.target_file_size is not None:
        return TargetSize(options.target_file_size, OPTION, OPTION)
    text = table.properties.get(_PROPERTY_NAME)
    try:
        return None if text is None else TargetSize(int(text), PROPERTY, PROPERTY)
    except ValueError as error:
        raise InvalidInputError(
            f"Cannot rewrite data files of {display_name(table)}, because its property {_PROPERTY_NAME} = '{text}' is "
            "no whole number"
        ) from error


def found_target(
    options: RewriteOptions,
    snapshots: Sequence[SnapshotFacts],
    partition_sizes: Iterable[int],
    columns: int,
    open_cost: int,
    *,
    is_filtered: bool = False,
) -> TargetSize:
    """Find the target where none is given, for a number of clustering columns.

    Examples
    --------
    >>> found_target(RewriteOptions(), [], [20 * 1024**3, 30 * 1024**3, 100], 2, 4 * 1024**2)
    TargetSize(size=16777216, source='data', origin='data')
    >>> set_by_hand = [SnapshotFacts(1, 0, "replace", {"zorder.target-file-size": "20000000 option"})]
    >>> found_target(RewriteOptions(), set_by_hand, [30 * 1024**3], 2, 4 * 1024**2)
    TargetSize(size=20000000, source='last layout', origin='option')
    >>> found_target(RewriteOptions(min_file_size=30_000_000), [], [100], 2, 4 * 1024**2)
    TargetSize(size=40000000, source='data', origin='data')
    """
    last, origin = next((each.target for each in reversed(snapshots) if each.target), (0, DATA))
    target, source = last, LAST_LAYOUT
    if origin == DATA:
        # A filter searches the partition that half of all bytes are in, or in smaller ones.
        sizes = sorted(size for size in partition_sizes if size > 0)
        half = sum(sizes) / 2
        median = next((size for size, seen in zip(sizes, accumulate(sizes), strict=True) if seen >= half), 0)
        ideal = ideal_file_size(median, columns, open_cost)
        is_far_off = not is_filtered and max(ideal, last) >= _FAR_OFF * min(ideal, last)
        if not last or is_far_off:
            target, source = ideal, DATA
    # Around a given smallest or largest size a target is where Iceberg's default shares put it.
    least, most = options.min_file_size, options.max_file_size
    if least is not None and target <= least:
        target = max(least + 1, int(least / 0.75))
    if most is not None and target >= most:
        target = max(1, int(most / 1.8))
    return TargetSize(target, source, origin)


@dataclass(frozen=True)
class SizeRules:
    """Rules of one rewrite, checked; a spec is the one of new files, if files of others are to be rewritten for that.

    Examples
    --------
    >>> rules = SizeRules(100, 75, 180, RewriteOptions())
    >>> [rules.expected_output_files(size) for size in (1, 99, 109, 111, 175, 176, 1009)]
    [1, 1, 1, 2, 2, 2, 10]
    """

    target_file_size: int
    min_file_size: int
    max_file_size: int
    options: RewriteOptions
    spec_id: int | None = None

    @property
    def write_max_file_size(self) -> int:
        """The size above which a file is not planned to be: half way from the target to the maximum."""
        return int(self.target_file_size + (self.max_file_size - self.target_file_size) * 0.5)

    def called_for(self, tasks: Sequence[DataFileTask], runs: Mapping[int, str]) -> set[DataFileTask]:
        """Find the data files of a partition that are rewritten, as Iceberg does.

        Small files are not rewritten to as many, and those of earlier rewrites wait: :func:`.small_files_to_merge`.
        """
        if self.options.rewrite_all:
            return {*tasks}
        others = {
            task for task in tasks if self.must_rewrite(task) or task.data_file.file_size_in_bytes > self.max_file_size
        }
        small = [
            task for task in tasks if task.data_file.file_size_in_bytes < self.min_file_size and task not in others
        ]
        rewrites = [None if task.added_by is None else runs.get(task.added_by) for task in small]
        called = others.union(compress(small, small_files_to_merge([size_of([task]) for task in small], rewrites)))
        size = size_of(called)
        are_enough = len(called) > 1 and (len(called) >= self.options.min_input_files or size > self.target_file_size)
        return called if others or (are_enough and self.expected_output_files(size) < len(called)) else set()

    def why_chosen(self, tasks: Sequence[DataFileTask]) -> tuple[Reason, ...]:
        """Say why data files are called for."""
        if self.options.rewrite_all:
            return (Reason("rewrite-all"),)
        others = Counter(task.data_file.spec_id for task in tasks if self._is_of_other_spec(task))
        sizes = [task.data_file.file_size_in_bytes for task in tasks if not self._is_of_other_spec(task)]
        small = sum(size < self.min_file_size for size in sizes)
        large = sum(size > self.max_file_size for size in sizes)
        kinds = (
            Reason("small", {"files": small, "min_file_size_bytes": self.min_file_size}),
            Reason("large", {"files": large, "max_file_size_bytes": self.max_file_size}),
            Reason("deletes", {"files": len(sizes) - small - large}),
            *(
                Reason("other-spec", {"files": others[spec], "spec_id": spec, "new_spec_id": self.spec_id})
                for spec in sorted(others)
            ),
        )
        return tuple(each for each in kinds if each.parameters["files"])

    @property
    def why_small(self) -> Reason:
        """Why small files are left."""
        return Reason(
            "too-few-small",
            {
                "min_file_size_bytes": self.min_file_size,
                "min_input_files": self.options.min_input_files,
                "target_file_size_bytes": self.target_file_size,
            },
        )

    @property
    def why_in_order(self) -> Reason:
        """Why other files are left."""
        return Reason(
            "size-in-range", {"min_file_size_bytes": self.min_file_size, "max_file_size_bytes": self.max_file_size}
        )

    def expected_output_files(self, input_size: int) -> int:
        """Tell how many files to write for so many bytes; a small remainder is shared out among the others."""
        size, target = int(input_size * self.options.compression_factor), self.target_file_size
        if size < target:
            return 1
        whole, remainder = divmod(size, target)
        shared_out = size // whole < min(1.1 * target, float(self.write_max_file_size))
        return whole if remainder <= self.min_file_size and shared_out else whole + (remainder > 0)

    def must_rewrite(self, task: DataFileTask) -> bool:
        """Tell whether a data file is to be rewritten for its deletes or its partition spec, whatever its size."""
        deletes, rows = len(task.position_deletes) + len(task.equality_deletes), task.data_file.record_count
        of_one_file = (delete for delete in task.position_deletes if single_path(delete) is not None)
        deleted = min(sum(delete.record_count for delete in of_one_file), rows)
        is_large_share = deletes > 0 and rows > 0 and deleted / rows >= self.options.delete_ratio_threshold
        has_too_many_deletes = deletes >= self.options.delete_file_threshold or is_large_share
        return has_too_many_deletes or self._is_of_other_spec(task)

    def _is_of_other_spec(self, task: DataFileTask) -> bool:
        return self.spec_id is not None and task.data_file.spec_id != self.spec_id


def size_rules(table: Table, options: RewriteOptions, found: TargetSize | None = None) -> SizeRules:
    """Check the options of sizes, with defaults from a table's properties."""
    # Before a target is found, one that fits the other options: what is wrong with them is wrong whatever is found.
    target = (
        given_target(table, options) or found or found_target(options, (), (), 1, open_cost(table.properties))
    ).size
    least = int(target * 0.75) if options.min_file_size is None else options.min_file_size
    most = int(target * 1.8) if options.max_file_size is None else options.max_file_size
    for why in domain_faults(options, target, least, most, table.specs()):
        raise InvalidInputError(f"Cannot rewrite data files of {display_name(table)}, because {why}")
    written = table.spec().spec_id if options.output_spec_id is None else options.output_spec_id
    return SizeRules(target, least, most, options, written if options.rewrite_old_specs else None)


class Selector:
    """Chooses the data files of a rewrite: by sizes and deletes alone, if the columns to cluster by are not known."""

    def __init__(
        self,
        table: Table,
        rules: SizeRules,
        order: ResolvedSortOrder | None,
        spec_id: int,
        snapshots: Sequence[SnapshotFacts],
        at_ms: int,
        request: str | None = None,  # the key of what is asked for; None where nothing counts as settled
        workload: RequestedWorkload | None = None,
    ) -> None:
        self._table, self._rules, self._options, self._order = table, rules, rules.options, order
        self._spec_id, self._workload = spec_id, workload
        # Without the option, a snapshot from a clock that is ahead is no younger than any.
        age = 1000 * self._options.min_age_seconds
        young = [each for each in table.metadata.snapshots if age and at_ms - each.timestamp_ms < age]
        self._young_numbers = {each.sequence_number for each in young if each.sequence_number}
        self._young_ids = {each.snapshot_id for each in young}
        self._left: list[FileGroup] = []
        self._runs, self._budget = rewrites_to(snapshots, rules.target_file_size), NO_CAP
        self._unchanged: UnchangedSince | None = None
        if order is not None:
            kept, queries = KeptBounds.of(table, order.named), workload.key if workload else ""
            is_mending = self._options.layout.metrics_check == FIX and bool(kept.missing)
            if not is_mending:
                like = [each for each in snapshots if each.is_by(order.sort_order) and workload_of(each) == queries]
                self._budget = rewrite_budget(rewrites_to(like, rules.target_file_size), snapshots)
                self._unchanged = UnchangedSince.rewrites_by(request, snapshots) if request else None
            # Where the rewrite sets what is missing, new files are written with that, which no settled ones have.
            self._kept = kept.mended if is_mending else kept
            self._fields = [table.schema().find_field(each) for each in order.field_ids]

    def select(
        self, scope: Sequence[FileGroup], most: float = math.inf
    ) -> tuple[list[FileGroup], list[FileGroup], str | None]:
        """Choose among the data files of each partition, so many at most.

        Returns the file groups that are chosen, what is left, and if nothing is chosen why, and what would force it.
        """
        others: list[FileGroup] = []
        # Files and partitions are in an order that every engine finds, whatever the order in which manifests are read.
        in_order = [replace(files, tasks=tuple(sorted(files.tasks, key=_path))) for files in scope]
        for files in sorted(in_order, key=lambda files: _path(files.tasks[0])):
            young, old = _divided(files.tasks, self._is_young)
            self._leave(files, young, Reason("young", {"min_age_seconds": self._options.min_age_seconds}))
            is_covered = self._unchanged is not None and self._unchanged.covers([task.added_by for task in old])
            if is_covered and not any(map(self._rules.must_rewrite, old)):
                self._leave(files, old, Reason("settled"))
            elif old:
                others.append(replace(files, tasks=old))
        rows = rows_to_spread([self._rules.expected_output_files(size_of(files.tasks)) for files in others])
        parts: list[FileGroup] = []
        for of_partition, count in zip(others, rows, strict=True):
            for files in self._choose(of_partition, count):
                self._budget -= min(self._budget, size_of(files.tasks))
                parts += self._cut(files)
        chosen = self._within_limit(parts, most)
        return chosen, self._left, None if chosen else why_nothing_of(display_name(self._table), _counts(self._left))

    def _is_young(self, task: DataFileTask) -> bool:
        """Return whether a data file is younger than ``min-age-seconds``.

        It is as old as the snapshot of its data sequence number, which rewrites keep; where that is 0, as in tables of
        version 1, as the snapshot that added it. Files of snapshots that are not kept any more are old enough.
        """
        number = task.data_sequence_number
        return number in self._young_numbers if number else task.added_by in self._young_ids

    def _leave(self, files: FileGroup, tasks: Sequence[DataFileTask], why: Reason) -> None:
        if tasks:
            self._left.append(replace(files, tasks=tuple(tasks), reasons=(why,)))

    def _choose(self, files: FileGroup, rows: int) -> list[FileGroup]:
        """Choose among the data files of a partition, by sizes and deletes, or by what is gained, too."""
        called = self._rules.called_for(files.tasks, self._runs)
        is_by_gain = not (self._order is None or self._options.rewrite_all or math.isinf(self._options.max_scan_ratio))
        if is_by_gain and all(task.data_file.spec_id == self._spec_id for task in files.tasks):
            if called or len(files.tasks) > 1:
                return self._choose_by_gain(files, called, rows)
            # There is no set of files to gain from.
            is_by_gain = False
        chosen, rest = _divided(files.tasks, called.__contains__)
        least = 0 if is_by_gain else self._rules.min_file_size
        small, rest = _divided(rest, lambda task: task.data_file.file_size_in_bytes < least)
        self._leave(files, small, self._rules.why_small)
        # Rows of other specs are cut by partitions first, of which bounds do not tell what they gain.
        self._leave(files, rest, Reason("other-spec-unknown") if is_by_gain else self._rules.why_in_order)
        return [replace(files, tasks=chosen, reasons=self._rules.why_chosen(chosen))] if chosen else []

    def _choose_by_gain(self, files: FileGroup, called: set[DataFileTask], rows: int) -> list[FileGroup]:
        tasks = files.tasks
        arrays, request = self._described(tasks)
        calls, dues = (
            np.array([*map(each, tasks)], np.bool_) for each in (called.__contains__, self._rules.must_rewrite)
        )
        choice = choose(arrays, calls, dues, self._budget, rows, request)
        chosen = tuple(tasks[place] for place in choice.files)
        figures = {
            "before": round(choice.today),
            "attainable": round(choice.attainable),
            "max_scan_ratio": self._options.max_scan_ratio,
            "over": QUERIES if request.goes_by_queries(arrays) else COLUMNS,
            "not_counted": self._kept.missing,
        }
        if not chosen:
            reason = Reason("gain-too-small", figures)
            if choice.today <= request.limit(choice.attainable):
                reason = Reason("scan-ratio-low", figures)
            elif choice.today <= choice.limit:
                means = {"before": figures["before"], "predicted": figures["attainable"], "over": figures["over"]}
                reason = Reason("loss-too-large", means)
            self._leave(files, tasks, reason)
            return []
        self._leave(files, _divided(tasks, {*chosen}.__contains__)[1], Reason("not-worth-adding"))
        why = self._rules.why_chosen(chosen)
        if not called.issuperset(chosen):
            why = (Reason("scan-ratio", {**figures, "predicted": round(choice.expected)}),)
        saved = (choice.today - choice.expected) / max(1, size_of(chosen))
        return [
            replace(
                files,
                tasks=chosen,
                reasons=why,
                saved_bytes_per_byte=saved,
                uses_smaller_target=choice.uses_smaller_target,
            )
        ]

    def _described(self, tasks: Sequence[DataFileTask]) -> tuple[DataFiles, UpkeepRequest]:
        """Describe data files, and how they are judged: columns of which new files get no bounds do not count."""
        order, files = self._order, [task.data_file for task in tasks]
        assert order is not None  # noqa: S101
        weights = zip(order.named_weights, self._kept.are_kept, strict=True)
        like = files[0] if len(set(map(partition_of, files))) == 1 else None
        request = UpkeepRequest(
            self._options.max_scan_ratio,
            # So many more files to open call for a rewrite, as so many small files do.
            max(0, self._options.min_input_files),
            self._rules.expected_output_files,
            order.layout_request(self._options.layout),
            self._kept.cuts,
            [weight if is_kept else 0.0 for weight, is_kept in weights],
            open_cost(self._table.properties),
            1.0 if self._options.layout.column_weights else LOSS_FACTOR,
            self._workload.asked_of(like, self._options.layout.workload_share) if self._workload else None,
        )
        return file_arrays(files, self._fields, order.named), request

    def _cut(self, files: FileGroup) -> list[FileGroup]:
        """Cut what is more than a file group may have, see the options ``max-file-group-*``; by default nothing is."""
        most = {
            "max_file_group_size_bytes": (self._options.max_file_group_size, size_of(files.tasks)),
            "max_file_group_input_files": (self._options.max_file_group_input_files, len(files.tasks)),
        }
        above = {name: bound for name, (bound, size) in most.items() if bound is not None and size > bound}
        if len(files.tasks) < 2 or not above or self._order is None:
            return [files]
        tasks = sorted(files.tasks, key=_path)
        arrays, request = self._described(tasks)
        size, count = (NO_CAP if bound is None else bound for bound, _ in most.values())
        groups = cut_groups(arrays, size, count, request.kept, request.weights)
        cuts = [
            Reason("split-group", {"number": number, "of": len(groups), **above})
            for number in range(1, len(groups) + 1)
        ]
        return [
            replace(files, tasks=tuple(tasks[place] for place in places), reasons=(*files.reasons, cut))
            for places, cut in zip(groups, cuts, strict=True)
        ]

    def _within_limit(self, chosen: list[FileGroup], most: float) -> list[FileGroup]:
        """Take ``max-files-to-rewrite`` files at most: those that are due, then those that save most for theirs."""
        limit, must_rewrite = self._options.max_files_to_rewrite, self._rules.must_rewrite
        if limit is None or sum(len(files.tasks) for files in chosen) <= (room := int(min(limit, most))):
            return chosen
        taken: list[FileGroup] = []
        due_first = sorted(
            chosen, key=lambda files: (not any(map(must_rewrite, files.tasks)), -files.saved_bytes_per_byte)
        )
        for files in due_first:
            tasks = sorted(files.tasks, key=lambda task: not must_rewrite(task))
            part = Reason("file-limit", {"files": room, "of": len(tasks), "max_files_to_rewrite": limit})
            why = (*files.reasons, part) if len(tasks) > room else files.reasons
            taken += [replace(files, tasks=tuple(tasks[:room]), reasons=why)] if room else []
            self._leave(files, tasks[room:], Reason("max-files-to-rewrite", {"max_files_to_rewrite": limit}))
            room = max(0, room - len(tasks))
        return taken


def _divided(
    tasks: Iterable[DataFileTask], is_first: Callable[[DataFileTask], bool]
) -> tuple[tuple[DataFileTask, ...], tuple[DataFileTask, ...]]:
    parts: tuple[list[DataFileTask], list[DataFileTask]] = ([], [])
    for task in tasks:
        parts[0 if is_first(task) else 1].append(task)
    return tuple(parts[0]), tuple(parts[1])


def _counts(left: Sequence[FileGroup]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for files in left:
        counts[files.reason] += len(files.tasks)
    return counts
