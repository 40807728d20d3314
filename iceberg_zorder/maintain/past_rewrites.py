"""The rewrites of a table, as the summaries of its snapshots tell of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from iceberg_zorder.report.history import DURATION, SnapshotFacts

_FRACTIONS = TypeAdapter(dict[str, dict[str, float]])

SCAN_FRACTIONS = "zorder.scan-fractions"
"""In a snapshot's summary, as JSON: by column the scan fraction that its files were predicted to have, and have."""
REASON = "zorder.reason"
"""In a snapshot's summary: why maintenance has rewritten the table."""


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
    ...            "zorder.scan-fractions": '{"a": {"predicted": 0.5}, "b": {"predicted": NaN}}'}
    >>> found = rewrites_of([SnapshotFacts(1, 10, "append", {}), SnapshotFacts(2, 20, "replace", summary)])
    >>> [(each.snapshot_id, each.sort_order, each.rewritten_files, dict(each.predicted)) for each in found]
    [(2, 'zorder(a, b)', 5, {'a': 0.5})]
    """
    return [_rewrite(each) for each in snapshots if each.is_rewrite]


def _rewrite(of: SnapshotFacts) -> Rewrite:
    took, fractions = of.count(DURATION), _fractions(of.summary)
    return Rewrite(
        of.snapshot_id,
        of.timestamp_ms,
        of.sort_order,
        of.summary.get(REASON),
        of.count("deleted-data-files"),
        of.count("removed-files-size"),
        of.count("added-data-files"),
        of.count("added-files-size"),
        took / 1000 if DURATION in of.summary else None,
        {column: each["predicted"] for column, each in fractions.items() if "predicted" in each},
        {column: each["actual"] for column, each in fractions.items() if "actual" in each},
    )


def _fractions(summary: Mapping[str, str]) -> dict[str, dict[str, float]]:
    # What a foreign program has written there may be anything.
    with suppress(ValidationError):
        found = _FRACTIONS.validate_json(summary.get(SCAN_FRACTIONS, "{}"))
        return {column: {key: each for key, each in of.items() if 0 <= each <= 1} for column, of in found.items()}
    return {}
