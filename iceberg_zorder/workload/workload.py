"""The workload of a table: filters of its queries with weights, and conditions that were not understood."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

FULL_SCAN = "TRUE"
"""The filter of a full scan."""
KINDS = ("=", "in", "prefix", "range", "null", "other")
"""Kinds of filters on a column, the narrowest first; ``other`` filters leave most rows, such as ``<>``."""
FAILED = "its log says that it failed"
"""The reason for statements that are not counted because they may have read nothing."""
SHOWN = 500
"""The maximum number of characters that are kept of a text that was not understood."""


@dataclass(frozen=True)
class Query:
    """A filter on the table, and how many scans have it.

    Parameters
    ----------
    filter : str
        A condition of Spark SQL, as :func:`~iceberg_zorder.rewrite.predicate.parse_predicate` takes it; ``TRUE`` for
        a full scan.
    weight : float
        The number of scans with this filter, in [0, inf).
    weaker : float, optional
        The number of these scans whose conditions were understood only in part, in [0, weight]. The workload's
        ``not_understood`` holds the missing parts.
    """

    filter: str
    weight: float
    weaker: float = 0.0


@dataclass(frozen=True)
class ColumnsOnly:
    """Scans whose filtered columns are known, but not the values."""

    columns: tuple[tuple[str, str], ...]  # at least one name of a column, sorted, each with one of :data:`KINDS`
    weight: float  # the number of scans, in [0, inf); they are not among the queries
    filter: str = FULL_SCAN  # the part of the conditions whose values are known


@dataclass(frozen=True)
class NotUnderstood:
    """A statement, or a part of a scan's conditions, that was not understood."""

    # ``part`` of the conditions of a scan that is counted without it, or a whole ``statement``, which is not counted.
    kind: str
    text: str  # its SQL, cut after 500 characters
    reason: str  # as it stands after "because"
    weight: float  # how often it was found, in [0, inf)


@dataclass(frozen=True)
class JoinKeys:
    """The keys of a dimension by which scans of the table are filtered; the scans' filters have them as ranges."""

    key: str  # the dimension's column, such as ``db.date_dim.d_date_sk``
    filter: str  # on the dimension, in Spark SQL
    keys: int  # the number of distinct keys, at least 0
    weight: float  # the number of scans, in [0, inf)


Item = TypeVar("Item", ColumnsOnly, NotUnderstood, JoinKeys)


