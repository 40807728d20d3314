"""Whether a new layout for the queries of a table pays: what they read less, against what its rewrite reads and writes.

As in OReO (SIGMOD 2024, arXiv 2405.04984), a rewrite is a cost that queries have to earn back: a layout that is only a
little better is not worth it, nor is one for queries that are few.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from iceberg_zorder.maintain.observation import FileGroupNeed, WorkloadNeed
from iceberg_zorder.report.history import SnapshotFacts
from iceberg_zorder.upkeep.settled import REQUEST, WORKLOAD

PREDICTED_READ = "zorder.predicted-workload-read"
"""In a snapshot's summary: the share of the table that they were predicted to read after a new layout of it."""
PREDICTION = "zorder.workload-prediction"
"""The table property: what a new layout was predicted to bring that did not pay."""

_MORE = 1.1
"""So many times what was predicted is as predicted."""
_OTHER_SIZE = 0.25
_DAY_MS = 86_400_000


def queries_to_pay(before: float, after: float, rewritten: float) -> float:
    """Tell after how many queries a rewrite has paid: they have saved what it reads and writes.

    Parameters
    ----------
    before, after : float
        The bytes that a query reads on average, in [0, inf).
    rewritten : float
        The bytes that are rewritten, each read once and written once.

    Returns
    -------
    float
        In (0, inf]; infinity where nothing is saved.

    Examples
    --------
    >>> queries_to_pay(300, 100, 1000), queries_to_pay(100, 100, 1000)
    (10.0, inf)
    """
    return 2 * rewritten / (before - after) if before > after else math.inf


def pays(before: float, after: float, queries_per_day: float, days: float, rewritten: float) -> bool:
    """Tell whether a rewrite has paid after so many days; see :func:`queries_to_pay`.

    Examples
    --------
    >>> pays(300, 100, 2, 5, 1000), pays(300, 100, 2, 4, 1000)
    (True, False)
    """
    return queries_to_pay(before, after, rewritten) <= queries_per_day * days


def is_predicted(read: float, predicted: float) -> bool:
    """Tell whether queries read no more than was predicted, but for what predictions are off by.

    Examples
    --------
    >>> is_predicted(0.109, 0.1), is_predicted(0.112, 0.1)
    (True, False)
    """
    return read <= _MORE * predicted


def worthwhile(groups: Sequence[FileGroupNeed], queries: float) -> tuple[FileGroupNeed, ...]:
    """Leave file groups out that are rewritten only for what is read, and have not paid after so many queries.

    Examples
    --------
    >>> def group(index, worth, is_for_reads):
    ...     return FileGroupNeed(index, 1, 100, worth, False, "", is_for_reads)
    >>> groups = [group(1, 0.01, True), group(2, 0.02, True), group(3, 0.0, False)]
    >>> [each.index for each in worthwhile(groups, 100)]
    [2, 3]
    """
    return tuple(each for each in groups if not each.is_for_reads or pays(each.saved_bytes, 0, queries, 1, each.size))


@dataclass(frozen=True)
class Prediction:
    """What a sample has told of a new layout, so that none is read again for the same.

    Parameters
    ----------
    request : str
        The key of the rewrite that it is of.
    read, predicted : float
        The share of the table that queries read then, and would read, in [0, 1].
    size : int
        The bytes of the table.
    queries : float
        After how many queries the first of its file groups would have paid, in (0, inf].
    at_ms : int
        When, in milliseconds since 1970.

    Examples
    --------
    >>> one = Prediction("1f", 0.3, 0.25, 1000, 40.0, 0)
    >>> str(one), Prediction.of({"zorder.workload-prediction": str(one)}) == one
    ('1f 0.3 0.25 1000 40.0 0', True)
    >>> Prediction.of({"zorder.workload-prediction": "nonsense"})
    >>> one.holds("1f", 0.32, 1200, 10**9), one.holds("1f", 0.34, 1000, 0), one.holds("2e", 0.3, 1000, 10**9)
    (True, False, False)
    """

    request: str
    read: float
    predicted: float
    size: int
    queries: float
    at_ms: int

    @staticmethod
    def of(properties: Mapping[str, str]) -> Prediction | None:
        """Read what a table remembers; None if that is nothing, or cannot be read."""
        with suppress(ValueError):
            request, read, predicted, size, queries, at = properties.get(PREDICTION, "").split()
            return Prediction(request, float(read), float(predicted), int(size), float(queries), int(at))
        return None

    def __str__(self) -> str:
        return f"{self.request} {self.read!r} {self.predicted!r} {self.size} {self.queries!r} {self.at_ms}"

    def holds(self, request: str, read: float, size: int, now_ms: int) -> bool:
        """Tell whether it holds yet: of the same queries, or of others within a day, if these read about as much.

        Queries are others with every line that a log gets, and a sample each time would cost more than it brings.
        """
        is_recent = 0 <= now_ms - self.at_ms < _DAY_MS
        is_like = is_predicted(read, self.read) and abs(size - self.size) <= _OTHER_SIZE * self.size
        return is_like and (request == self.request or is_recent)


