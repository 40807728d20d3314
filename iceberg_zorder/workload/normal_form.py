"""One form for predicates that are true of the same rows, as far as simple rules go.

NOT stands in front of IN, LIKE, IS NULL and isnan only; parts are sorted; ``a = 1 OR a = 2`` is ``a IN (1, 2)``; of
several bounds of a column the narrowest stays. Where a predicate is NULL its normal form may be false.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from iceberg_zorder.request.predicate import (
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
)
from iceberg_zorder.request.predicate_values import Value
from iceberg_zorder.workload.predicate_text import predicate_text, value_text

TRUE, FALSE = Constant(True), Constant(False)
OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_RANKS = {"=": 0, "<>": 4, ">": 1, ">=": 1, "<": 2, "<=": 2}


def normal_form(predicate: Predicate) -> Predicate:
    """Bring a predicate to normal form.

    Examples
    --------
    >>> from iceberg_zorder.request.predicate import parse_predicate
    >>> def normal(text):
    ...     return predicate_text(normal_form(parse_predicate(text)))
    >>> normal("b < 3 AND NOT (a <> 2 AND a <> 1) AND b IS NOT NULL AND b < 5")
    'a IN (1, 2) AND b < 3'
    >>> normal("(a = 1 AND b = 1) OR (b = 2 AND a = 1)")
    'a = 1 AND b IN (1, 2)'
    >>> normal("a = NULL OR NOT (b <=> 1)")
    'b IS NULL OR b <> 1'
    """
    return _true_of(predicate, negated=False)


def all_of(predicates: Iterable[Predicate]) -> Predicate:
    """Join parts in normal form by AND."""
    parts: dict[Predicate, None] = {}
    for each in predicates:
        for part in each.predicates if isinstance(each, And) else (each,):
            if part == FALSE:
                return FALSE
            if part != TRUE:
                parts[part] = None
    kept = _without_implied(_narrowed(list(parts)))
    if FALSE in kept:
        return FALSE
    return kept[0] if len(kept) == 1 else And(tuple(sorted(kept, key=_place))) if kept else TRUE


def any_of(predicates: Iterable[Predicate]) -> Predicate:
    """Join alternatives in normal form by OR."""
    parts: dict[Predicate, None] = {}
    for each in predicates:
        for part in each.predicates if isinstance(each, Or) else (each,):
            if part == TRUE:
                return TRUE
            if part != FALSE:
                parts[part] = None
    if not parts:
        return FALSE
    common, rest = _factored(list(parts))
    if common:
        return all_of([*common, any_of(rest)])
    joined = _joined_values(list(parts))
    return joined[0] if len(joined) == 1 else Or(tuple(sorted(joined, key=_place)))


def _true_of(predicate: Predicate, *, negated: bool) -> Predicate:
    """Find what is true where a predicate is, or where it is false if negated."""
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
    if negated and len(values) < len(predicate.values):
        return FALSE
    found = _of_values(predicate.column, values)
    if not negated:
        return found
    if isinstance(found, Comparison):
        return _comparison(found, negated=True)
    return Not(found) if isinstance(found, In) else TRUE


def _of_values(column: Name, values: Iterable[Value]) -> Predicate:
    distinct = sorted({value_text(value): value for value in values}.values(), key=_rank)
    if not distinct:
        return FALSE
    return Comparison(column, "=", distinct[0]) if len(distinct) == 1 else In(column, tuple(distinct))


def _rank(value: Value) -> tuple[str, bool, Any]:
    """Order values: those of a type by themselves, NaN behind the others."""
    content = value.content
    is_nan = isinstance(content, float) and math.isnan(content)
    return (value.type, is_nan, None if is_nan else content)


def _joined_values(parts: list[Predicate]) -> list[Predicate]:
    """Make one IN of the alternatives that ask a column for equality."""
    values: dict[Name, list[Value]] = {}
    others: list[Predicate] = []
    for part in parts:
        if isinstance(part, Comparison) and part.operator == "=":
            values.setdefault(part.column, []).append(part.value)
        elif isinstance(part, In):
            values.setdefault(part.column, []).extend(part.values)
        else:
            others.append(part)
    return [*(_of_values(column, found) for column, found in values.items()), *others]


def _factored(parts: list[Predicate]) -> tuple[list[Predicate], list[Predicate]]:
    """Find what all alternatives ask for, and what is left of each."""
    inside = [dict.fromkeys(part.predicates if isinstance(part, And) else (part,)) for part in parts]
    common = [each for each in inside[0] if len(parts) > 1 and all(each in other for other in inside)]
    return common, [all_of(each for each in part if each not in common) for part in inside]


def _narrowed(parts: list[Predicate]) -> list[Predicate]:
    """Keep the narrowest of several bounds, and what sets of values share; make one NOT IN of several ``<>``."""
    bounds: dict[tuple[Name, str, str], Comparison] = {}
    equal: dict[tuple[Name, str], list[Value]] = {}
    excluded: dict[Name, list[Value]] = {}
    others: list[Predicate] = []
    for part in parts:
        kind = _one_type(part)
        if isinstance(part, Comparison) and part.operator == "<>":
            excluded.setdefault(part.column, []).append(part.value)
        elif isinstance(part, Not) and isinstance(part.predicate, In):
            excluded.setdefault(part.predicate.column, []).extend(part.predicate.values)
        elif kind is None or not isinstance(part, Comparison | In):
            others.append(part)
        elif isinstance(part, Comparison) and part.operator != "=":
            key = part.column, part.operator[0], kind
            bounds[key] = _narrower(bounds.get(key, part), part)
        else:
            values = part.values if isinstance(part, In) else (part.value,)
            equal[part.column, kind] = _shared(equal.get((part.column, kind)), values)
    for (column, kind), found in equal.items():
        within = [each for each in bounds.values() if (each.column, each.value.type) == (column, kind)]
        equal[column, kind] = [value for value in found if all(_meets(value, each) for each in within)]
    kept = [each for each in bounds.values() if (each.column, each.value.type) not in equal]
    none_of = [_in(In(column, tuple(values)), negated=True) for column, values in excluded.items()]
    one_of = [_of_values(column, values) for (column, _), values in equal.items()]
    return [*kept, *none_of, *one_of, *others]


def _one_type(part: Predicate) -> str | None:
    """Find the type of a part's values, if they have one, and an order; else they may be equal and look different."""
    values = part.values if isinstance(part, In) else (part.value,) if isinstance(part, Comparison) else ()
    kinds = {value.type for value in values}
    has_nan = any(isinstance(value.content, float) and math.isnan(value.content) for value in values)
    return kinds.pop() if len(kinds) == 1 and not has_nan else None


