"""The choice of data files by what their rewrite brings filters, for its bytes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, size_of
from iceberg_zorder.pyiceberg.kept_bounds import KeptBounds
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.selection.selection import PartitionFiles, Selected, SelectedFiles
from iceberg_zorder.pyiceberg.plan.selection.size_selection import SizeSelection
from iceberg_zorder.pyiceberg.plan.selection.sizes import SizeRules
from iceberg_zorder.pyiceberg.scan.file_arrays import file_arrays
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.request.metrics_check import FIX
from iceberg_zorder.request.rewrite_messages import (
    COLUMNS,
    OTHER_SPEC,
    QUERIES,
    no_bounds_of,
    not_counted,
    some_of_them,
    why_chosen,
    why_not_chosen,
    why_nothing_counts,
)
from iceberg_zorder.upkeep.gain import Choice, choose, rows_to_spread
from iceberg_zorder.upkeep.upkeep_request import UpkeepRequest, is_small_part
from iceberg_zorder.upkeep.workload_rows import goes_by_queries


class GainSelection:
    """Chooses, in each partition, what its sizes and deletes call for, and the files that lie across others too much.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    by_size : SizeSelection
        What sizes and deletes call for.
    rules : SizeRules
        The same rules.
    order : RowOrder
        The clustering columns.
    max_scan_ratio : float
        So many times the attainable scan fraction is left alone, at least 1.
    spec_id : int
        The partition spec of new files.
    runs : collection of int
        The snapshots of earlier rewrites by the same sort order, see :func:`.rewrites_by`.
    budget : int
        Bytes that a rewrite for gain may take, see :func:`.rewrite_budget`.
    workload : RequestedWorkload, optional
        The queries that files are judged by.
    """

    def __init__(
        self,
        table: Table,
        by_size: SizeSelection,
        rules: SizeRules,
        order: RowOrder,
        max_scan_ratio: float,
        spec_id: int,
        runs: Collection[int],
        budget: int,
        workload: RequestedWorkload | None = None,
    ) -> None:
        self._table, self._by_size, self._rules, self._order = table, by_size, rules, order
        self._workload = workload
        self._spec_id, self._runs, self._budget = spec_id, runs, budget
        self._ratio = max_scan_ratio
        self._fields = [table.schema().find_field(each) for each in order.field_ids]
        self._request = upkeep_request(table, rules, order, max_scan_ratio)
        self._missing = _kept(table, rules, order).missing

    def select(self, scope: Sequence[PartitionFiles]) -> Selected:
        """Choose by what is gained; see :meth:`Selection.select`."""
        by_size = self._by_size.select(scope)
        if not scope:
            return by_size
        sizes = {each.key: size_of(each.tasks) for each in scope}
        called_for = {each.key: each for each in by_size.chosen if self._makes_fewer(each, sizes[each.key])}
        expected = [self._rules.expected_output_files(size) for size in sizes.values()]
        chosen: list[SelectedFiles] = []
        left: list[SelectedFiles] = []
        ordered = [_in_order(partition) for partition in scope]
        rows = rows_to_spread(expected)
        judged: dict[int, tuple[Choice, str, str]] = {}
        budget = self._budget
        # The budget is spent in an order that every engine finds.
        for number in sorted(range(len(ordered)), key=lambda number: _path(ordered[number].tasks[0])):
            tasks, called = ordered[number].tasks, called_for.get(ordered[number].key)
            if any(task.data_file.spec_id != self._spec_id for task in tasks):
                judged[number] = _by_size(tasks, called)
            else:
                judged[number] = self._choose(tasks, called, rows[number], budget)
            budget -= min(budget, size_of(tasks[place] for place in judged[number][0].files.tolist()))
        for number, partition in enumerate(ordered):
            tasks, (choice, why, others) = partition.tasks, judged[number]
            is_chosen = np.isin(np.arange(len(tasks)), choice.files)
            for into, places, reason in (
                (chosen, choice.files.tolist(), why),
                (left, np.flatnonzero(~is_chosen).tolist(), others),
            ):
                if places:
                    found = tuple(tasks[place] for place in places)
                    files = SelectedFiles(partition.key, found, reason)
                    into.append(_chosen(files, choice, sizes[partition.key]) if into is chosen else files)
        seen = sum(len(partition.tasks) for partition in scope)
        return Selected(tuple(chosen), tuple(left), None if chosen else self._why_nothing(seen))

    def _makes_fewer(self, called: SelectedFiles, partition: int) -> bool:
        """Tell whether there is more to a rewrite for sizes than as many small files again, or finer ones."""
        sizes = [task.data_file.file_size_in_bytes for task in called.tasks]
        is_small = is_small_part(sum(sizes), partition)
        new_files = self._rules.finer_output_files if is_small else self._rules.expected_output_files
        return (
            max(sizes) > self._rules.max_file_size
            or any(self._rules.is_due(task) for task in called.tasks)
            or new_files(sum(sizes)) < len(sizes)
        )

    def _choose(
        self, tasks: Sequence[DataFileTask], called: SelectedFiles | None, rows: int, budget: int
    ) -> tuple[Choice, str, str]:
        """Choose among the files of a partition; returns the choice, and the reasons for what is chosen and left."""
        files = file_arrays([task.data_file for task in tasks], self._fields, self._order.named)
        names = {task.data_file.file_path for task in called.tasks} if called else set()
        called_for = np.array([task.data_file.file_path in names for task in tasks], np.bool_)
        is_due = np.array([self._rules.is_due(task) for task in tasks], np.bool_)
        request = asking(self._request, tasks, self._rules, self._workload)
        is_ours = np.array([task.added_by in self._runs for task in tasks], np.bool_)
        choice = choose(files, called_for, is_due, is_ours, budget, rows, request)
        over = QUERIES if goes_by_queries(files, request) else COLUMNS
        if not len(choice.files):
            return choice, "", self._why_not(choice, over)
        others = "a rewrite of them with the others would gain too little for its bytes"
        if called and called_for[choice.files].all():
            some = "" if len(choice.files) == len(names) else some_of_them(len(choice.files))
            return choice, called.reason + some, others
        why = why_chosen(choice.today, choice.expected, choice.attainable, self._ratio, over=over)
        return choice, why + not_counted(self._missing), others

    def _why_not(self, choice: Choice, over: str) -> str:
        if len(self._missing) == len(self._order.named):
            return why_nothing_counts(self._missing)
        return why_not_chosen(choice.today, choice.attainable, self._ratio, over=over) + not_counted(self._missing)

    def _why_nothing(self, seen: int) -> str:
        of_queries = "" if self._workload is None else f" for {QUERIES}"
        return (
            f"Nothing to rewrite in {display_name(self._table)}: no size and no deletes of {seen:,} data files call "
            f"for it, and no rewrite would gain enough{of_queries} for its bytes (max-scan-ratio {self._ratio:g}). To "
            f"rewrite them anyway, set option rewrite-all to true.{no_bounds_of(self._missing)}"
        )


def _in_order(partition: PartitionFiles) -> PartitionFiles:
    """Order files by their paths: rows are spread over them in an order that every engine finds."""
    return replace(partition, tasks=tuple(sorted(partition.tasks, key=_path)))


def _path(task: DataFileTask) -> str:
    return task.data_file.file_path


def _by_size(tasks: Sequence[DataFileTask], called: SelectedFiles | None) -> tuple[Choice, str, str]:
    """Choose what sizes and deletes call for; returns the choice, and the reasons for what is chosen and left.

    Rows that go to another partition spec are cut by its partitions first, of which bounds do not tell what they gain.
    """
    names = {task.data_file.file_path for task in called.tasks} if called else set()
    places = np.flatnonzero([task.data_file.file_path in names for task in tasks])
    return Choice(places, 0.0, 0.0, 0.0, is_finer=False), called.reason if called else "", OTHER_SPEC


def _chosen(files: SelectedFiles, choice: Choice, partition: int) -> SelectedFiles:
    """Add what is known of chosen files of a partition of so many bytes."""
    saved = (choice.today - choice.expected) * partition
    return replace(files, worth=saved / max(1, size_of(files.tasks)), is_finer=choice.is_finer)


def upkeep_request(table: Table, rules: SizeRules, order: RowOrder, max_scan_ratio: float) -> UpkeepRequest:
    """Say how files are written and judged; columns of which new files get no bounds do not count."""
    kept = _kept(table, rules, order)
    weights = zip(order.named_weights, kept.are_kept, strict=True)
    return UpkeepRequest(
        max_scan_ratio,
        rules.expected_output_files,
        rules.finer_output_files,
        order.layout_request(rules.options.layout),
        kept.cuts,
        [weight if is_kept else 0.0 for weight, is_kept in weights],
    )


def asking(
    request: UpkeepRequest, tasks: Sequence[DataFileTask], rules: SizeRules, workload: RequestedWorkload | None
) -> UpkeepRequest:
    """Have files judged by the queries of a workload, if there is one."""
    if workload is None:
        return request
    files = [task.data_file for task in tasks]
    return replace(request, queries=workload.asked_of(files, rules.options.layout.workload_share))


def _kept(table: Table, rules: SizeRules, order: RowOrder) -> KeptBounds:
    """Tell what new files keep of bounds; where the rewrite sets what is missing, they are written with that."""
    kept = KeptBounds.of(table, order.named)
    return kept.mended if rules.options.layout.metrics_check == FIX else kept
