"""The normal form of predicates: simple rules give equivalent predicates one form.

NOT occurs only before IN, LIKE, IS NULL and isnan; parts are sorted; ``a = 1 OR a = 2`` is ``a IN (1, 2)``. If a
predicate is NULL, its normal form may be false.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from iceberg_zorder.rewrite.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Name,
    Not,
    Or,
    Predicate,
    StartsWith,
    Value,
)
from iceberg_zorder.workload.predicate_text import predicate_text, value_text

TRUE, FALSE = Constant(True), Constant(False)
OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_RANKS = {"=": 0, "<>": 4, ">": 1, ">=": 1, "<": 2, "<=": 2}


def normal_form(predicate: Predicate) -> Predicate:
    """Return the normal form of a predicate.

    Examples
    --------
    >>> from iceberg_zorder.rewrite.predicate import parse_predicate
    >>> def normal(text):
    ...     return predicate_text(normal_form(parse_predicate(text)))
    >>> normal("b < 3 AND NOT (a <> 2 AND a <> 1) AND b IS NOT NULL")
    'a IN (1, 2) AND b < 3'
    >>> normal("(a = 1 AND b = 1) OR (b = 2 AND a = 1)")
    'a = 1 AND b IN (1, 2)'
    >>> normal("a = NULL OR NOT (b <=> 1)")
    'b IS NULL OR b <> 1'
    """
    return _true_of(predicate, negated=False)


def all_of(predicates: Iterable[Predicate]) -> Predicate:
    """Join parts in normal form by AND."""
    parts = _flat(predicates, And)
    parts.pop(TRUE, None)
    if FALSE in parts:
        return FALSE
    kept = _without_implied(_listed(parts, negated=True))
    return kept[0] if len(kept) == 1 else And(tuple(sorted(kept, key=_place))) if kept else TRUE


def any_of(predicates: Iterable[Predicate]) -> Predicate:
    """Join alternatives in normal form by OR."""
    parts = _flat(predicates, Or)
    parts.pop(FALSE, None)
    if TRUE in parts:
        return TRUE
    if not parts:
        return FALSE
    common, rest = _factored(list(parts))
    if common:
        return all_of([*common, any_of(rest)])
    joined = _listed(parts, negated=False)
    return joined[0] if len(joined) == 1 else Or(tuple(sorted(joined, key=_place)))


def _flat(predicates: Iterable[Predicate], joint: type[And | Or]) -> dict[Predicate, None]:
    """Return the distinct parts, with nested joins of the same kind flattened."""
    inner = (each.predicates if isinstance(each, joint) else (each,) for each in predicates)
    return dict.fromkeys(part for parts in inner for part in parts)


def _true_of(predicate: Predicate, *, negated: bool) -> Predicate:
    """Return the predicate for another one being true, or false if ``negated``."""
    if isinstance(predicate, Not):
        return _true_of(predicate.predicate, negated=not negated)
    if isinstance(predicate, And | Or):
        parts = [_true_of(each, negated=negated) for each in predicate.predicates]
        return all_of(parts) if isinstance(predicate, And) != negated else any_of(parts)
    if isinstance(predicate, Constant):
        return Constant(predicate.value is (not negated))
    if isinstance(predicate, Comparison):
        return _comparison(predicate, negated)
    if isinstance(predicate, In):
        return _in(predicate, negated)
    return Not(predicate) if negated else predicate


def _comparison(predicate: Comparison, negated: bool) -> Predicate:
    column, value = predicate.column, predicate.value
    if predicate.operator == "<=>":
        if value.content is None:
            return Not(IsNull(column)) if negated else IsNull(column)
        equal = _comparison(Comparison(column, "=", value), negated)
        return any_of([equal, IsNull(column)]) if negated else equal
    if value.content is None:
        return FALSE
    operator = OPPOSITES[predicate.operator] if negated else predicate.operator
    if isinstance(value.content, bool) and operator == "<>":
        operator, value = "=", Value("boolean", not value.content)
    return Comparison(column, operator, value)


def _in(predicate: In, negated: bool) -> Predicate:
    values = [value for value in predicate.values if value.content is not None]
    if not values or (negated and len(values) < len(predicate.values)):
        return FALSE
    return _of_values(predicate.column, values, negated)


def _of_values(column: Name, values: Iterable[Value], negated: bool) -> Predicate:
    distinct = sorted({value_text(value): value for value in values}.values(), key=_rank)
    if len(distinct) == 1:
        return _comparison(Comparison(column, "=", distinct[0]), negated)
    found = In(column, tuple(distinct))
    return Not(found) if negated else found


def _rank(value: Value) -> tuple[str, bool, Any]:
    """Return the sort key of a value: by type, then by value, with NaN last."""
    content = value.content
    is_nan = isinstance(content, float) and math.isnan(content)
    return (value.type, is_nan, None if is_nan else content)


def _listed(parts: Iterable[Predicate], *, negated: bool) -> list[Predicate]:
    """Merge equality tests of a column into one IN, or its exclusions into one NOT IN."""
    values: dict[Name, list[Value]] = {}
    others: list[Predicate] = []
    for part in parts:
        inner = part.predicate if isinstance(part, Not) else part
        if isinstance(inner, In) and isinstance(part, Not) == negated:
            values.setdefault(inner.column, []).extend(inner.values)
        elif isinstance(part, Comparison) and part.operator == ("<>" if negated else "="):
            values.setdefault(part.column, []).append(part.value)
        else:
            others.append(part)
    return [*(_of_values(column, found, negated) for column, found in values.items()), *others]


def _factored(parts: list[Predicate]) -> tuple[list[Predicate], list[Predicate]]:
    """Return the common parts of all alternatives, and the rest of each."""
    inside = [dict.fromkeys(part.predicates if isinstance(part, And) else (part,)) for part in parts]
    common = [each for each in inside[0] if len(parts) > 1 and all(each in other for other in inside)]
    return common, [all_of(each for each in part if each not in common) for part in inside]


def _without_implied(parts: list[Predicate]) -> list[Predicate]:
    """Drop IS NOT NULL of columns that another part already requires to be non-NULL."""
    asked = {column for part in parts if not _is_not_null(part) for column in _not_null(part)}
    return [part for part in parts if not (_is_not_null(part) and _not_null(part) <= asked)]


def _is_not_null(part: Predicate) -> bool:
    return isinstance(part, Not) and isinstance(part.predicate, IsNull)


def _not_null(part: Predicate) -> set[Name]:
    """Return the columns that are non-NULL whenever a part in normal form is true."""
    if isinstance(part, And):
        return set().union(*map(_not_null, part.predicates))
    if isinstance(part, Or):
        return set.intersection(*map(_not_null, part.predicates))
    if isinstance(part, Not):
        # isnan(NULL) is false.
        return set() if isinstance(part.predicate, IsNan) else {part.predicate.column}  # type: ignore[union-attr]
    return {part.column} if isinstance(part, Comparison | In | StartsWith | IsNan) else set()


def _place(part: Predicate) -> tuple[Name, int, str]:
    """Return the sort key of a part: its column, then lower bounds before upper ones."""
    inner = part.predicate if isinstance(part, Not) else part
    if isinstance(inner, And | Or):
        return (*_place(inner.predicates[0])[:1], 9, predicate_text(part))
    rank = _RANKS.get(inner.operator, 4) if isinstance(inner, Comparison) else 3
    return (getattr(inner, "column", ()), rank, predicate_text(part))
