"""Say what file groups were cut into, and why, or why not; the Spark engine says the same."""

from __future__ import annotations

_OPTION = "max-file-group-size-bytes"
_DISK = 4
"""So many times the bytes of data files are shuffled, as measured."""


def part(number: int, parts: int, fractions: tuple[float, float], across: int | None = None) -> str:
    """Say what divides a region from the others, and what the cuts cost.

    Examples
    --------
    >>> part(2, 4, (0.15, 0.143))
    '; part 2 of 4, cut where no file lies: scan fraction of the parts expected to be 15.0%, in one file group 14.3%'
    >>> part(2, 4, (0.201, 0.143), 1_000_000)
    '; part 2 of 4, cut across files for max-file-group-size-bytes 1,000,000: scan fraction of the parts expected to \
be 20.1%, in one file group 14.3%'
    """
    where = "where no file lies" if across is None else f"across files for {_OPTION} {across:,}"
    return (
        f"; part {number:,} of {parts:,}, cut {where}: scan fraction of the parts expected to be "
        f"{_percent(fractions[0])}, in one file group {_percent(fractions[1])}"
    )


def in_one(size: int, bound: int, fractions: tuple[float, float] | None, *, has_bounds: bool = True) -> str:
    """Say why a file group was not cut.

    Examples
    --------
    >>> in_one(500, 100, None)
    '; in one file group, whatever max-file-group-size-bytes 100, because every place to cut lies inside files: its \
job takes some 2,000 bytes of local disk'
    >>> in_one(500, 1000, (0.201, 0.143))
    '; in one file group, because scan fraction of parts is expected to be 20.1%, in one file group 14.3%'
    """
    if fractions is not None:
        why = f"scan fraction of parts is expected to be {_percent(fractions[0])}, in one file group "
        why += _percent(fractions[1])
    else:
        why = "every place to cut lies inside files" if has_bounds else "new files keep no bounds to cut by"
    if size <= bound:
        return f"; in one file group, because {why}"
    return (
        f"; in one file group, whatever {_OPTION} {bound:,}, because {why}: its job takes some {_DISK * size:,} bytes "
        "of local disk"
    )


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}%"
