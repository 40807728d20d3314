"""Figures as text, equal in terminals, pages and notebooks.

Examples
--------
>>> size(41_000_000.4), percent(0.256), percent(None), count(1, "file"), count(2000, "query", "queries")
('41.0 MB', '25.6%', '-', '1 file', '2,000 queries')
>>> number(1234.5), number(3.25), number(3.0), number(None)
('1,234', '3.2', '3', '-')
>>> files_read(41e6, 12.3, 64), less(25.0, 100.0), less(150.0, 100.0)
('41.0 MB in 12 of 64 files', '75.0% less', '50.0% more')
>>> moment(1767225600000)
'1 January 2026, 00:00 UTC'
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from rich.filesize import decimal


def size(value: float) -> str:
    """Write bytes."""
    return decimal(round(value))


def percent(share: float | None) -> str:
    """Write a share in per cent."""
    return "-" if share is None else f"{100 * share:.1f}%"


def number(value: float | None) -> str:
    """Return an average as text: below ten with one decimal, unless it is whole."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 10 or round(value, 1) % 1 == 0 else f"{value:.1f}"


def count(value: int, what: str, several: str | None = None) -> str:
    """Write a count and its noun."""
    return f"{value:,} {what}" if value == 1 else f"{value:,} {several or f'{what}s'}"


def files_read(read: float, files: float, of: int) -> str:
    """Return a filter's reads of a table as text."""
    return f"{size(read)} in {number(files)} of {count(of, 'file')}"


def rewrite_text(read: int, written: int, cpu_seconds: Mapping[str, float]) -> str:
    """Return the expected cost of a rewrite as text, by engine.

    Examples
    --------
    >>> rewrite_text(310_000_000, 300_000_000, {"pyiceberg": 21.4, "spark": 62.7})
    'A rewrite reads 310.0 MB, writes about 300.0 MB and takes about 21 CPU seconds with PyIceberg, 63 on Spark'
    """
    ours, spark = (number(cpu_seconds[engine]) for engine in ("pyiceberg", "spark"))
    takes = f"takes about {ours} CPU seconds with PyIceberg, {spark} on Spark"
    return f"A rewrite reads {size(read)}, writes about {size(written)} and {takes}"


def scan_row(scan: Mapping[str, Any], before: Mapping[str, int], after: Mapping[str, int]) -> tuple[str, str, str]:
    """Return a ``ColumnScan`` as texts: the column, and what a filter reads before and after (actual, else predicted).

    Examples
    --------
    >>> scan = {"column": "a", "before": 1.0, "files_before": 4, "predicted": 0.25, "files_predicted": 1.04}
    >>> scan_row(scan, {"files": 4, "bytes": 8_000_000}, {"files": 4, "bytes": 8_000_000})
    ('a', '8.0 MB in 4 of 4 files', '2.0 MB in 1 of 4 files')
    """
    kind = "predicted" if scan.get("actual") is None else "actual"
    figures = ((scan["before"], scan["files_before"], before), (scan[kind], scan[f"files_{kind}"], after))
    was, becomes = (
        "an unknown part" if None in (share, files) else files_read(share * of["bytes"], files, of["files"])
        for share, files, of in figures
    )
    return scan["column"], was, becomes


_TRIAL_SIZE = 128 * 1024
_LEAST_OF_TRIAL = 4 * _TRIAL_SIZE


def one_file(partitions: int, read: int, target: int) -> list[str]:
    """Return a hint for partitions that become one file each; none for tables that are too small even for a trial.

    Examples
    --------
    >>> one_file(1, 6_500_000, 8 << 20)
    ['The files become one file at the target size of 8.4 MB, so filters skip nothing: for a trial, set options \
target-file-size-bytes=131072 and rewrite-all=true.']
    >>> one_file(3, 60_000, 8 << 20)
    []
    """
    if not partitions or read < partitions * _LEAST_OF_TRIAL:
        return []
    who = "The files become one file" if partitions == 1 else "Each partition becomes one file"
    what = "nothing" if partitions == 1 else "nothing within it"
    return [
        f"{who} at the target size of {size(target)}, so filters skip {what}: for a trial, set options "
        f"target-file-size-bytes={_TRIAL_SIZE} and rewrite-all=true."
    ]


def less(now: float, before: float) -> str:
    """Return the relative change as text."""
    change = now / before - 1 if before else 0.0
    return f"{percent(abs(change))} {'more' if change > 0 else 'less'}"


def moment(milliseconds: int) -> str:
    """Write a time."""
    when = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    return f"{when.day} {when:%B %Y, %H:%M} UTC"
