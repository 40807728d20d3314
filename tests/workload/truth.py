"""Conditions evaluated in SQL's three values, part by part."""

import math
import operator
from collections.abc import Mapping
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


def truth(predicate: p.Predicate, row: Mapping[str, Any]) -> bool | None:
    """Evaluate a condition for a row, whose values stand under the first part of their columns' names."""
    if isinstance(predicate, p.Constant):
        return predicate.value
    if isinstance(predicate, p.Not):
        found = truth(predicate.predicate, row)
        return None if found is None else not found
    if isinstance(predicate, p.And | p.Or):
        parts = [truth(each, row) for each in predicate.predicates]
        decisive = isinstance(predicate, p.Or)
        return decisive if decisive in parts else None if None in parts else not decisive
    content = row[predicate.column[0]]
    if isinstance(predicate, p.IsNull):
        return content is None
    if isinstance(predicate, p.IsNan):
        return content is not None and math.isnan(content)
    if isinstance(predicate, p.StartsWith):
        return None if content is None else bool(content.startswith(predicate.prefix))
    if isinstance(predicate, p.In):
        found_ones = [_compared(content, "=", each.content) for each in predicate.values]
        return True if True in found_ones else None if None in found_ones else False
    assert isinstance(predicate, p.Comparison)
    if predicate.operator == "<=>":
        return bool(_order(content) == _order(predicate.value.content))
    return _compared(content, predicate.operator, predicate.value.content)


def _compared(one: Any, how: str, other: Any) -> bool | None:
    return None if one is None or other is None else bool(COMPARE[how](_order(one), _order(other)))


def _order(content: Any) -> Any:
    """By what Spark compares a value: NaN equals itself, and lies above all; text is compared as bytes."""
    if isinstance(content, float):
        return (1, 0.0) if math.isnan(content) else (0, content)
    return content.encode() if isinstance(content, str) else content
