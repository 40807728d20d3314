"""Choose the data files of a rewrite, each with a reason: by age, size, deletes, partition spec and gain."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, compress
from operator import attrgetter
from typing import Any

import numpy as np
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.metrics.data_files import DataFiles
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.metrics.history import SnapshotFacts
from iceberg_zorder.metrics.scan_cost import ideal_file_size, open_cost
from iceberg_zorder.pyiceberg.bounds import KeptBounds
from iceberg_zorder.pyiceberg.files import (
    ChosenFiles,
    DataFileTask,
    PartitionFiles,
    display_name,
    partition_of,
    single_path,
    size_of,
)
from iceberg_zorder.pyiceberg.listing.listing import file_arrays
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.rewrite.messages import COLUMNS, QUERIES, Reason, why_nothing_of, words
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
from iceberg_zorder.select.gain import Choice, UpkeepRequest, choose, rows_to_spread
from iceberg_zorder.select.group_cuts import cut_groups

OPTION, PROPERTY, LAST_LAYOUT, DATA = "option", "property", "last layout", "data"

_PROPERTY_NAME = "write.target-file-size-bytes"
_RECOMPUTE_FACTOR = 4
_COSTS = ("before", "attainable")
_path = attrgetter("data_file.file_path")


@dataclass(frozen=True)
class TargetSize:
    """The target size of data files, with its origin."""

    size: int  # bytes
    source: str  # OPTION, PROPERTY, LAST_LAYOUT or DATA
    origin: str  # who first set the size: OPTION, PROPERTY or DATA


def explicit_target(table: Table, options: RewriteOptions) -> TargetSize | None:
    """Return the target that an option or a table property sets; None without one. Raises InvalidInputError."""
    if options.target_file_size is not None:
        return TargetSize(options.target_file_size, OPTION, OPTION)
    text = table.properties.get(_PROPERTY_NAME)
    try:
        return None if text is None else TargetSize(int(text), PROPERTY, PROPERTY)
    except ValueError as error:
        raise InvalidInputError(
            f"Cannot rewrite data files of {display_name(table)}, because its property {_PROPERTY_NAME} = '{text}' is "
            "not a whole number"
        ) from error


def automatic_target(
    options: RewriteOptions,
    snapshots: Sequence[SnapshotFacts],
    partition_sizes: Iterable[int],
    columns: int,
    open_cost: int,
    *,
    is_filtered: bool = False,
) -> TargetSize:
    """Return the automatic target for a number of clustering columns.

    Examples
    --------
    >>> automatic_target(RewriteOptions(), [], [20 * 1024**3, 30 * 1024**3, 100], 2, 4 * 1024**2)
    TargetSize(size=16777216, source='data', origin='data')
    >>> set_by_hand = [SnapshotFacts(1, 0, "replace", {"zorder.target-file-size": "20000000 option"})]
    >>> automatic_target(RewriteOptions(), set_by_hand, [30 * 1024**3], 2, 4 * 1024**2)
    TargetSize(size=20000000, source='last layout', origin='option')
    >>> automatic_target(RewriteOptions(min_file_size=30_000_000), [], [100], 2, 4 * 1024**2)
    TargetSize(size=40000000, source='data', origin='data')
    >>> automatic_target(RewriteOptions(min_file_size=30_000_000, max_file_size=36_000_000), [], [100], 2, 4 * 1024**2)
    TargetSize(size=33000000, source='data', origin='data')
    """
    last, origin = next((each.target for each in reversed(snapshots) if each.target), (0, DATA))
    target, source = last, LAST_LAYOUT
    if origin == DATA:
        # The median partition by bytes, because a filter searches one partition.
        sizes = sorted(size for size in partition_sizes if size > 0)
        half = sum(sizes) / 2
        median = next((size for size, seen in zip(sizes, accumulate(sizes), strict=True) if seen >= half), 0)
        ideal = ideal_file_size(median, columns, open_cost)
        is_far_off = not is_filtered and max(ideal, last) >= _RECOMPUTE_FACTOR * min(ideal, last)
        if not last or is_far_off:
            target, source = ideal, DATA
    # An automatic target outside of the limits moves between them: by Iceberg's default ratios, else to the middle.
    least, most = options.min_file_size, options.max_file_size
    if least is not None and target <= least:
        target = max(least + 1, int(least / 0.75))
    if most is not None and target >= most:
        target = max(1, int(most / 1.8))
        if least is not None and target <= least:
            target = (least + most) // 2
    return TargetSize(target, source, origin)


@dataclass(frozen=True)
class SizeRules:
    """Validated rules of a rewrite, with the new files' spec if files of old specs must be rewritten."""

    sizes: FileSizes
    options: RewriteOptions
    spec_id: int | None = None

    def called_files(self, tasks: Sequence[DataFileTask], runs: Mapping[int, str]) -> set[DataFileTask]:
        """Return the called files of a partition: by Iceberg's rules, and the files of old specs if asked for.

        Small files are skipped if the rewrite would not reduce their number. Small files of earlier rewrites wait until
        other small files have as many bytes, see :func:`.small_files_to_merge`.
        """
        if self.options.rewrite_all:
            return {*tasks}
        others = {
            task for task in tasks if self.must_rewrite(task) or task.data_file.file_size_in_bytes > self.sizes.most
        }
        small = [task for task in tasks if task.data_file.file_size_in_bytes < self.sizes.least and task not in others]
        rewrites = [None if task.added_by is None else runs.get(task.added_by) for task in small]
        called = others.union(compress(small, small_files_to_merge([size_of([task]) for task in small], rewrites)))
        size = size_of(called)
        are_enough = len(called) > 1 and (len(called) >= self.options.min_input_files or size > self.sizes.target)
        return called if others or (are_enough and self.sizes.expected_files(size) < len(called)) else set()

    def why_chosen(self, tasks: Sequence[DataFileTask]) -> tuple[Reason, ...]:
        """Return the reasons to rewrite data files."""
        if self.options.rewrite_all:
            return (Reason("rewrite-all"),)
        others = Counter(task.data_file.spec_id for task in tasks if self._is_of_other_spec(task))
        sizes = [task.data_file.file_size_in_bytes for task in tasks if not self._is_of_other_spec(task)]
        small = sum(size < self.sizes.least for size in sizes)
        large = sum(size > self.sizes.most for size in sizes)
        kinds = (
            Reason("small", {"files": small, "min_file_size_bytes": self.sizes.least}),
            Reason("large", {"files": large, "max_file_size_bytes": self.sizes.most}),
            Reason("deletes", {"files": len(sizes) - small - large}),
            *(
                Reason("other-spec", {"files": others[spec], "spec_id": spec, "new_spec_id": self.spec_id})
                for spec in sorted(others)
            ),
        )
        return tuple(each for each in kinds if each.parameters["files"])

    @property
    def too_few_small_reason(self) -> Reason:
        """The reason to skip small files."""
        return Reason(
            "too-few-small",
            {
                "min_file_size_bytes": self.sizes.least,
                "min_input_files": self.options.min_input_files,
                "target_file_size_bytes": self.sizes.target,
            },
        )

    @property
    def size_in_range_reason(self) -> Reason:
        """The reason to skip other files."""
        return Reason(
            "size-in-range", {"min_file_size_bytes": self.sizes.least, "max_file_size_bytes": self.sizes.most}
        )

    def must_rewrite(self, task: DataFileTask) -> bool:
        """Return whether deletes or an old spec demand a data file's rewrite, regardless of its size."""
        deletes, rows = len(task.position_deletes) + len(task.equality_deletes), task.data_file.record_count
        of_one_file = (delete for delete in task.position_deletes if single_path(delete) is not None)
        deleted = min(sum(delete.record_count for delete in of_one_file), rows)
        is_large_share = deletes > 0 and rows > 0 and deleted / rows >= self.options.delete_ratio_threshold
        has_too_many_deletes = deletes >= self.options.delete_file_threshold or is_large_share
        return has_too_many_deletes or self._is_of_other_spec(task)

    def _is_of_other_spec(self, task: DataFileTask) -> bool:
        return self.spec_id is not None and task.data_file.spec_id != self.spec_id