@dataclass(frozen=True)
class LaidOut:
    """What the snapshots tell of the last rewrite for queries.

    Parameters
    ----------
    key : str
        The key of its queries.
    read : float or None
        The share of the table that they were predicted to read, in [0, 1], if all of it was looked at.
    at_ms : int
        When, in milliseconds since 1970.
    newer : frozenset of int, optional
        The snapshots since.
    """

    key: str
    read: float | None
    at_ms: int
    newer: frozenset[int] = frozenset()

    @staticmethod
    def by(snapshots: Sequence[SnapshotFacts]) -> LaidOut | None:
        """Find the last new layout, or else the last rewrite of a part; None if no snapshot tells of one.

        Examples
        --------
        >>> first = SnapshotFacts(1, 0, "replace", {
        ...     "zorder.columns": "a", "zorder.workload-key": "1f", "zorder.predicted-workload-read": "0.25"})
        >>> then = SnapshotFacts(2, 1, "replace", {"zorder.columns": "a", "zorder.workload-key": "2e"})
        >>> LaidOut.by([first, then])
        LaidOut(key='1f', read=0.25, at_ms=0, newer=frozenset({2}))
        >>> LaidOut.by([then]).read, LaidOut.by([])
        (None, None)
        """
        places = [at for at, each in enumerate(snapshots) if each.is_rewrite and WORKLOAD in each.summary]
        layouts = [at for at in places if _share(snapshots[at].summary) is not None]
        for at in reversed(layouts or places):
            last, newer = snapshots[at], frozenset(each.snapshot_id for each in snapshots[at + 1 :])
            return LaidOut(last.summary[WORKLOAD], _share(last.summary), last.timestamp_ms, newer)
        return None

    def is_as_predicted(self, key: str, read: float | None, now_ms: int) -> bool:
        """Tell whether queries read what was predicted: the same ones, or others within a day.

        Parameters
        ----------
        key : str
            The key of the queries.
        read : float or None
            The share that they read of what has not come since, in [0, 1]: the rest is for upkeep. None of nothing.
        now_ms : int
            The time, in milliseconds since 1970.
        """
        is_recent = 0 <= now_ms - self.at_ms < _DAY_MS
        return self.read is not None and is_predicted(read or 0.0, self.read) and (key == self.key or is_recent)


def new_layouts_by(request: str, snapshots: Sequence[SnapshotFacts]) -> frozenset[int]:
    """Find the snapshots of new layouts by a request, whose files another one would write alike.

    Examples
    --------
    >>> summary = {"zorder.request": "1f", "zorder.predicted-workload-read": "0.25"}
    >>> new_layouts_by("1f", [SnapshotFacts(1, 0, "replace", summary), SnapshotFacts(2, 1, "append", {})])
    frozenset({1})
    """
    mine = (each for each in snapshots if each.summary.get(REQUEST) == request)
    return frozenset(each.snapshot_id for each in mine if _share(each.summary) is not None)


def is_made(size: int, newer: int) -> bool:
    """Tell whether so many bytes, of which some are newer than a new layout by the same request, are as it left them.

    However it has missed its prediction, the next one would miss it alike.

    Examples
    --------
    >>> is_made(100, 25), is_made(100, 26)
    (True, False)
    """
    return newer <= _OTHER_SIZE * size


def _share(summary: Mapping[str, str]) -> float | None:
    with suppress(ValueError):
        share = float(summary.get(PREDICTED_READ, ""))
        return share if 0 <= share <= 1 else None
    return None


def workload_text(need: WorkloadNeed) -> str:
    """Say what queries read of a table, and whether a new layout for them pays; empty if there is nothing to say.

    Parameters
    ----------
    need : WorkloadNeed
        What was found.

    Returns
    -------
    str
        A part of a sentence.

    Examples
    --------
    >>> need = WorkloadNeed("2e", 10, 5.0, 7.0, read=0.31, has_changed=True, read_then=0.124, queries_to_pay=205.0)
    >>> print(workload_text(need))
    the workload has changed since the last rewrite: its queries read 31.0% of the bytes, those of then were predicted \
to read 12.4%; a new layout would pay after 41 days at the earliest, more than pays-within 7 days
    >>> workload_text(WorkloadNeed("2e", 10, 5.0, 7.0, read=0.0, queries_to_pay=math.inf))
    'the queries of the workload read 0.0% of the bytes; a new layout would save nothing'
    """
    if need.read is None or (need.queries_to_pay is None and need.too_large is None):
        return ""
    return f"{_read_text(need)}; {_pays_text(need)}"


def _read_text(need: WorkloadNeed) -> str:
    now = f"{need.read or 0:.1%} of the bytes"
    then = "" if need.read_then is None else f"were predicted to read {need.read_then:.1%}"
    if need.has_changed:
        of_then = f", those of then {then}" if then else ""
        return f"the workload has changed since the last rewrite: its queries read {now}{of_then}"
    if need.is_new:
        return f"no rewrite was for the workload yet: its queries read {now}"
    return f"the queries of the workload read {now}{f', and {then}' if then else ''}"


def _pays_text(need: WorkloadNeed) -> str:
    queries = need.queries_to_pay or 0.0
    days = queries / need.queries_per_day if need.queries_per_day else math.inf
    limit = _days(need.pays_within_days)
    if need.too_large is not None:
        return f"a new layout rewrites {need.too_large:,} bytes at once, for which the budget of a pass has no room"
    if need.predicted is None and math.isinf(days):
        return "a new layout would save nothing"
    if need.predicted is None:
        return f"a new layout would pay after {_days(days)} at the earliest, more than pays-within {limit}"
    if need.groups:
        size = sum(each.size for each in need.groups)
        after = f"after a new layout of {size:,} bytes they would read {need.predicted:.1%}"
        return f"{after}: that pays after {_days(days)}"
    if math.isinf(days):
        return "a new layout is predicted to save nothing"
    return (
        f"after a new layout they would read {need.predicted:.1%}: that would pay after {_days(days)}, more than "
        f"pays-within {limit}"
    )


def _days(days: float) -> str:
    if math.isinf(days):
        return "no time"
    if days < 1 / 24:
        return "less than an hour"
    count, unit = (24 * days, "hour") if days < 2 else (days, "day")
    shown = f"{count:,.0f}" if count >= 10 else f"{count:.1f}".removesuffix(".0")
    return f"{shown} {unit}{'' if shown == '1' else 's'}"
