"""Comparisons of what COALESCE, CASE and IF choose with a value."""

from __future__ import annotations

from sqlglot import exp

from iceberg_zorder.request.predicate import IsNull
from iceberg_zorder.workload.conditions.comparisons.comparing import Comparing
from iceberg_zorder.workload.conditions.nodes import has_columns, shown
from iceberg_zorder.workload.conditions.understood import Understood, all_understood, any_understood, lost
from iceberg_zorder.workload.conditions.values.arithmetic import Operand, compared
from iceberg_zorder.workload.conditions.values.moments import Interval
from iceberg_zorder.workload.normal_form import FALSE, TRUE


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


def cases(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare what CASE or IF chooses."""
    if isinstance(node, exp.If):
        branches, default = [(node.this, node.args["true"])], node.args.get("false")
    else:
        subject = node.args.get("this")
        branches = [
            (
                each.this if subject is None else exp.EQ(this=subject.copy(), expression=each.this.copy()),
                each.args["true"],
            )
            for each in node.args["ifs"]
        ]
        default = node.args.get("default")
    found = [
        all_understood([chosen, c.conditions.true_of(condition)])
        for condition, result in branches
        if (chosen := _result(c, result, operator, value)).predicate != FALSE
    ]
    if default is not None and (chosen := _result(c, default, operator, value)).predicate != FALSE:
        found.append(all_understood([chosen, *(c.conditions.not_true_of(condition) for condition, _ in branches)]))
    return any_understood(found)


def _result(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    if has_columns(node):
        return c.compare(node, operator, value)
    if isinstance(value, Interval):
        return lost(f"{shown(node)} is compared with a length of time")
    is_met = compared(c.constants.value(node), operator, value)
    return Understood(TRUE if is_met else FALSE)
