"""The past rewrites of a table, read from the summaries of its snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from iceberg_zorder.metrics.history import REPLACE, SnapshotFacts
from iceberg_zorder.rewrite.snapshot_keys import DURATION, REASON, REWRITE_ID, SCAN_FRACTIONS

_FRACTIONS = TypeAdapter(dict[str, dict[str, float]])


@dataclass(frozen=True)
class PastRewrite:
    """A rewrite of ours: its commits, oldest first; several with partial progress, or if delete files were removed."""

    commits: tuple[SnapshotFacts, ...]

    @property
    def first(self) -> SnapshotFacts:
        """First commit; its parent is the table before the rewrite."""
        return self.commits[0]

    @property
    def last(self) -> SnapshotFacts:
        """Last commit."""
        return self.commits[-1]

    @property
    def layout(self) -> SnapshotFacts:
        """Last commit of data files, whose summary describes the rewrite."""
        return [each for each in self.commits if each.is_rewrite][-1]

    def to_dict(self) -> dict[str, Any]:
        """Return the rewrite in JSON types; ``docs/reference/json/other.md`` lists the keys."""
        fractions = _fractions(self.layout.summary)
        total = {key: sum(each.count(of) for each in self.commits) for key, of in _COUNTS.items()}
        seconds = [each.count(DURATION) / 1000 for each in self.commits if DURATION in each.summary]
        return {
            "snapshot_id": self.last.snapshot_id,
            "parent_id": self.first.parent_id,
            "commits": len(self.commits),
            "timestamp_ms": self.last.timestamp_ms,
            "sort_order": self.layout.sort_order,
            "reason": self.layout.summary.get(REASON),
            **total,
            "seconds": sum(seconds) if seconds else None,
            **{
                when: {column: each[when] for column, each in fractions.items() if when in each}
                for when in ("predicted", "actual")
            },
        }


_COUNTS = {
    "rewritten_files": "deleted-data-files",
    "rewritten_bytes": "removed-files-size",
    "added_files": "added-data-files",
    "added_bytes": "added-files-size",
}


def is_ours(snapshot: SnapshotFacts) -> bool:
    """Return whether a snapshot is a commit of a rewrite of ours, or its removal of delete files."""
    return snapshot.is_rewrite or (snapshot.operation == REPLACE and REWRITE_ID in snapshot.summary)


def rewrites_of(snapshots: Sequence[SnapshotFacts]) -> list[PastRewrite]:
    """Return our rewrites among a branch's snapshots, by last commit, oldest first.

    Examples
    --------
    >>> summary = {"zorder.columns": "a,b", "zorder.rewrite-id": "x", "deleted-data-files": "5",
    ...            "zorder.scan-fractions": '{"a": {"predicted": 0.5}, "b": {"predicted": NaN}}'}
    >>> snapshots = [SnapshotFacts(1, 10, "append", {}), SnapshotFacts(2, 20, "replace", summary, 1),
    ...              SnapshotFacts(3, 30, "replace", summary, 2)]
    >>> found = [each.to_dict() for each in rewrites_of(snapshots)]
    >>> [(each["snapshot_id"], each["parent_id"], each["rewritten_files"], each["predicted"]) for each in found]
    [(3, 1, 10, {'a': 0.5})]
    """
    found: dict[str | int, PastRewrite] = {}
    for each in snapshots:
        rewrite = each.summary.get(REWRITE_ID) or each.snapshot_id
        if each.is_rewrite or (is_ours(each) and rewrite in found):
            earlier = found.pop(rewrite).commits if rewrite in found else ()
            found[rewrite] = PastRewrite((*earlier, each))
    return [*found.values()]


def _fractions(summary: Mapping[str, str]) -> dict[str, dict[str, float]]:
    # Other programs may have written anything under this key.
    with suppress(ValidationError):
        found = _FRACTIONS.validate_json(summary.get(SCAN_FRACTIONS, "{}"))
        return {column: {key: each for key, each in of.items() if 0 <= each <= 1} for column, of in found.items()}
    return {}
