"""How old data files must be for a rewrite to touch them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.file_groups import DataFileTask
from iceberg_zorder.pyiceberg.plan.selection.selection import PartitionFiles, Selected, SelectedFiles
from iceberg_zorder.request.rewrite_messages import added_why_young, why_all_are_young, why_young


def now_ms() -> int:
    """Tell this machine's time, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class LeastAge:
    """The age that data files must have for a rewrite to touch them.

    A file is as old as the snapshot of its data sequence number, which rewrites keep; where that is 0, as in tables of
    version 1, as the snapshot that added it. Files of snapshots that are not kept any more are old enough.

    Parameters
    ----------
    seconds : int
        So many; 0 for files of any age.
    at_ms : int, optional
        When they must have it, in milliseconds since the epoch; by default now.
    """

    seconds: int
    at_ms: int = field(default_factory=now_ms)

    def younger(self, table: Table) -> Callable[[DataFileTask], bool]:
        """Make what tells which data files of a table are younger."""
        # Without the option, a snapshot from a clock that is ahead is no younger than any.
        snapshots = table.metadata.snapshots if self.seconds else []
        young = [each for each in snapshots if self.at_ms - each.timestamp_ms < 1000 * self.seconds]
        numbers = {each.sequence_number for each in young if each.sequence_number}
        ids = {each.snapshot_id for each in young}

        def is_younger(task: DataFileTask) -> bool:
            number = task.data_sequence_number
            return number in numbers if number else task.added_by in ids

        return is_younger

    def divided(
        self, table: Table, scope: Sequence[PartitionFiles]
    ) -> tuple[list[PartitionFiles], list[PartitionFiles]]:
        """Divide files into those that are old enough and the younger ones; no partition is without a file."""
        is_younger = self.younger(table)
        old: list[PartitionFiles] = []
        young: list[PartitionFiles] = []
        for each in scope:
            are_young = [is_younger(task) for task in each.tasks]
            for found, wanted in ((old, False), (young, True)):
                tasks = tuple(task for task, is_young in zip(each.tasks, are_young, strict=True) if is_young is wanted)
                if tasks:
                    found.append(PartitionFiles(each.key, tasks))
        return old, young

    def left_too(self, selected: Selected, young: Sequence[PartitionFiles], table: str) -> Selected:
        """Add the younger files of a table to what is left of a choice among the others."""
        if not young:
            return selected
        left = tuple(SelectedFiles(each.key, each.tasks, why_young(self.seconds)) for each in young)
        files = sum(len(each.tasks) for each in young)
        message = selected.message
        if not (selected.chosen or selected.left):
            message = why_all_are_young(table, files, self.seconds)
        elif message is not None:
            message += added_why_young(files, self.seconds)
        return replace(selected, left=(*selected.left, *left), message=message)
