"""How upkeep chooses files, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.report.ranks import Kept

_SMALL_PART = 5


@dataclass(frozen=True, eq=False)
class UpkeepRequest:
    """How files are chosen.

    Parameters
    ----------
    max_scan_ratio : float
        So many times the attainable scan fraction is left alone, at least 1.
    expected_files : callable
        From bytes to the number of files that they are written to.
    finer_files : callable
        The same where they are a small part of a partition, and chosen for what they gain: not fewer.
    layout : LayoutRequest
        What is asked of layouts, but for the number of files.
    kept : sequence of (callable or None)
        For each column, what new lower/upper bounds keep of a key; None where it is all.
    weights : sequence of float
        For each column, what it counts in averages, 0 or more: 0 where new files get no bounds.
    """

    max_scan_ratio: float
    expected_files: Callable[[int], int]
    finer_files: Callable[[int], int]
    layout: LayoutRequest
    kept: Sequence[Kept | None]
    weights: Sequence[float]


def is_small_part(size: int, partition: int) -> bool:
    """Tell whether files are a small part of their partition, by the bytes of both.

    Examples
    --------
    >>> is_small_part(19, 100), is_small_part(20, 100)
    (True, False)
    """
    return _SMALL_PART * size < partition
