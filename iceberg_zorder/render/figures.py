"""Figures as people write them, the same in texts, on pages and in notebooks."""

from __future__ import annotations

from datetime import datetime, timezone

from rich.filesize import decimal


def percent(share: float | None) -> str:
    """Write a share in per cent.

    Examples
    --------
    >>> percent(0.256), percent(None)
    ('25.6%', '-')
    """
    return "-" if share is None else f"{100 * share:.1f}%"


def number(value: float | None) -> str:
    """Write an average count: below ten with one decimal, unless it is whole.

    Examples
    --------
    >>> number(1234.5), number(3.25), number(3.0), number(None)
    ('1,234', '3.2', '3', '-')
    """
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 10 or round(value, 1) % 1 == 0 else f"{value:.1f}"


def size(value: float) -> str:
    """Write bytes.

    Examples
    --------
    >>> size(41_000_000.4)
    '41.0 MB'
    """
    return decimal(round(value))


def count(value: int, what: str, several: str | None = None) -> str:
    """Write a count and its noun.

    Examples
    --------
    >>> count(1, "file"), count(2000, "query", "queries")
    ('1 file', '2,000 queries')
    """
    return f"{value:,} {what}" if value == 1 else f"{value:,} {several or f'{what}s'}"


def files_read(read: float, files: float, of: int) -> str:
    """Write what a filter reads of a table.

    Examples
    --------
    >>> files_read(41e6, 12.3, 64)
    '41.0 MB in 12 of 64 files'
    """
    return f"{size(read)} in {number(files)} of {count(of, 'file')}"


def less(now: float, before: float) -> str:
    """Write how much less is read than before.

    Examples
    --------
    >>> less(25.0, 100.0), less(150.0, 100.0), less(100.0, 100.4)
    ('75.0% less', '50.0% more', '0.4% less')
    """
    change = now / before - 1 if before else 0.0
    return f"{percent(abs(change))} {'more' if change > 0 else 'less'}"


def moment(milliseconds: int | None) -> str:
    """Write a time; nothing where there is none.

    Examples
    --------
    >>> moment(1767225600000)
    '1 January 2026, 00:00 UTC'
    """
    if milliseconds is None:
        return ""
    when = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    return f"{when.day} {when:%B %Y, %H:%M} UTC"
