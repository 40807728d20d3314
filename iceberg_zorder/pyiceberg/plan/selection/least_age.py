"""How old data files must be for a rewrite to touch them."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.file_groups import DataFileTask


def now_ms() -> int:
    """Tell this machine's time, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


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
