"""The rewrites of a table, as the summaries of its snapshots tell of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from iceberg_zorder.report.history import SnapshotFacts

PREDICTED = "zorder.predicted-scan-fraction."
"""In a snapshot's summary, before a column's name: the scan fraction that its files were predicted to have."""
ACTUAL = "zorder.scan-fraction."
"""The same before the one that they have."""
REASON = "zorder.reason"
"""In a snapshot's summary: why maintenance has rewritten the table."""
_MILLISECONDS = "zorder.rewrite-duration-ms"


@dataclass(frozen=True)
class Rewrite:
    """One commit of a rewrite of ours.

    Parameters
    ----------
    snapshot_id : int
        Its snapshot.
    timestamp_ms : int
        When it was committed, in milliseconds since 1970.
    sort_order : str
        What it was by.
    reason : str or None
        Why maintenance asked for it; None if it was asked for by hand, or the snapshot does not tell.
    rewritten_files, rewritten_bytes, added_files, added_bytes : int
        The data files that were replaced, and those that took their place.
    seconds : float or None
        How long it took; None if the snapshot does not tell.
    predicted, actual : mapping of str to float
        By column, the scan fraction in [0, 1] that was predicted of the new files, and the one that they have by their
        bounds; without what the snapshot does not tell.
    """

    snapshot_id: int
    timestamp_ms: int
    sort_order: str
    reason: str | None
    rewritten_files: int
    rewritten_bytes: int
    added_files: int
    added_bytes: int
    seconds: float | None
    predicted: Mapping[str, float]
    actual: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Describe it by what JSON has."""
        return asdict(self)


def rewrites_of(snapshots: Sequence[SnapshotFacts]) -> list[Rewrite]:
    """List the rewrites among snapshots.

    Examples
    --------
    >>> summary = {"zorder.columns": "a,b", "deleted-data-files": "5", "added-data-files": "2",
    ...            "zorder.predicted-scan-fraction.a": "0.5", "zorder.predicted-scan-fraction.b": "NaN"}
    >>> found = rewrites_of([SnapshotFacts(1, 10, "append", {}), SnapshotFacts(2, 20, "replace", summary)])
    >>> [(each.snapshot_id, each.sort_order, each.rewritten_files, dict(each.predicted)) for each in found]
    [(2, 'zorder(a, b)', 5, {'a': 0.5})]
    """
    return [_rewrite(each) for each in snapshots if each.is_rewrite]


def _rewrite(of: SnapshotFacts) -> Rewrite:
    took = of.count(_MILLISECONDS)
    return Rewrite(
        of.snapshot_id,
        of.timestamp_ms,
        of.sort_order,
        of.summary.get(REASON),
        of.count("deleted-data-files"),
        of.count("removed-files-size"),
        of.count("added-data-files"),
        of.count("added-files-size"),
        took / 1000 if _MILLISECONDS in of.summary else None,
        _by_column(of.summary, PREDICTED),
        _by_column(of.summary, ACTUAL),
    )


def _by_column(summary: Mapping[str, str], prefix: str) -> dict[str, float]:
    found = {key.removeprefix(prefix): _share(value) for key, value in summary.items() if key.startswith(prefix)}
    return {column: share for column, share in found.items() if share is not None}


def _share(text: str) -> float | None:
    """Read a share in [0, 1]; what a foreign program has written there may be anything."""
    with suppress(ValueError):
        if 0 <= (share := float(text)) <= 1:
            return share
    return None
