"""Which data files a rewrite takes, and why: by age, what is settled, sizes and deletes, and what filters gain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.content_files import partition_of
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup, size_of
from iceberg_zorder.pyiceberg.kept_bounds import KeptBounds
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.selection.sizes import SizeRules
from iceberg_zorder.pyiceberg.scan.file_arrays import file_arrays
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.report.history import SnapshotFacts
from iceberg_zorder.request.metrics_check import FIX
from iceberg_zorder.request.reasons import COLUMNS, QUERIES, Reason
from iceberg_zorder.request.rewrite_messages import why_nothing_of
from iceberg_zorder.upkeep.gain import choose, rows_to_spread
from iceberg_zorder.upkeep.gathering import NO_CAP, rewrite_budget, rewrites_to
from iceberg_zorder.upkeep.group_cuts import cut_groups
from iceberg_zorder.upkeep.settled import Settled, workload_of
from iceberg_zorder.upkeep.upkeep_request import UpkeepRequest


class Selector:
    """Chooses the data files of a rewrite: by sizes and deletes alone, if the columns to cluster by are not known."""

    def __init__(
        self,
        table: Table,
        rules: SizeRules,
        order: RowOrder | None,
        spec_id: int,
        snapshots: Sequence[SnapshotFacts],
        at_ms: int,
        settled: Settled | None = None,
        workload: RequestedWorkload | None = None,
    ) -> None:
        self._table, self._rules, self._options, self._order = table, rules, rules.options, order
        self._spec_id, self._settled, self._workload = spec_id, settled, workload
        self._is_younger = younger(table, rules.options.min_age_seconds, at_ms)
        self._left: list[FileGroup] = []
        self._runs, self._budget = rewrites_to(snapshots, rules.target_file_size), NO_CAP
        if order is not None:
            kept, queries = KeptBounds.of(table, order.named), workload.key if workload else ""
            is_mending = self._options.layout.metrics_check == FIX and bool(kept.missing)
            if not is_mending:
                like = [each for each in snapshots if each.is_by(order.sort_order) and workload_of(each) == queries]
                self._budget = rewrite_budget(rewrites_to(like, rules.target_file_size), snapshots)
            # Where the rewrite sets what is missing, new files are written with that.
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
            young, old = _divided(files.tasks, self._is_younger)
            self._leave(files, young, Reason("young", {"min_age_seconds": self._options.min_age_seconds}))
            if old and self._is_settled(old):
                self._leave(files, old, Reason("settled"))
            elif old:
                others.append(replace(files, tasks=old))
        rows = rows_to_spread([self._rules.expected_output_files(size_of(files.tasks)) for files in others])
        parts: list[FileGroup] = []
        for of_partition, count in zip(others, rows, strict=True):
            for files in self._judged(of_partition, count):
                self._budget -= min(self._budget, size_of(files.tasks))
                parts += self._parts(files)
        chosen = self._limited(parts, most)
        return chosen, self._left, None if chosen else why_nothing_of(display_name(self._table), _counts(self._left))

    def _leave(self, files: FileGroup, tasks: Sequence[DataFileTask], why: Reason) -> None:
        if tasks:
            self._left.append(replace(files, tasks=tuple(tasks), reasons=(why,)))

    def _is_settled(self, tasks: Sequence[DataFileTask]) -> bool:
        is_covered = self._settled is not None and self._settled.covers([task.added_by for task in tasks])
        return is_covered and not any(map(self._rules.is_due, tasks))

    def _judged(self, files: FileGroup, rows: int) -> list[FileGroup]:
        """Choose among the data files of a partition, by sizes and deletes, or by what is gained, too."""
        called = self._rules.called_for(files.tasks, self._runs)
        is_by_gain = not (self._order is None or self._options.rewrite_all or math.isinf(self._options.max_scan_ratio))
        if is_by_gain and all(task.data_file.spec_id == self._spec_id for task in files.tasks):
            return self._by_gain(files, called, rows)
        chosen, rest = _divided(files.tasks, called.__contains__)
        small, rest = _divided(rest, lambda task: not is_by_gain and self._rules.wants(task))
        self._leave(files, small, self._rules.why_small)
        # Rows of other specs are cut by partitions first, of which bounds do not tell what they gain.
        self._leave(files, rest, Reason("other-spec-unknown") if is_by_gain else self._rules.why_in_order)
        return [replace(files, tasks=chosen, reasons=self._rules.why_chosen(chosen))] if chosen else []

    def _by_gain(self, files: FileGroup, called: set[DataFileTask], rows: int) -> list[FileGroup]:
        tasks = files.tasks
        arrays, request = self._described(tasks)
        calls, dues = (np.array([*map(each, tasks)], np.bool_) for each in (called.__contains__, self._rules.is_due))
        choice = choose(arrays, calls, dues, self._budget, rows, request)
        chosen = tuple(tasks[place] for place in choice.files)
        figures = {
            "today": choice.today,
            "attainable": choice.attainable,
            "max_scan_ratio": self._options.max_scan_ratio,
            "over": QUERIES if request.goes_by_queries(arrays) else COLUMNS,
            "not_counted": self._kept.missing,
        }
        if not chosen:
            is_above = choice.today > self._options.max_scan_ratio * choice.attainable
            self._leave(files, tasks, Reason("over-budget" if is_above else "scan-ratio-low", figures))
            return []
        self._leave(files, _divided(tasks, {*chosen}.__contains__)[1], Reason("others-only"))
        why = self._rules.why_chosen(chosen)
        if not called.issuperset(chosen):
            why = (Reason("scan-ratio", {**figures, "expected": choice.expected}),)
        saved = (choice.today - choice.expected) * arrays.bytes / max(1, size_of(chosen))
        return [replace(files, tasks=chosen, reasons=why, worth=saved, is_finer=choice.is_finer)]

    def _described(self, tasks: Sequence[DataFileTask]) -> tuple[DataFiles, UpkeepRequest]:
        """Describe data files, and how they are judged: columns of which new files get no bounds do not count."""
        order, files = self._order, [task.data_file for task in tasks]
        assert order is not None  # noqa: S101
        weights = zip(order.named_weights, self._kept.are_kept, strict=True)
        like = files[0] if len(set(map(partition_of, files))) == 1 else None
        request = UpkeepRequest(
            self._options.max_scan_ratio,
            self._rules.expected_output_files,
            order.layout_request(self._options.layout),
            self._kept.cuts,
            [weight if is_kept else 0.0 for weight, is_kept in weights],
            self._workload.asked_of(like, self._options.layout.workload_share) if self._workload else None,
        )
        return file_arrays(files, self._fields, order.named), request

    def _parts(self, files: FileGroup) -> list[FileGroup]:
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
        cuts = [Reason("part", {"number": number, "of": len(groups), **above}) for number in range(1, len(groups) + 1)]
        return [
            replace(files, tasks=tuple(tasks[place] for place in places), reasons=(*files.reasons, cut))
            for places, cut in zip(groups, cuts, strict=True)
        ]

    def _limited(self, chosen: list[FileGroup], most: float) -> list[FileGroup]:
        """Take ``max-files-to-rewrite`` files at most: those that are due, then those that save most for theirs."""
        limit, is_due = self._options.max_files_to_rewrite, self._rules.is_due
        if limit is None or sum(len(files.tasks) for files in chosen) <= (room := int(min(limit, most))):
            return chosen
        taken: list[FileGroup] = []
        for files in sorted(chosen, key=lambda files: (not any(map(is_due, files.tasks)), -files.worth)):
            tasks = sorted(files.tasks, key=lambda task: not is_due(task))
            part = Reason("limited", {"files": room, "of": len(tasks), "max_files_to_rewrite": limit})
            why = (*files.reasons, part) if len(tasks) > room else files.reasons
            taken += [replace(files, tasks=tuple(tasks[:room]), reasons=why)] if room else []
            self._leave(files, tasks[room:], Reason("max-files-to-rewrite", {"max_files_to_rewrite": limit}))
            room = max(0, room - len(tasks))
        return taken


def younger(table: Table, seconds: int, at_ms: int) -> Callable[[DataFileTask], bool]:
    """Make what tells which data files are younger than so many seconds; 0 for files of any age.

    A file is as old as the snapshot of its data sequence number, which rewrites keep; where that is 0, as in tables of
    version 1, as the snapshot that added it. Files of snapshots that are not kept any more are old enough.
    """
    # Without the option, a snapshot from a clock that is ahead is no younger than any.
    young = [each for each in table.metadata.snapshots if seconds and at_ms - each.timestamp_ms < 1000 * seconds]
    numbers = {each.sequence_number for each in young if each.sequence_number}
    ids = {each.snapshot_id for each in young}

    def is_younger(task: DataFileTask) -> bool:
        number = task.data_sequence_number
        return number in numbers if number else task.added_by in ids

    return is_younger


def _divided(
    tasks: Iterable[DataFileTask], is_first: Callable[[DataFileTask], bool]
) -> tuple[tuple[DataFileTask, ...], tuple[DataFileTask, ...]]:
    parts: tuple[list[DataFileTask], list[DataFileTask]] = ([], [])
    for task in tasks:
        parts[0 if is_first(task) else 1].append(task)
    return tuple(parts[0]), tuple(parts[1])


def _path(task: DataFileTask) -> str:
    return task.data_file.file_path


def _counts(left: Sequence[FileGroup]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for files in left:
        counts[files.reason] += len(files.tasks)
    return counts