@dataclass(frozen=True)
class Workload:
    """The scans of a table. Each scan is counted in ``queries`` or in ``columns_only``.

    Parameters
    ----------
    queries : tuple of Query
        Distinct filters, sorted by descending weight, then by text.
    columns_only : tuple of ColumnsOnly, optional
        Scans whose filtered columns are known, but not the values, sorted by descending weight.
    not_understood : tuple of NotUnderstood, optional
        Distinct statements and parts of conditions that were not understood, sorted by descending weight.
    elsewhere : float, optional
        The weight of statements that do not read the table, in [0, inf).
    joins : tuple of JoinKeys, optional
        Distinct entries, sorted by descending weight.

    Examples
    --------
    >>> once = Query("a = 1", 1.0)
    >>> Workload.of([once, Query("TRUE", 1.5), once]).queries
    (Query(filter='a = 1', weight=2.0, weaker=0.0), Query(filter='TRUE', weight=1.5, weaker=0.0))
    """

    queries: tuple[Query, ...]
    columns_only: tuple[ColumnsOnly, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()
    elsewhere: float = 0.0
    joins: tuple[JoinKeys, ...] = ()

    @staticmethod
    def of(
        queries: Iterable[Query] = (),
        columns_only: Iterable[ColumnsOnly] = (),
        not_understood: Iterable[NotUnderstood] = (),
        elsewhere: float = 0.0,
        joins: Iterable[JoinKeys] = (),
    ) -> Workload:
        """Return a workload; equal entries are merged, and their weights are added."""
        parts = _merged_queries(queries), _merged(columns_only), _merged(not_understood)
        return Workload(*parts, elsewhere, _merged(joins))

    @property
    def weight(self) -> float:
        """The number of scans."""
        return math.fsum([each.weight for each in self.queries] + [each.weight for each in self.columns_only])

    def sampled(self, most: int) -> Workload:
        """Return a sample of at most ``most`` filters, and all full scans, with the same total weight.

        Heavy queries are kept as they are. Light queries are drawn in proportion to their weight, by the hash of the
        filter, so that each call draws the same ones. They share the total weight of all light queries evenly (priority
        sampling: N. Duffield, C. Lund, M. Thorup, "Priority sampling for estimation of arbitrary subset sums", Journal
        of the ACM 54 (6), 2007).

        Examples
        --------
        >>> lookups = [Query(f"a = {number}", 1.0) for number in range(5_000)]
        >>> found = Workload.of([*lookups, Query("b = 1", 900.0), Query("TRUE", 7.0)]).sampled(1_001)
        >>> len(found.queries), found.queries[:2], found.queries[2].weight
        (1002, (Query(filter='b = 1', weight=900.0, weaker=0.0), Query(filter='TRUE', weight=7.0, weaker=0.0)), 5.0)
        """
        scanned = [each for each in self.queries if each.weight > 0]
        filtered = [each for each in scanned if each.filter != FULL_SCAN]
        if len(filtered) <= most:
            return replace(self, queries=tuple(scanned))
        filtered.sort(key=_priority, reverse=True)
        bound = _priority(filtered[most])
        kept = sorted(filtered[:most], key=lambda each: each.weight)
        light = kept[: max(1, sum(math.log(each.weight) < bound for each in kept))]
        heavy = kept[len(light) :]
        weight = math.fsum(each.weight for each in (*light, *filtered[most:])) / len(light)
        drawn = [replace(each, weight=weight, weaker=each.weaker / each.weight * weight) for each in light]
        full = [each for each in scanned if each.filter == FULL_SCAN]
        return replace(self, queries=_merged_queries([*heavy, *drawn, *full]))

    def joined(self, other: Workload) -> Workload:
        """Return this workload merged with another one of the same table."""
        return Workload.of(
            (*self.queries, *other.queries),
            (*self.columns_only, *other.columns_only),
            (*self.not_understood, *other.not_understood),
            self.elsewhere + other.elsewhere,
            (*self.joins, *other.joins),
        )


@dataclass(frozen=True)
class ScanFilter:
    """The filter of a scan."""

    filter: str  # ``TRUE`` without one
    # Columns compared with unknown values, with the kind of comparison.
    unknown: Mapping[str, str] = field(default_factory=dict)
    # Conditions that the filter leaves out in whole or in part, with the reasons.
    lost: tuple[tuple[str, str], ...] = ()
    joins: tuple[JoinKeys, ...] = ()  # the joins whose keys the filter has, with any weights


class Gathered:
    """Builds a workload scan by scan.

    Examples
    --------
    >>> gathered = Gathered()
    >>> gathered.add(ScanFilter("a = 1"), 1.0)
    >>> gathered.add(ScanFilter("a = 1", lost=(("upper(s) = 'X'", "UPPER(s) is neither a column nor a value"),)), 2.0)
    >>> gathered.workload().queries
    (Query(filter='a = 1', weight=3.0, weaker=2.0),)
    """

    def __init__(self) -> None:
        self._queries: list[Query] = []
        self._columns_only: list[ColumnsOnly] = []
        self._not_understood: list[NotUnderstood] = []
        self._joins: list[JoinKeys] = []
        self.elsewhere = 0.0

    def add(self, scan: ScanFilter, weight: float) -> None:
        """Count scans of a filter."""
        if scan.unknown:
            self._columns_only.append(ColumnsOnly(tuple(sorted(scan.unknown.items())), weight, scan.filter))
        else:
            self._queries.append(Query(scan.filter, weight, weight if scan.lost else 0.0))
        for text, reason in dict.fromkeys(scan.lost):
            self.miss("part", text, reason, weight)
        self._joins += [replace(each, weight=weight) for each in scan.joins]

    def miss(self, kind: str, text: str, reason: str, weight: float) -> None:
        """Add a statement or a part that was not understood."""
        text = text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
        self._not_understood.append(NotUnderstood(kind, text, reason, weight))

    def workload(self) -> Workload:
        """Return the workload."""
        return Workload.of(self._queries, self._columns_only, self._not_understood, self.elsewhere, self._joins)


def _priority(query: Query) -> float:
    """Return the logarithm of the weight divided by a number in (0, 1] that is the filter's, whatever its values."""
    digest = hashlib.sha256(query.filter.encode(errors="surrogatepass")).digest()
    return math.log(query.weight) - math.log((int.from_bytes(digest[:8], "big") + 1) / 2**64)


def _merged_queries(queries: Iterable[Query]) -> tuple[Query, ...]:
    groups: dict[str, list[Query]] = {}
    for each in queries:
        groups.setdefault(each.filter, []).append(each)
    found = [
        Query(text, math.fsum(each.weight for each in group), math.fsum(each.weaker for each in group))
        for text, group in groups.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.weight, each.filter)))


def _merged(items: Iterable[Item]) -> tuple[Item, ...]:
    groups: dict[Item, list[float]] = {}
    for each in items:
        groups.setdefault(replace(each, weight=0.0), []).append(each.weight)
    # Sums that do not depend on the order.
    found = [replace(each, weight=math.fsum(weights)) for each, weights in groups.items()]
    return tuple(sorted(found, key=lambda each: (-each.weight, repr(each))))