def size_rules(table: Table, options: RewriteOptions, planned: TargetSize | None = None) -> SizeRules:
    """Return validated size rules, with defaults from a table's properties."""
    # Without a target yet, use one that fits the other options, so that only their own errors are reported.
    target = (
        explicit_target(table, options) or planned or automatic_target(options, (), (), 1, open_cost(table.properties))
    ).size
    least = int(target * 0.75) if options.min_file_size is None else options.min_file_size
    most = int(target * 1.8) if options.max_file_size is None else options.max_file_size
    for why in domain_faults(options, target, least, most, table.specs()):
        raise InvalidInputError(f"Cannot rewrite data files of {display_name(table)}, because {why}")
    written = table.spec().spec_id if options.output_spec_id is None else options.output_spec_id
    sizes = FileSizes(target, least, most, options.compression_factor)
    return SizeRules(sizes, options, written if options.rewrite_old_specs else None)


class Selector:
    """Chooses the data files of a rewrite; without clustering columns, by sizes and deletes only."""

    def __init__(
        self,
        table: Table,
        rules: SizeRules,
        order: ResolvedSortOrder | None,
        spec_id: int,
        snapshots: Sequence[SnapshotFacts],
        at_ms: int,
        request_key: str | None = None,  # None if no file counts as unchanged
        workload: RequestedWorkload | None = None,
    ) -> None:
        self._table, self._rules, self._options, self._order = table, rules, rules.options, order
        self._spec_id, self._workload = spec_id, workload
        # With option 0, no file is young, even if a snapshot's time lies in the future.
        age = 1000 * self._options.min_age_seconds
        young = [each for each in table.metadata.snapshots if age and at_ms - each.timestamp_ms < age]
        self._young_numbers = {each.sequence_number for each in young if each.sequence_number}
        self._young_ids = {each.snapshot_id for each in young}
        self._left: list[PartitionFiles] = []
        self._runs, self._budget = rewrites_to(snapshots, rules.sizes.target), NO_CAP
        self._unchanged: UnchangedSince | None = None
        if order is not None:
            kept, queries = KeptBounds.of(table, order.named), workload.key if workload else ""
            sets_metrics_modes = self._options.layout.metrics_check == FIX and bool(kept.missing)
            if not sets_metrics_modes:
                by_same = [each for each in snapshots if each.is_by(order.sort_order) and workload_of(each) == queries]
                self._budget = rewrite_budget(rewrites_to(by_same, rules.sizes.target), snapshots)
                self._unchanged = UnchangedSince.rewrites_by(request_key, snapshots) if request_key else None
            # If the rewrite sets missing metrics modes, its files get bounds that unchanged files lack.
            self._kept = kept.mended if sets_metrics_modes else kept
            self._fields = [table.schema().find_field(each) for each in order.field_ids]

    def select(self, scope: Sequence[PartitionFiles]) -> tuple[list[ChosenFiles], list[PartitionFiles], str | None]:
        """Choose among the data files of each partition.

        Returns the files chosen for each file group, the files that are left, and if nothing is chosen, a message with
        the reason.
        """
        others: list[PartitionFiles] = []
        settled: list[PartitionFiles] = []
        # Files and partitions are sorted, so that both engines agree on any order of manifests.
        in_order = [replace(files, tasks=tuple(sorted(files.tasks, key=_path))) for files in scope]
        for files in sorted(in_order, key=lambda files: _path(files.tasks[0])):
            # Queries skip files whose entries count no row. If one holds rows, its rewrite would make them visible.
            counted, empty = _divided(files.tasks, lambda task: task.data_file.record_count > 0)
            self._leave(files, empty, Reason("no-rows"))
            young, old = _divided(counted, self._is_young)
            self._leave(files, young, Reason("young", {"min_age_seconds": self._options.min_age_seconds}))
            is_covered = self._unchanged is not None and self._unchanged.covers([task.added_by for task in old])
            if is_covered and not any(map(self._rules.must_rewrite, old)):
                settled.append(replace(files, tasks=old))
            elif old:
                others.append(replace(files, tasks=old))
        for of_partition, count in self._with_rows(settled):
            self._leave_settled(of_partition, count)
        parts: list[ChosenFiles] = []
        for of_partition, count in self._with_rows(others):
            for files in self._choose(of_partition, count):
                self._budget -= min(self._budget, size_of(files.tasks))
                parts += self._cut(files, of_partition.tasks)
        chosen = self._within_limit(parts)
        return chosen, self._left, None if chosen else why_nothing_of(display_name(self._table), _counts(self._left))

    def _with_rows(self, partitions: Sequence[PartitionFiles]) -> Iterator[tuple[PartitionFiles, int]]:
        """Return each partition with the number of rows to spread in it."""
        expected = [self._rules.sizes.expected_files(size_of(files.tasks)) for files in partitions]
        return zip(partitions, rows_to_spread(expected), strict=True)

    def _is_young(self, task: DataFileTask) -> bool:
        """Return whether a data file is younger than ``min-age-seconds``.

        Its age is that of the snapshot with its data sequence number, which rewrites keep. In format version 1, where
        that number is 0, it is the age of the snapshot that added it. Files of expired snapshots are old enough.
        """
        number = task.data_sequence_number
        return number in self._young_numbers if number else task.added_by in self._young_ids

    def _leave(self, files: PartitionFiles, tasks: Sequence[DataFileTask], why: Reason) -> None:
        if tasks:
            self._left.append(PartitionFiles(tuple(tasks), files.partition_path, (why,)))

    def _choose(self, files: PartitionFiles, rows: int) -> list[ChosenFiles]:
        """Choose among the data files of a partition that no unfinished rewrite by the same request has written.

        If none of these is chosen, choose among all. A partition of one file group has one commit, so it cannot be
        unfinished.
        """
        unfinished = self._unchanged.unfinished if self._unchanged and self._exceeded(files.tasks) else ()
        written, others = _divided(
            files.tasks, lambda task: task.added_by in unfinished and not self._rules.must_rewrite(task)
        )
        if written and others:
            left = len(self._left)
            if chosen := self._choose_among(replace(files, tasks=others), rows):
                self._leave(files, written, Reason("already-written"))
                return chosen
            del self._left[left:]
        return self._choose_among(files, rows)

    def _choose_among(self, files: PartitionFiles, rows: int) -> list[ChosenFiles]:
        """Choose among data files of a partition by sizes and deletes, and by gain if that is known."""
        called = self._rules.called_files(files.tasks, self._runs)
        is_by_gain = self._goes_by_gain
        if is_by_gain and self._are_of_new_spec(files):
            if called or len(files.tasks) > 1:
                return self._choose_by_gain(files, called, rows)
            # No set of files could gain.
            is_by_gain = False
        chosen, rest = _divided(files.tasks, called.__contains__)
        least = 0 if is_by_gain else self._rules.sizes.least
        small, rest = _divided(rest, lambda task: task.data_file.file_size_in_bytes < least)
        self._leave(files, small, self._rules.too_few_small_reason)
        # Rows of other specs are cut by partition first, and bounds do not show what that gains.
        self._leave(files, rest, Reason("other-spec-unknown") if is_by_gain else self._rules.size_in_range_reason)
        return [ChosenFiles(chosen, files.partition_path, self._rules.why_chosen(chosen))] if chosen else []

    @property
    def _goes_by_gain(self) -> bool:
        return not (self._order is None or self._options.rewrite_all or math.isinf(self._options.max_scan_ratio))

    def _are_of_new_spec(self, files: PartitionFiles) -> bool:
        return all(task.data_file.spec_id == self._spec_id for task in files.tasks)

    def _leave_settled(self, files: PartitionFiles, rows: int) -> None:
        """Leave files that the same request has rewritten, with what filters cost if that is known."""
        figures = {}
        if self._goes_by_gain and self._are_of_new_spec(files):
            figures = self._choice(files.tasks, set(), 0, rows)[1]
        self._leave(files, files.tasks, Reason("settled", figures))

    def _choice(
        self, tasks: Sequence[DataFileTask], called: set[DataFileTask], budget: int, rows: int
    ) -> tuple[Choice, dict[str, Any]]:
        """Return the choice among the files of a partition, with the figures for its reason."""
        arrays, request = self._gain_inputs(tasks)
        calls, requirements = (
            np.array([*map(each, tasks)], np.bool_) for each in (called.__contains__, self._rules.must_rewrite)
        )
        choice = choose(arrays, calls, requirements, budget, rows, request)
        return choice, {
            "before": round(choice.today),
            "attainable": round(choice.attainable),
            "max_scan_ratio": self._options.max_scan_ratio,
            "over": QUERIES if request.goes_by_queries(arrays) else COLUMNS,
            "not_counted": self._kept.missing,
        }

    def _choose_by_gain(self, files: PartitionFiles, called: set[DataFileTask], rows: int) -> list[ChosenFiles]:
        tasks = files.tasks
        choice, figures = self._choice(tasks, called, self._budget, rows)
        chosen = tuple(tasks[place] for place in choice.files)
        if not chosen:
            self._leave(files, tasks, Reason("scan-ratio-low" if choice.is_within else "gain-too-small", figures))
            return []
        why_not = Reason("not-worth-adding" if choice.will_be_within else "gain-too-small", figures)
        self._leave(files, _divided(tasks, {*chosen}.__contains__)[1], why_not)
        why = self._rules.why_chosen(chosen)
        if not called.issuperset(chosen):
            why = (Reason("scan-ratio", {**figures, "predicted": round(choice.expected)}),)
        saved = (choice.today - choice.expected) / max(1, size_of(chosen))
        return [
            ChosenFiles(
                chosen,
                files.partition_path,
                why,
                saved_bytes_per_byte=saved,
                uses_smaller_target=choice.uses_smaller_target,
                extents=self._by_name(choice.extents),
            )
        ]

    def _gain_inputs(self, tasks: Sequence[DataFileTask]) -> tuple[DataFiles, UpkeepRequest]:
        """Return data files as arrays, with the rules that judge them; columns without new bounds do not count."""
        order, files = self._order, [task.data_file for task in tasks]
        assert order is not None  # noqa: S101
        weights = zip(order.named_weights, self._kept.are_kept, strict=True)
        example = files[0] if len(set(map(partition_of, files))) == 1 else None
        request = UpkeepRequest(
            self._options.max_scan_ratio,
            # min-input-files also limits the extra open costs that are tolerated.
            max(0, self._options.min_input_files),
            self._rules.sizes,
            order.layout_request(self._options.layout),
            self._kept.cuts,
            [weight if is_kept else 0.0 for weight, is_kept in weights],
            open_cost(self._table.properties),
            self._workload.asked_of(example, self._options.layout.workload_share) if self._workload else None,
        )
        return file_arrays(files, self._fields, order.named), request

    def _by_name(self, extents: Sequence[int]) -> dict[str, int]:
        assert self._order is not None  # noqa: S101
        return dict(zip([column.name for column in self._order.named], extents, strict=True)) if extents else {}

    def _exceeded(self, tasks: Sequence[DataFileTask]) -> dict[str, int]:
        """Return the options ``max-file-group-*`` that data files exceed, with their values."""
        most = {
            "max_file_group_size_bytes": (self._options.max_file_group_size, size_of(tasks)),
            "max_file_group_input_files": (self._options.max_file_group_input_files, len(tasks)),
        }
        return {name: bound for name, (bound, size) in most.items() if size > bound}

    def _cut(self, files: ChosenFiles, partition: Sequence[DataFileTask]) -> list[ChosenFiles]:
        """Split a file group that exceeds the options ``max-file-group-*``; ``partition`` has all files, by path."""
        above = self._exceeded(files.tasks)
        if len(files.tasks) < 2 or not above or self._order is None:
            return [files]
        arrays, request = self._gain_inputs(partition)
        chosen = np.flatnonzero([*map({*files.tasks}.__contains__, partition)])
        most = self._options.max_file_group_size, self._options.max_file_group_input_files
        groups = cut_groups(arrays, chosen, *most, request.kept, request.weights)
        cuts = [
            Reason("split-group", {"number": number, "of": len(groups), **above})
            for number in range(1, len(groups) + 1)
        ]
        return [
            replace(
                files,
                tasks=tuple(partition[place] for place in places),
                reasons=(*files.reasons, cut),
                extents=self._by_name(extents),
            )
            for (places, extents), cut in zip(groups, cuts, strict=True)
        ]

    def _within_limit(self, chosen: list[ChosenFiles]) -> list[ChosenFiles]:
        """Take at most ``max-files-to-rewrite`` files: required ones first, then the highest savings per byte."""
        limit, must_rewrite = self._options.max_files_to_rewrite, self._rules.must_rewrite
        if limit is None or sum(len(files.tasks) for files in chosen) <= limit:
            return chosen
        room = limit
        taken: list[ChosenFiles] = []
        required_first = sorted(
            chosen, key=lambda files: (not any(map(must_rewrite, files.tasks)), -files.saved_bytes_per_byte)
        )
        for files in required_first:
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


def _counts(left: Sequence[PartitionFiles]) -> dict[str, int]:
    """Count the files by reason. Costs in several partitions add up: a filter reads all of them."""
    counts, costs = Counter[str](), defaultdict[str, Counter[str]](Counter)
    reason_of: dict[str, Reason] = {}
    for files in left:
        (reason,) = files.reasons
        key = repr(replace(reason, parameters={**reason.parameters, **dict.fromkeys(_COSTS, 0)}))
        counts[key] += len(files.tasks)
        costs[key].update({name: reason.parameters[name] for name in _COSTS if name in reason.parameters})
        reason_of[key] = replace(reason, parameters={**reason.parameters, **costs[key]})
    return {words([reason_of[key]]): number for key, number in counts.items()}
