"""Predicates evaluated part by part."""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from iceberg_zorder.rewrite import predicate as p

COMPARE = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def truth(predicate: p.Predicate, row: Mapping[str, Any]) -> bool:
    """Evaluate a predicate for a row, whose values stand under the first part of their columns' names."""
    if isinstance(predicate, p.And):
        return all(truth(each, row) for each in predicate.predicates)
    if isinstance(predicate, p.Or):
        return any(truth(each, row) for each in predicate.predicates)
    content, values = row[predicate.column[0]], [each.content for each in predicate.values]
    name, is_opposite = predicate.operator, False
    if name not in KNOWN:
        name, is_opposite = p.OPPOSITES[name], True
    found = KNOWN[name](content, *values)
    return found is not None and found != is_opposite


def _compared(how: str) -> Callable[..., bool | None]:
    return lambda one, other: None if one is None or other is None else bool(COMPARE[how](_order(one), _order(other)))


def _is_in(content: Any, *values: Any) -> bool | None:
    found = [KNOWN["="](content, each) for each in values]
    return True if True in found else None if None in found else False


KNOWN: dict[str, Callable[..., bool | None]] = {
    **{how: _compared(how) for how in COMPARE},
    "IN": _is_in,
    "<=>": lambda content, value: content is not None and bool(_order(content) == _order(value)),
    "LIKE": lambda content, prefix: None if content is None else bool(content.startswith(prefix)),
    "IS NULL": lambda content: content is None,
    "isnan": lambda content: content is not None and math.isnan(content),
}


def _order(content: Any) -> Any:
    """By what Spark compares a value: NaN equals itself, and lies above all; text is compared as bytes."""
    if isinstance(content, float):
        return (1, 0.0) if math.isnan(content) else (0, content)
    return content.encode() if isinstance(content, str) else content
