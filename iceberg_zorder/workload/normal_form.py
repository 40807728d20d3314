"""The normal form of predicates: simple rules give equivalent predicates one form.

Parts are sorted; ``a = 1 OR a = 2`` is ``a IN (1, 2)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from iceberg_zorder.rewrite.predicate import FALSE, TRUE, And, Comparison, Name, Or, Predicate, Value
from iceberg_zorder.workload.predicate_text import predicate_text, value_text

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
    if isinstance(predicate, And):
        return all_of(map(normal_form, predicate.predicates))
    if isinstance(predicate, Or):
        return any_of(map(normal_form, predicate.predicates))
    operator = "=" if predicate.operator == "<=>" else predicate.operator
    values = [value for value in predicate.values if value.content is not None]
    is_null = len(values) < len(predicate.values) and (not values or operator == "NOT IN")
    return FALSE if is_null else _of_values(predicate.column, operator, values)


def all_of(predicates: Iterable[Predicate]) -> Predicate:
    """Join parts in normal form by AND."""
    parts = _flat(predicates, And)
    if FALSE in parts:
        return FALSE
    kept = _without_implied(_listed(parts, "<>", "NOT IN"))
    return kept[0] if len(kept) == 1 else And(tuple(sorted(kept, key=_place)))


def any_of(predicates: Iterable[Predicate]) -> Predicate:
    """Join alternatives in normal form by OR."""
    parts = _flat(predicates, Or)
    if TRUE in parts:
        return TRUE
    common, rest = _factored(list(parts))
    if common:
        return all_of([*common, any_of(rest)])
    joined = _listed(parts, "=", "IN")
    return joined[0] if len(joined) == 1 else Or(tuple(sorted(joined, key=_place)))


def _flat(predicates: Iterable[Predicate], joint: type[And | Or]) -> dict[Predicate, None]:
    """Return the distinct parts, with nested joins of the same kind flattened."""
    inner = (each.predicates if isinstance(each, joint) else (each,) for each in predicates)
    return dict.fromkeys(part for parts in inner for part in parts)


def _of_values(column: Name, operator: str, values: Iterable[Value]) -> Comparison:
    """Return a comparison with distinct values that are not NULL, none of them where the operator takes none."""
    distinct = sorted({value_text(value): value for value in values}.values(), key=_rank)
    if len(distinct) == 1:
        operator = {"IN": "=", "NOT IN": "<>"}.get(operator, operator)
        if operator == "<>" and isinstance(distinct[0].content, bool):
            operator, distinct = "=", [Value("boolean", not distinct[0].content)]
    return Comparison(column, operator, tuple(distinct))


def _rank(value: Value) -> tuple[str, bool, Any]:
    """Return the sort key of a value: by type, then by value, with NaN last."""
    content = value.content
    is_nan = isinstance(content, float) and math.isnan(content)
    return (value.type, is_nan, None if is_nan else content)


def _listed(parts: Iterable[Predicate], one: str, many: str) -> list[Predicate]:
    """Merge the equality tests of a column, or the opposite ones, into a comparison with a list."""
    values: dict[Name, list[Value]] = {}
    others: list[Predicate] = []
    for part in parts:
        if isinstance(part, Comparison) and part.operator in (one, many):
            values.setdefault(part.column, []).extend(part.values)
        else:
            others.append(part)
    return [*(_of_values(column, many, found) for column, found in values.items()), *others]


def _factored(parts: list[Predicate]) -> tuple[list[Predicate], list[Predicate]]:
    """Return the common parts of all alternatives, and the rest of each."""
    if len(parts) < 2:
        return [], parts
    inside = [dict.fromkeys(part.predicates if isinstance(part, And) else (part,)) for part in parts]
    common = [each for each in inside[0] if all(each in other for other in inside)]
    return common, [all_of(each for each in part if each not in common) for part in inside]


def _without_implied(parts: list[Predicate]) -> list[Predicate]:
    """Drop IS NOT NULL of columns that another part already requires to be non-NULL."""
    asked = {column for part in parts if not _is_not_null(part) for column in _not_null(part)}
    return [part for part in parts if not (_is_not_null(part) and _not_null(part) <= asked)]


def _is_not_null(part: Predicate) -> bool:
    return isinstance(part, Comparison) and part.operator == "IS NOT NULL"


def _not_null(part: Predicate) -> set[Name]:
    """Return the columns that are non-NULL whenever a part in normal form is true."""
    if isinstance(part, Comparison):
        # isnan(NULL) is false.
        return set() if part.operator in ("IS NULL", "NOT isnan") else {part.column}
    each = map(_not_null, part.predicates)
    return set().union(*each) if isinstance(part, And) else set.intersection(*each)


def _place(part: Predicate) -> tuple[Name, int, str]:
    """Return the sort key of a part: its column, then lower bounds before upper ones."""
    if isinstance(part, Comparison):
        return (part.column, _RANKS.get(part.operator, 3), predicate_text(part))
    return (*_place(part.predicates[0])[:1], 9, predicate_text(part))
