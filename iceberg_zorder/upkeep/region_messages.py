"""Say what file groups were cut into, and why, or why not; the Spark engine says the same."""

from __future__ import annotations

_OPTION = "max-file-group-size-bytes"
_DISK = 4
"""So many times the bytes of data files are shuffled, as measured."""


def part(number: int, parts: int) -> str:
    """Say of a region that nothing lies across it and others.

    Examples
    --------
    >>> part(2, 4)
    '; part 2 of 4, cut where no file lies'
    """
    return f"; part {number:,} of {parts:,}, cut where no file lies"


def part_across(number: int, parts: int, bound: int, fractions: tuple[float, float]) -> str:
    """Say of a region that it was cut across files, and what that costs: the scan fractions of the regions, and of one.

    Examples
    --------
    >>> part_across(2, 4, 1_000_000, (0.201, 0.143))
    '; part 2 of 4, cut across files for max-file-group-size-bytes 1,000,000: scan fraction of the parts expected to \
be 20.1%, in one file group 14.3%'
    """
    return (
        f"; part {number:,} of {parts:,}, cut across files for {_OPTION} {bound:,}: scan fraction of the parts "
        f"expected to be {_percent(fractions[0])}, in one file group {_percent(fractions[1])}"
    )


def in_one(size: int, bound: int, fractions: tuple[float, float] | None, *, has_bounds: bool = True) -> str:
    """Say why a file group was not cut.

    Parameters
    ----------
    size : int
        Its bytes.
    bound : int
        Above so many bytes it was to be cut.
    fractions : tuple of float or None
        The scan fractions of regions, and of one, if the former are too large.
    has_bounds : bool, optional
        Whether there are columns to cut in.

    Returns
    -------
    str
        The reason, and what one job will take if there are more bytes.

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