def _shared(one: list[Value] | None, other: Sequence[Value]) -> list[Value]:
    if one is None:
        return list(other)
    known = {value_text(value) for value in other}
    return [value for value in one if value_text(value) in known]


def _meets(value: Value, bound: Comparison) -> bool:
    """Tell whether a value is within a bound of its type."""
    a: Any = value.content
    b: Any = bound.value.content
    inside = a < b if bound.operator[0] == "<" else a > b
    return bool(inside or (a == b and len(bound.operator) == 2))


def _narrower(one: Comparison, other: Comparison) -> Comparison:
    a: Any = one.value.content
    b: Any = other.value.content
    if a == b:
        return one if len(one.operator) == 1 else other
    return one if (a < b) == (one.operator[0] == "<") else other


def _without_implied(parts: list[Predicate]) -> list[Predicate]:
    """Leave out IS NOT NULL of columns of which another part is not true, either, where they are NULL."""
    asked = {column for part in parts if not _is_not_null(part) for column in _not_null(part)}
    return [part for part in parts if not (_is_not_null(part) and _not_null(part) <= asked)]


def _is_not_null(part: Predicate) -> bool:
    return isinstance(part, Not) and isinstance(part.predicate, IsNull)


def _not_null(part: Predicate) -> set[Name]:
    """Find columns that are not NULL where a part in normal form is true."""
    if isinstance(part, And):
        return set().union(*map(_not_null, part.predicates))
    if isinstance(part, Or):
        return set.intersection(*map(_not_null, part.predicates))
    if isinstance(part, Not):
        # isnan(NULL) is false.
        return set() if isinstance(part.predicate, IsNan) else {part.predicate.column}  # type: ignore[union-attr]
    return {part.column} if isinstance(part, Comparison | In | StartsWith | IsNan) else set()


def _place(part: Predicate) -> tuple[Name, int, str]:
    """Sort by column, then lower bounds before upper ones."""
    inner = part.predicate if isinstance(part, Not) else part
    if isinstance(inner, And | Or):
        return (*_place(inner.predicates[0])[:1], 9, predicate_text(part))
    rank = _RANKS.get(inner.operator, 4) if isinstance(inner, Comparison) else 3
    return (getattr(inner, "column", ()), rank, predicate_text(part))
