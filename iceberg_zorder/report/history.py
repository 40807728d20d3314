"""What a table's snapshots tell of its layout: how much of it is ours, what has come since, and who undid it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.report.data_files import Sizes

_COLUMNS, _CURVE, _PREFIX = "zorder.columns", "zorder.curve", "zorder.prefix"
_CUTS, _DURATION, _REMOVED = "zorder.cuts", "zorder.rewrite-duration-ms", "removed-files-size"
_REPLACE = "replace"
_MEASURED_REWRITES = 5
_COMMA_OR_QUOTED = re.compile(r"(`(?:[^`]|``)*`)|,")


@dataclass(frozen=True)
class SnapshotFacts:
    """A snapshot: its id, when it was made (milliseconds since 1970), its operation and its summary."""

    snapshot_id: int
    timestamp_ms: int
    operation: str
    summary: Mapping[str, str]

    @property
    def is_layout(self) -> bool:
        """Whether it is of a rewrite of ours."""
        return _COLUMNS in self.summary

    @property
    def sort_order(self) -> str:
        """What a rewrite of ours was by."""
        curve, columns = self.summary.get(_CURVE, "zorder").partition(",")[0], self.summary[_COLUMNS]
        prefix = f"{self.summary[_PREFIX]}, " if _PREFIX in self.summary else ""
        spaced = _COMMA_OR_QUOTED.sub(lambda found: found[1] or ", ", columns)
        return f"{prefix}{curve}({spaced})"

    def is_by(self, columns: str, prefix: str, curve: str) -> bool:
        """Tell whether a rewrite of ours was by the columns, prefix and curve that another asks for.

        With adaptive cuts what was asked for as ``zorder`` may have come out as ``hilbert``.

        Examples
        --------
        >>> summary = {"zorder.columns": "a,b", "zorder.curve": "hilbert", "zorder.cuts": "adaptive"}
        >>> last = SnapshotFacts(1, 0, "replace", summary)
        >>> last.is_by("a,b", "", "zorder"), last.is_by("b,a", "", "zorder"), last.sort_order
        (True, False, 'hilbert(a, b)')
        """
        last = self.summary.get(_CURVE, "zorder")
        is_curve = last == "hilbert" if curve == "hilbert" else last != "hilbert" or self.summary.get(_CUTS) != "even"
        return is_curve and (self.summary.get(_COLUMNS), self.summary.get(_PREFIX, "")) == (columns, prefix)


@dataclass(frozen=True)
class LayoutHistory:
    """What the snapshots that are kept tell.

    Parameters
    ----------
    last_layout_snapshot_id, last_layout_timestamp_ms : int or None
        Our newest rewrite.
    last_layout_columns : str or None
        The clustering columns of it.
    laid_out_files, laid_out_bytes : int
        The data files that our rewrites have written.
    newer_files, newer_bytes : int
        The data files that others have written since our newest rewrite.
    undone_by_snapshot_id, undone_by_timestamp_ms : int or None
        The first rewrite of another tool after it, if files of ours are gone since.
    """

    last_layout_snapshot_id: int | None = None
    last_layout_timestamp_ms: int | None = None
    last_layout_columns: str | None = None
    laid_out_files: int = 0
    laid_out_bytes: int = 0
    newer_files: int = 0
    newer_bytes: int = 0
    undone_by_snapshot_id: int | None = None
    undone_by_timestamp_ms: int | None = None


def layout_history(snapshots: Sequence[SnapshotFacts], added_by: npt.NDArray[np.int64], sizes: Sizes) -> LayoutHistory:
    """Read the history of a branch.

    Parameters
    ----------
    snapshots : sequence of SnapshotFacts
        The snapshots of the branch, oldest first, as far as they are kept.
    added_by : ndarray of int64, shape (files,)
        The snapshot that added each data file; it may not be kept any more.
    sizes : ndarray of int64, shape (files,)
        Bytes of each data file.

    Returns
    -------
    LayoutHistory
        What they tell.

    Examples
    --------
    >>> ours = {"zorder.columns": "a,b", "added-data-files": "2"}
    >>> snapshots = [
    ...     SnapshotFacts(1, 10, "replace", ours), SnapshotFacts(2, 20, "append", {}),
    ...     SnapshotFacts(3, 30, "replace", {"deleted-data-files": "2"}),
    ... ]
    >>> found = layout_history(snapshots, np.array([1, 2, 3]), np.array([100, 10, 90]))
    >>> found.last_layout_columns, found.laid_out_bytes, found.newer_files, found.undone_by_snapshot_id
    ('a,b', 100, 2, 3)
    """
    layouts = [each for each in snapshots if each.is_layout]
    if not layouts:
        return LayoutHistory()
    last = layouts[-1]
    later = snapshots[snapshots.index(last) + 1 :]
    ours = np.isin(added_by, [each.snapshot_id for each in layouts])
    newer = np.isin(added_by, [each.snapshot_id for each in later])
    undone_by = _undone_by(layouts, later, added_by)
    return LayoutHistory(
        last.snapshot_id,
        last.timestamp_ms,
        last.summary[_COLUMNS],
        int(ours.sum()),
        int(sizes[ours].sum()),
        int(newer.sum()),
        int(sizes[newer].sum()),
        undone_by.snapshot_id if undone_by else None,
        undone_by.timestamp_ms if undone_by else None,
    )


def expected_seconds(snapshots: Sequence[SnapshotFacts], size: int) -> float | None:
    """Tell how long a rewrite of so many bytes takes, if it is as fast as the newest ones that tell.

    Parameters
    ----------
    snapshots : sequence of SnapshotFacts
        The snapshots of the branch, oldest first.
    size : int
        Bytes of the data files to be rewritten.

    Returns
    -------
    float or None
        Seconds; None if no snapshot tells, or there is nothing to do.

    Examples
    --------
    >>> told = {"zorder.rewrite-duration-ms": "2000", "removed-files-size": "1000"}
    >>> expected_seconds([SnapshotFacts(1, 0, "replace", told), SnapshotFacts(2, 0, "append", {})], 500)
    1.0
    """
    told = [
        (int(each.summary[_DURATION]), int(each.summary[_REMOVED]))
        for each in reversed(snapshots)
        if all(each.summary.get(key, "").isdecimal() for key in (_DURATION, _REMOVED))
    ][:_MEASURED_REWRITES]
    removed = sum(each for _, each in told)
    return size * sum(duration for duration, _ in told) / removed / 1000 if removed and size else None


def _undone_by(
    layouts: Sequence[SnapshotFacts], later: Sequence[SnapshotFacts], added_by: npt.NDArray[np.int64]
) -> SnapshotFacts | None:
    lost = [
        int(each.summary.get("added-data-files", 0)) - int((added_by == each.snapshot_id).sum()) for each in layouts
    ]
    # What one layout lost the next ones may have replaced.
    replaced = sum(int(each.summary.get("deleted-data-files", 0)) for each in layouts[1:])
    if lost[-1] <= 0 and sum(lost) <= replaced:
        return None
    rewrites = (
        each
        for each in later
        if each.operation == _REPLACE and not each.is_layout and int(each.summary.get("deleted-data-files", 0)) > 0
    )
    return next(rewrites, None)
