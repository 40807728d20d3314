"""Filters that joins give a table: the keys of a dimension's rows that a statement selects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, Protocol

from sqlglot import exp

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import Name
from iceberg_zorder.workload.nodes import JOINED, columns_in, holds_for_equals
from iceberg_zorder.workload.predicate_text import column_text
from iceberg_zorder.workload.scanned_table import Scan, ScannedTable, with_namespace
from iceberg_zorder.workload.statement_filters import scan_filter
from iceberg_zorder.workload.workload import FULL_SCAN, JoinKeys

READERS = {"spark": 64, "trino": 64, "duckdb": 1, "other": 0}
"""The most ranges of a join's keys by which each engine skips files; ``other`` engines skip no files by joins.

Spark, with this project's jar, and Trino take ranges or sets of keys; DuckDB takes the least and the greatest key."""
DEFAULT_READERS = ("spark",)
MOST_KEYS = 10_000
"""Joins with more selected keys are left out: such keys are rarely close to each other."""
_KEY_TYPES = ("int", "long", "date", "timestamp", "timestamptz", "string", "decimal")


class Dimensions(Protocol):
    """The tables that a table is joined with, by the names of a statement."""

    def find(self, name: tuple[str, ...]) -> ScannedTable | None:
        """Return a dimension; None if there is no such table."""

    def keys(self, dimension: ScannedTable, column: Name, filter: str) -> list[Any] | str:  # noqa: A002
        """Return the distinct values of a column in rows that may match a filter, or why they are unknown."""


@dataclass(frozen=True)
class KeyLookup:
    """Looks up the keys of joins in one statement."""

    dimensions: Dimensions  # the other tables
    namespace: tuple[str, ...]  # of names without one
    now: datetime  # time of the statement, with a time zone
    ranges: int  # the most ranges of keys by which the reading engine skips files, at least 1
    catalogs: frozenset[str] = frozenset()  # what statements call the catalog of the dimensions, in small letters
    levels: int = 1  # the number of parts of the catalog's namespaces

    def find(self, name: tuple[str, ...]) -> ScannedTable | None:
        """Return a dimension; None if there is no such table."""
        full = with_namespace(name, self.namespace, self.levels)
        is_own = len(full) > self.levels + 1 and full[0].lower() in self.catalogs
        return self.dimensions.find(full[1:] if is_own else full)

    def condition(
        self, dimension: ScannedTable, scan: Scan, key: str, column: exp.Column, kind: str | None
    ) -> tuple[exp.Expr, bool] | str | None:
        """Return the condition on a column that equals a dimension's key, and whether it has all of the scan's facts.

        ``kind`` is the column's Iceberg type, if known. Returns None if the scan's facts select all rows, and a reason
        if the keys are not known.
        """
        column_of_key = dimension.column((key,))
        if column_of_key is None:
            return None
        key_name, key_type = column_of_key
        if not _are_equal(key_type, kind):
            return None
        if all(holds_for_equals(fact) and {each.name for each in columns_in(fact)} <= {key} for fact in scan.facts):
            # Such conditions on the key alone are the column's already.
            return None
        of_dimension = scan_filter(scan, dimension, self.now)
        if of_dimension.filter == FULL_SCAN:
            return None
        keys = self.dimensions.keys(dimension, key_name, of_dimension.filter)
        if isinstance(keys, str):
            return f"its keys are not known: {keys}"
        condition = key_condition(column, keys, self.ranges)
        name = f"{'.'.join(dimension.identifier)}.{column_text(key_name)}"
        condition.meta[JOINED] = JoinKeys(name, of_dimension.filter, len(keys), 0.0)
        return condition, not of_dimension.lost and not of_dimension.unknown


def check_readers(readers: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct names of engines; raises InvalidInputError for an unknown one.

    Examples
    --------
    >>> check_readers(["trino", "spark", "trino"])
    ('trino', 'spark')
    >>> check_readers(["presto"])
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use the reader 'presto', because it must be one of spark, trino, \
duckdb, other
    """
    unknown = next((each for each in readers if each not in READERS), None)
    if unknown is not None or not readers:
        known = ", ".join(READERS)
        raise InvalidInputError(f"Cannot use the reader '{unknown or ''}', because it must be one of {known}")
    return tuple(dict.fromkeys(readers))


def key_condition(column: exp.Column, keys: Sequence[Any], most: int) -> exp.Expr:
    """Return the condition that a column lies in at most ``most`` ranges of keys.

    The ranges are cut at the largest gaps between keys. Text has no gaps: its ranges have about equally many keys.

    Examples
    --------
    >>> keys = [date(2024, 1, day) for day in (1, 2, 3, 9, 30)]
    >>> print(key_condition(exp.column("d"), keys, 2).sql())
    (d BETWEEN CAST('2024-01-01' AS DATE) AND CAST('2024-01-09' AS DATE) OR d = CAST('2024-01-30' AS DATE))
    >>> key_condition(exp.column("d"), [3, 1, 2, -8], 64).sql(), key_condition(exp.column("d"), [], 1).sql()
    ('(d = -8 OR d BETWEEN 1 AND 3)', 'FALSE')
    """
    if not keys:
        return exp.false()
    parts = [
        exp.EQ(this=column.copy(), expression=_literal(low))
        if low == high
        else exp.Between(this=column.copy(), low=_literal(low), high=_literal(high))
        for low, high in _ranges(sorted(set(keys)), most)
    ]
    return exp.Paren(this=exp.or_(*parts, copy=False)) if len(parts) > 1 else parts[0]


def _are_equal(key: str, own: str | None) -> bool:
    """Return whether columns of two types are equal exactly where their values are."""
    kind = key.partition("(")[0]
    if own is None:
        # Text may be compared as another type, which has another order, and timestamps by the session's time zone.
        return kind in ("int", "long", "decimal")
    kinds = {kind, own.partition("(")[0]}
    return kind in _KEY_TYPES and (len(kinds) == 1 or kinds == {"int", "long"})


def _ranges(keys: Sequence[Any], most: int) -> Iterator[tuple[Any, Any]]:
    step = timedelta(1) if type(keys[0]) is date else 1 if isinstance(keys[0], int) else None
    if isinstance(keys[0], str):
        starts = sorted({number * len(keys) // most for number in range(1, most)} - {0})
    else:
        gaps = [(high - low, place) for place, (low, high) in enumerate(pairwise(keys), 1)]
        wide = [each for each in gaps if step is None or each[0] > step]
        starts = sorted(place for _, place in sorted(wide, key=lambda each: (-each[0], each[1]))[: most - 1])
    for start, stop in pairwise([0, *starts, len(keys)]):
        yield keys[start], keys[stop - 1]


def _literal(value: Any) -> exp.Expr:
    if isinstance(value, datetime):
        return exp.cast(exp.Literal.string(value.isoformat(" ")), "timestamptz" if value.tzinfo else "timestamp")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "date")
    if isinstance(value, Decimal):
        return exp.Literal.number(f"{value:f}")  # an exponent would make it a double
    return exp.convert(value)
