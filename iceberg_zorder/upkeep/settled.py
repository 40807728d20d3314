"""What the newest rewrite has settled: no other by the same request would choose anything of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from iceberg_zorder.report.history import SnapshotFacts

REQUEST = "zorder.request"
"""In a snapshot's summary: the key of what the rewrite was asked for."""
SETTLED_FROM = "zorder.settled-from-snapshot-id"
"""In a snapshot's summary, once a rewrite has done all it was to do: the snapshot that it was planned on."""

WHY = "as the last rewrite by the same request left them, and nothing has come since"
"""Why data files are left that are settled."""

_HASH = "zorder.layout-hash"
_WRITE = "write."
_OF_ONE_RUN = frozenset(
    (
        "boundaries",
        "dry-run",
        "max-concurrent-file-group-rewrites",
        "max-file-group-input-files",
        "max-file-group-size-bytes",
        "max-files-to-rewrite",
        "memory-limit-bytes",
        "metrics-check",
        "min-age-seconds",
        "partial-progress.enabled",
        "partial-progress.max-commits",
        "partial-progress.max-failed-commits",
        "remove-dangling-deletes",
        "rewrite-all",
        "rewrite-job-order",
        "sample-rows",
        "sample-seed",
        "spill-directory",
        "use-starting-sequence-number",
    )
)
"""Options that change how a rewrite goes about it, and not what is left as it is."""
_KEY = 16


def request_key(
    sort_order: str, where: str, spec_id: int, target: int, options: Mapping[str, str], properties: Mapping[str, str]
) -> str:
    """Make the key of what a rewrite is asked for.

    Parameters
    ----------
    sort_order : str
        The sort order in full.
    where : str
        The filter as written, empty without one.
    spec_id : int
        The partition spec of new files.
    target : int
        The size that new files are to have, in bytes.
    options : mapping of str to str
        The options as written; those that only change how a rewrite goes about it do not count.
    properties : mapping of str to str
        The table's properties, of which those count that tell how files are written.

    Returns
    -------
    str
        16 hexadecimal digits.

    Examples
    --------
    >>> one = request_key("zorder(a, b)", "", 0, 100, {"rewrite-all": "true"}, {"owner": "me"})
    >>> one == request_key("zorder(a, b)", "", 0, 100, {}, {}) != request_key("zorder(b, a)", "", 0, 100, {}, {})
    True
    """
    written = [f"{name}={value}" for name, value in options.items() if name not in _OF_ONE_RUN]
    written += [f"{name}={value}" for name, value in properties.items() if name.startswith(_WRITE)]
    lines = [sort_order, where, f"spec {spec_id}", f"{target} bytes", *sorted(written)]
    # An option may name what is no text.
    return hashlib.sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()[:_KEY]


@dataclass(frozen=True)
class Settled:
    """What the newest rewrite by a request has settled.

    Parameters
    ----------
    newer : frozenset of int
        The snapshots whose data files it has not seen.
    """

    newer: frozenset[int]

    @staticmethod
    def by(request: str, snapshots: Sequence[SnapshotFacts]) -> Settled | None:
        """Find what is settled.

        Parameters
        ----------
        request : str
            The key of the request.
        snapshots : sequence of SnapshotFacts
            The snapshots of the branch, oldest first, as far as they are kept.

        Returns
        -------
        Settled or None
            None if the newest rewrite by that request has left something to do, or it cannot be told what came since.

        Examples
        --------
        >>> ours = {"zorder.request": "1f", "zorder.settled-from-snapshot-id": "1", "zorder.layout-hash": "ab"}
        >>> append, rewrite = SnapshotFacts(2, 20, "append", {}), SnapshotFacts(3, 30, "replace", ours)
        >>> sorted(Settled.by("1f", [SnapshotFacts(1, 10, "append", {}), append, rewrite]).newer)
        [2]
        >>> Settled.by("1f", [append, rewrite]) is Settled.by("2e", [append, rewrite]) is None
        True
        """
        last = next((each for each in reversed(snapshots) if each.summary.get(REQUEST) == request), None)
        first = last.summary.get(SETTLED_FROM) if last else None
        ids = [each.snapshot_id for each in snapshots]
        if last is None or first is None or first not in map(str, ids):
            return None
        after = snapshots[list(map(str, ids)).index(first) + 1 :]
        # Partial progress commits one after the other, of the same layouts.
        run = (request, last.summary.get(_HASH))
        return Settled(
            frozenset(each.snapshot_id for each in after if (each.summary.get(REQUEST), each.summary.get(_HASH)) != run)
        )

    def covers(self, added_by: Iterable[int | None]) -> bool:
        """Tell whether files were all seen or written by the rewrite, by the snapshots that added them."""
        return all(each is not None and each not in self.newer for each in added_by)


def why_nothing(table: str, files: int) -> str:
    """Say why all files are left.

    Examples
    --------
    >>> why_nothing("lake.db.t", 2)
    'Nothing to rewrite in lake.db.t: its 2 data files are as the last rewrite by the same request left them, and \
nothing has come since. To rewrite them anyway, set option rewrite-all to true.'
    """
    return (
        f"Nothing to rewrite in {table}: its {files:,} data files are {WHY}. To rewrite them anyway, set option "
        "rewrite-all to true."
    )
