"""The history of a layout, from a table's snapshots: our rewrites, later writes, and commits that undid a rewrite."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.box_tree import EVEN
from iceberg_zorder.layout.curve import HILBERT
from iceberg_zorder.metrics.data_files import DataFiles
from iceberg_zorder.rewrite.snapshot_keys import COLUMNS, CUTS, DURATION, TARGET
from iceberg_zorder.rewrite.sort_order import parse_sort_order

_REMOVED = "removed-files-size"
REPLACE = "replace"
"""The operation of snapshots that change no row, such as rewrites."""

_ADDED_FILES, _DELETED_FILES = "added-data-files", "deleted-data-files"
_MEASURED_REWRITES = 5
_NUMBER = re.compile("[0-9]{1,18}")


@dataclass(frozen=True)
class SnapshotFacts:
    """A snapshot: its id, when it was made (milliseconds since 1970), its operation and its summary."""

    snapshot_id: int
    timestamp_ms: int
    operation: str
    summary: Mapping[str, str]
    parent_id: int | None = None

    @cached_property
    def is_layout(self) -> bool:
        """Whether one of our rewrites made this snapshot; False if its columns cannot be parsed."""
        with suppress(InvalidInputError):
            return COLUMNS in self.summary and bool(parse_sort_order(self.summary[COLUMNS]))
        return False

    @property
    def is_rewrite(self) -> bool:
        """Whether this snapshot is one of our rewrites, and not a write that copied a rewrite's summary."""
        return self.is_layout and self.operation == REPLACE

    @property
    def cuts(self) -> str | None:
        """The cuts of our rewrite, if recorded."""
        return self.summary.get(CUTS)

    @property
    def sort_order(self) -> str:
        """The full sort order of our rewrite."""
        return parse_sort_order(self.summary[COLUMNS]).text

    @property
    def target(self) -> tuple[int, str] | None:
        """The target file size of our rewrite in bytes, with its origin, if recorded."""
        size, _, origin = self.summary.get(TARGET, "").partition(" ")
        # A target of one byte is refused, so no rewrite had one.
        return (int(size), origin) if _NUMBER.fullmatch(size) and int(size) > 1 else None

    def count(self, key: str) -> int:
        """Return a number in the summary; 0 if missing or invalid."""
        text = self.summary.get(key, "")
        return int(text) if _NUMBER.fullmatch(text) else 0

    def is_by(self, sort_order: str) -> bool:
        """Return whether our rewrite matches another sort order.

        With adaptive cuts, a rewrite by ``hilbert`` also matches ``zorder``, which uses the tighter curve.

        Examples
        --------
        >>> last = SnapshotFacts(1, 0, "replace", {"zorder.columns": "hilbert(a, b)", "zorder.cuts": "adaptive"})
        >>> last.is_by("zorder(a, b)"), last.is_by("zorder(b, a)"), last.sort_order
        (True, False, 'hilbert(a, b)')
        """
        if not self.is_layout:
            return False
        last, asked = parse_sort_order(self.summary[COLUMNS]), parse_sort_order(sort_order)
        return last == asked or (self.cuts != EVEN and last == replace(asked, curve=HILBERT))


@dataclass(frozen=True)
class LayoutHistory:
    """The layout's history in the unexpired snapshots."""

    last_layout_snapshot_id: int | None = None  # our newest rewrite
    last_layout_timestamp_ms: int | None = None
    last_layout_columns: str | None = None  # its clustering columns
    # Data files that our rewrites wrote.
    laid_out_files: int = 0
    laid_out_bytes: int = 0
    # Data files that others wrote since our newest rewrite.
    newer_files: int = 0
    newer_bytes: int = 0
    # The first later rewrite by another tool that must have replaced some of our files, by the number of files.
    undone_by_snapshot_id: int | None = None
    undone_by_timestamp_ms: int | None = None


def layout_history(
    snapshots: Sequence[SnapshotFacts],
    added_by: npt.NDArray[np.int64],
    files: DataFiles,
) -> LayoutHistory:
    """Read the history of a branch.

    Examples
    --------
    >>> ours = {"zorder.columns": "a,b", "added-data-files": "2"}
    >>> snapshots = [
    ...     SnapshotFacts(1, 10, "replace", ours), SnapshotFacts(2, 20, "append", {}),
    ...     SnapshotFacts(3, 30, "replace", {"deleted-data-files": "2"}),
    ... ]
    >>> files = DataFiles(np.zeros(3, np.int64), np.array([5, 5, 5]), np.array([100, 10, 90]), ())
    >>> found = layout_history(snapshots, np.array([1, 2, 3]), files)
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
    undone_by = _undone_by(last, later)
    return LayoutHistory(
        last.snapshot_id,
        last.timestamp_ms,
        last.summary[COLUMNS],
        int(ours.sum()),
        int(files.sizes[ours].sum()),
        int(newer.sum()),
        int(files.sizes[newer].sum()),
        undone_by.snapshot_id if undone_by else None,
        undone_by.timestamp_ms if undone_by else None,
    )


def expected_seconds(snapshots: Sequence[SnapshotFacts], size: int) -> float | None:
    """Return the expected seconds of a rewrite of ``size`` bytes, at the speed of the newest recorded rewrites.

    Examples
    --------
    >>> summary = {"zorder.rewrite-duration-ms": "2000", "removed-files-size": "1000"}
    >>> expected_seconds([SnapshotFacts(1, 0, "replace", summary), SnapshotFacts(2, 0, "append", {})], 500)
    1.0
    """
    rewrites = [
        (each.count(DURATION), each.count(_REMOVED))
        for each in reversed(snapshots)
        if all(_NUMBER.fullmatch(each.summary.get(key, "")) for key in (DURATION, _REMOVED))
    ][:_MEASURED_REWRITES]
    removed = sum(each for _, each in rewrites)
    return size * sum(duration for duration, _ in rewrites) / removed / 1000 if removed and size else None


def _undone_by(last: SnapshotFacts, later: Sequence[SnapshotFacts]) -> SnapshotFacts | None:
    """Return the first rewrite of another tool after our newest one that must have replaced files of it.

    Summaries have only the number of removed files: more than all files of others means that ours were among them.
    """
    added = last.count(_ADDED_FILES)
    others = max(0, last.count("total-data-files") - added)
    for each in later:
        if each.operation == REPLACE and each.count(_DELETED_FILES) > others:
            return each
        others += each.count(_ADDED_FILES)
    return None
