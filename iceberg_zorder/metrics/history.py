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
from iceberg_zorder.rewrite.sort_order import parse_sort_order

COLUMNS = "zorder.columns"
"""In a snapshot's summary: the sort order of a rewrite of ours; ``a,b`` is that of ``zorder(a, b)``."""
CUTS = "zorder.cuts"
"""In a snapshot's summary: how a rewrite of ours has cut its files."""
LAYOUT_HASH = "zorder.layout-hash"
"""In a snapshot's summary: what its layouts are told from others by."""
TARGET = "zorder.target-file-size"
"""In a snapshot's summary: bytes that new files were to have, and after a blank who has said so."""
DURATION = "zorder.rewrite-duration-ms"
"""In a snapshot's summary: how long it took until this commit, since the one before."""
_REMOVED = "removed-files-size"
REPLACE = "replace"
"""The operation of snapshots that change no row, as those of rewrites are."""

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
        """Whether it is of a rewrite of ours; not where its columns cannot be read, whoever wrote them."""
        with suppress(InvalidInputError):
            return COLUMNS in self.summary and bool(parse_sort_order(self.summary[COLUMNS]))
        return False

    @property
    def is_rewrite(self) -> bool:
        """Whether it is a rewrite of ours, and no write that has copied the summary of one."""
        return self.is_layout and self.operation == REPLACE

    @property
    def cuts(self) -> str | None:
        """How a rewrite of ours has cut its files, where it tells."""
        return self.summary.get(CUTS)

    @property
    def sort_order(self) -> str:
        """What a rewrite of ours was by, in full."""
        return parse_sort_order(self.summary[COLUMNS]).text

    @property
    def target(self) -> tuple[int, str] | None:
        """Bytes that files of a rewrite of ours were to have, and who had said so, where it tells."""
        size, _, origin = self.summary.get(TARGET, "").partition(" ")
        # Files of one byte are refused, so that no rewrite has asked for them.
        return (int(size), origin) if _NUMBER.fullmatch(size) and int(size) > 1 else None

    def count(self, key: str) -> int:
        """Read a number of the summary; 0 if it has none, or what is none."""
        text = self.summary.get(key, "")
        return int(text) if _NUMBER.fullmatch(text) else 0

    def is_by(self, sort_order: str) -> bool:
        """Return whether a rewrite of ours was by the sort order that another asks for.

        With adaptive cuts a rewrite by ``hilbert`` is one by ``zorder``, too, which takes the tighter curve.

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
        The first rewrite of another tool after it that has removed more files than all others that there can have been.
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
    """Return how long a rewrite of so many bytes takes, if it is as fast as the newest ones that tell.

    Examples
    --------
    >>> told = {"zorder.rewrite-duration-ms": "2000", "removed-files-size": "1000"}
    >>> expected_seconds([SnapshotFacts(1, 0, "replace", told), SnapshotFacts(2, 0, "append", {})], 500)
    1.0
    """
    told = [
        (each.count(DURATION), each.count(_REMOVED))
        for each in reversed(snapshots)
        if all(_NUMBER.fullmatch(each.summary.get(key, "")) for key in (DURATION, _REMOVED))
    ][:_MEASURED_REWRITES]
    removed = sum(each for _, each in told)
    return size * sum(duration for duration, _ in told) / removed / 1000 if removed and size else None


def _undone_by(last: SnapshotFacts, later: Sequence[SnapshotFacts]) -> SnapshotFacts | None:
    """Return the first rewrite of another tool after our newest one that must have replaced files of it.

    Summaries tell how many files a snapshot removed, and not which: more than all others that can have been there.
    """
    added = last.count(_ADDED_FILES)
    others = max(0, last.count("total-data-files") - added)
    for each in later:
        if each.operation == REPLACE and each.count(_DELETED_FILES) > others:
            return each
        others += each.count(_ADDED_FILES)
    return None
