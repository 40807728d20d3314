"""Whether rewrites pay for the queries of a table: what they read less, against what a rewrite reads and writes.

As in OReO (SIGMOD 2024, arXiv 2405.04984), a rewrite is a cost that queries have to earn back.
"""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_zorder.maintain.observation import FileGroupNeed, WorkloadNeed


def worthwhile(groups: Sequence[FileGroupNeed], queries: float) -> tuple[FileGroupNeed, ...]:
    """Leave file groups out that are rewritten only for what is read, and have not paid after so many queries.

    A group has paid once queries have saved twice its bytes, which a rewrite reads and writes.

    Examples
    --------
    >>> def group(index, worth, is_for_reads):
    ...     return FileGroupNeed(index, 1, 100, worth, False, "", is_for_reads)
    >>> groups = [group(1, 0.01, True), group(2, 0.02, True), group(3, 0.0, False)]
    >>> [each.index for each in worthwhile(groups, 100)]
    [2, 3]
    """
    return tuple(each for each in groups if not each.is_for_reads or each.saved_bytes * queries >= 2 * each.size)


def workload_text(need: WorkloadNeed) -> str:
    """Say what queries read of a table, and what ``advise`` says; empty if it was not asked.

    Examples
    --------
    >>> workload_text(WorkloadNeed(10, 5.0, read=0.31, message="advise says zorder(b): they would read 12.4%"))
    'the queries of the workload read 31.0% of the bytes; advise says zorder(b): they would read 12.4%'
    >>> workload_text(WorkloadNeed(10, 5.0, read=0.31))
    ''
    """
    if not need.message:
        return ""
    read = [] if need.read is None else [f"the queries of the workload read {need.read:.1%} of the bytes"]
    return "; ".join([*read, need.message])
