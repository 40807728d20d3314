"""How a predicate filters columns: by which, and how narrowly."""

from __future__ import annotations

from collections.abc import Iterable

from iceberg_zorder.rewrite.predicate import And, Name, Or, Predicate
from iceberg_zorder.workload.workload import KINDS

Kinds = dict[Name, str]
"""One of ``KINDS`` for each column."""
_KINDS = {"=": "=", "IN": "in", "LIKE": "prefix", "IS NULL": "null", "isnan": "null"}
_KINDS |= dict.fromkeys(("<", "<=", ">", ">="), "range")


def filtered_columns(predicate: Predicate) -> Kinds:
    """Return the columns that a predicate in normal form filters by.

    Examples
    --------
    >>> from iceberg_zorder.rewrite.predicate import parse_predicate
    >>> filtered_columns(parse_predicate("a = 1 AND a < 5 AND (b = 2 OR b > 7 AND c = 1)"))
    {('a',): '=', ('b',): 'range'}
    """
    if isinstance(predicate, And):
        return narrowest(filtered_columns(each) for each in predicate.predicates)
    if isinstance(predicate, Or):
        return widest(filtered_columns(each) for each in predicate.predicates)
    # Few queries select rows with NULL.
    is_any = predicate.operator == "IS NOT NULL"
    return {} if is_any else {predicate.column: _KINDS.get(predicate.operator, "other")}


def narrowest(each: Iterable[Kinds]) -> Kinds:
    """Return the columns of parts joined by AND.

    Examples
    --------
    >>> narrowest([{("a",): "range"}, {("a",): "=", ("b",): "other"}])
    {('a',): '=', ('b',): 'other'}
    """
    found: Kinds = {}
    for kinds in each:
        for column, kind in kinds.items():
            found[column] = min(found.get(column, kind), kind, key=KINDS.index)
    return found


def widest(each: Iterable[Kinds]) -> Kinds:
    """Return the columns that all alternatives filter by.

    Examples
    --------
    >>> widest([{("a",): "="}, {("a",): "=", ("b",): "="}])
    {('a',): 'in'}
    """
    alternatives = list(each) or [{}]
    shared = [column for column in alternatives[0] if all(column in other for other in alternatives)]
    found: Kinds = {}
    for column in shared:
        kinds = {kinds[column] for kinds in alternatives}
        found[column] = (
            "in" if kinds <= {"=", "in"} else max(kinds | {"range"}, key=KINDS.index) if len(kinds) > 1 else kinds.pop()
        )
    return found
