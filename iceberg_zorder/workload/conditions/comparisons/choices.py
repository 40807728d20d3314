"""Comparisons of what COALESCE chooses with a value."""

from __future__ import annotations

from sqlglot import exp

from iceberg_zorder.request.predicate import IsNull
from iceberg_zorder.workload.conditions.comparisons.comparing import Comparing
from iceberg_zorder.workload.conditions.nodes import has_columns, shown
from iceberg_zorder.workload.conditions.understood import Understood, any_understood, lost
from iceberg_zorder.workload.conditions.values.arithmetic import Operand, compared
from iceberg_zorder.workload.conditions.values.moments import Interval


def coalesced(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare the first of several that is not NULL."""
    found: list[Understood] = []
    for place, each in enumerate([node.this, *node.expressions]):
        if has_columns(each):
            found.append(c.compare(each, operator, value))
            continue
        default = c.constants.value(each)
        if default.content is None:
            continue
        if isinstance(value, Interval):
            return c.refused(node)
        if compared(default, operator, value):
            first = c.columns.find(node.this)
            is_null = Understood(IsNull(first.name)) if first is not None and place == 1 else None
            found.append(is_null or lost(f"{shown(node)} may be its default, which is met"))
        break
    return any_understood(found)
