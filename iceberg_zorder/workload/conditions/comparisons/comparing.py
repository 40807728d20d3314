"""What the ways to compare need of each other."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from iceberg_zorder.workload.conditions.columns import Columns
from iceberg_zorder.workload.conditions.understood import Understood
from iceberg_zorder.workload.conditions.values.arithmetic import Operand
from iceberg_zorder.workload.conditions.values.constants import Constants

EXCHANGED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Operators that mean the same with their sides exchanged."""


class Conditional(Protocol):
    """What a condition that is compared with TRUE or FALSE needs."""

    def understands(self, node: exp.Expr) -> bool:
        """Tell whether an expression is a condition that ``true_of`` knows itself."""

    def true_of(self, node: exp.Expr, *, negated: bool = False) -> Understood:
        """Understand a condition, or its opposite."""


class Comparing(Protocol):
    """What each way to compare needs.

    Parameters
    ----------
    columns : Columns
        Which columns are the table's.
    constants : Constants
        The values of what has no columns.
    conditions : Conditional
        Understands conditions that are compared with TRUE or FALSE.
    """

    columns: Columns
    constants: Constants
    conditions: Conditional

    def compare(self, node: exp.Expr, operator: str, value: Operand) -> Understood:
        """Understand the comparison of an expression with a value."""

    def not_null(self, node: exp.Expr) -> Understood:
        """Understand that an expression is not NULL."""

    def refused(self, node: exp.Expr) -> Understood:
        """Say why nothing is understood of an expression."""
