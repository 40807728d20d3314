"""The past rewrites of a table, read from the summaries of its snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter, ValidationError

from iceberg_zorder.metrics.history import DURATION, SnapshotFacts

_FRACTIONS = TypeAdapter(dict[str, dict[str, float]])

SCAN_FRACTIONS = "zorder.scan-fractions"
"""In a snapshot's summary, as JSON: by column the scan fraction that its files were predicted to have, and have."""
REASON = "zorder.reason"
"""In a snapshot's summary: why maintenance has rewritten the table."""


def rewrites_of(snapshots: Sequence[SnapshotFacts]) -> list[dict[str, Any]]:
    """List the rewrites of ours among snapshots, one a commit; ``docs/maintenance.md`` tells the keys.

    Examples
    --------
    >>> summary = {"zorder.columns": "a,b", "deleted-data-files": "5", "added-data-files": "2",
    ...            "zorder.scan-fractions": '{"a": {"predicted": 0.5}, "b": {"predicted": NaN}}'}
    >>> found = rewrites_of([SnapshotFacts(1, 10, "append", {}), SnapshotFacts(2, 20, "replace", summary)])
    >>> [(each["snapshot_id"], each["sort_order"], each["rewritten_files"], each["predicted"]) for each in found]
    [(2, 'zorder(a, b)', 5, {'a': 0.5})]
    """
    return [_rewrite(each) for each in snapshots if each.is_rewrite]


def _rewrite(of: SnapshotFacts) -> dict[str, Any]:
    fractions = _fractions(of.summary)
    return {
        "snapshot_id": of.snapshot_id,
        "timestamp_ms": of.timestamp_ms,
        "sort_order": of.sort_order,
        "reason": of.summary.get(REASON),
        "rewritten_files": of.count("deleted-data-files"),
        "rewritten_bytes": of.count("removed-files-size"),
        "added_files": of.count("added-data-files"),
        "added_bytes": of.count("added-files-size"),
        "seconds": of.count(DURATION) / 1000 if DURATION in of.summary else None,
        **{
            when: {column: each[when] for column, each in fractions.items() if when in each}
            for when in ("predicted", "actual")
        },
    }


def _fractions(summary: Mapping[str, str]) -> dict[str, dict[str, float]]:
    # What a foreign program has written there may be anything.
    with suppress(ValidationError):
        found = _FRACTIONS.validate_json(summary.get(SCAN_FRACTIONS, "{}"))
        return {column: {key: each for key, each in of.items() if 0 <= each <= 1} for column, of in found.items()}
    return {}
