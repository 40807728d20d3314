"""Comparisons of an expression over a column with a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.predicate import IsNull, Not
from iceberg_zorder.request.predicate_values import Value
from iceberg_zorder.workload.conditions.columns import Columns, refused
from iceberg_zorder.workload.conditions.comparisons import calendar, casts, choices
from iceberg_zorder.workload.conditions.comparisons.comparing import Comparing, Conditional
from iceberg_zorder.workload.conditions.nodes import has_columns
from iceberg_zorder.workload.conditions.understood import Understood, all_understood, lost
from iceberg_zorder.workload.conditions.values.arithmetic import Operand
from iceberg_zorder.workload.conditions.values.constants import Constants
from iceberg_zorder.workload.normal_form import FALSE

_STRICT = (
    *(
        exp.Paren,
        exp.Cast,
        exp.Date,
        exp.TsOrDsToDate,
        exp.DateTrunc,
        exp.TimestampTrunc,
        exp.Year,
        exp.Extract,
        exp.UnixToTime,
    ),
    *(exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Upper, exp.Lower, exp.Substring),
)
"""Functions that are NULL where one of their arguments is."""


class Comparisons:
    """Understands comparisons.

    Parameters
    ----------
    columns : Columns
        Which columns are the table's.
    constants : Constants
        The values of what has no columns.
    conditions : Conditional
        Understands conditions that are compared with TRUE or FALSE.
    """

    def __init__(self, columns: Columns, constants: Constants, conditions: Conditional) -> None:
        self.columns = columns
        self.constants = constants
        self.conditions = conditions

    def compare(self, node: exp.Expr, operator: str, value: Operand) -> Understood:
        """Understand a comparison."""
        if isinstance(value, Value) and value.content is None:
            return Understood(FALSE)
        try:
            compare = _COMPARERS.get(node.key)
            if compare is not None:
                return compare(self, node, operator, value)
        except (InvalidInputError, ValueError) as error:
            return lost(str(error))
        truth = value.content if isinstance(value, Value) else None
        if isinstance(truth, bool) and operator in ("=", "<>") and self.conditions.understands(node):
            return self.conditions.true_of(node, negated=truth != (operator == "="))
        return self.refused(node)

    def not_null(self, node: exp.Expr) -> Understood:
        """Understand that an expression is not NULL."""
        found = self.columns.find(node)
        if found is not None:
            return Understood(Not(IsNull(found.name)))
        if isinstance(node, _STRICT):
            return all_understood(self.not_null(each) for each in node.iter_expressions() if has_columns(each))
        return self.refused(node)

    def refused(self, node: exp.Expr) -> Understood:
        """Say why nothing is understood of an expression."""
        return refused(node, self.columns)


_COMPARERS: dict[str, Callable[[Comparing, Any, str, Operand], Understood]] = {
    **dict.fromkeys(("cast", "trycast"), casts.cast),
    **dict.fromkeys(("date", "tsordstodate"), calendar.date_of),
    **dict.fromkeys(("timestamp", "datetime", "timestrtotime", "tsordstotimestamp"), calendar.same_moment),
    **dict.fromkeys(("datetrunc", "timestamptrunc", "datetimetrunc"), calendar.truncated),
    **dict.fromkeys(("year", "extract"), calendar.part),
    **dict.fromkeys(("datediff", "tsordsdiff"), calendar.difference),
    **dict.fromkeys(("substring", "left"), casts.beginning),
    "attimezone": calendar.at_zone,
    "coalesce": choices.coalesced,
    "column": casts.column,
    "dot": casts.column,
    "nullif": casts.inner,
    "paren": casts.inner,
    "timetostr": calendar.formatted,
}
