"""Conditions of SQL, as predicates that are true wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlglot import exp

from iceberg_zorder.request.predicate import Constant, IsNan, IsNull, Not
from iceberg_zorder.request.predicate_values import Value
from iceberg_zorder.workload.conditions.columns import Columns, refused
from iceberg_zorder.workload.conditions.comparisons.comparing import EXCHANGED
from iceberg_zorder.workload.conditions.comparisons.comparison import Comparisons
from iceberg_zorder.workload.conditions.nodes import has_columns, shown
from iceberg_zorder.workload.conditions.patterns import like, starts_with
from iceberg_zorder.workload.conditions.understood import (
    Understood,
    all_understood,
    any_understood,
    lost,
)
from iceberg_zorder.workload.conditions.unknown_values import unknown_comparison
from iceberg_zorder.workload.conditions.values.arithmetic import Operand, UnknownValueError, compared
from iceberg_zorder.workload.conditions.values.constants import Constants
from iceberg_zorder.workload.normal_form import FALSE, OPPOSITES, normal_form

_OPERATORS: dict[str, str] = {"eq": "=", "neq": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


class Conditions:
    """Understands conditions.

    Parameters
    ----------
    columns : Columns
        Which columns are the table's.
    constants : Constants
        The values of what has no columns.
    """

    def __init__(self, columns: Columns, constants: Constants) -> None:
        self._columns = columns
        self._constants = constants
        self._comparisons = Comparisons(columns, constants, self)
        self._kinds: dict[str, Callable[[Any, bool], Understood]] = {
            "anonymous": self._null_test,
            "arraycontains": self._array_contains,
            "between": self._between,
            "contains": self._array_contains,
            "escape": self._like,
            "in": self._in,
            "is": self._is,
            "isnan": self._nan,
            "like": self._like,
            "nullsafeeq": self._null_safe,
            "nullsafeneq": self._null_safe,
            "startswith": self._starts_with,
        }

    def understands(self, node: exp.Expr) -> bool:
        """Tell whether an expression is a condition that ``true_of`` knows itself."""
        return node.key in self._kinds or node.key in _OPERATORS or isinstance(node, exp.Connector | exp.Not)

    def true_of(self, node: exp.Expr, *, negated: bool = False) -> Understood:
        """Understand where a condition is true, or where it is false if ``negated``."""
        if isinstance(node, exp.Paren):
            return self.true_of(node.this, negated=negated)
        if isinstance(node, exp.Not):
            return self.true_of(node.this, negated=not negated)
        if isinstance(node, exp.And | exp.Or):
            parts = (self.true_of(each, negated=negated) for each in node.flatten())
            return all_understood(parts) if isinstance(node, exp.And) != negated else any_understood(parts)
        if node.key in _OPERATORS:
            operator = _OPERATORS[node.key]
            return self._comparison(node.this, OPPOSITES[operator] if negated else operator, node.expression, node)
        if not has_columns(node):
            return self._constant(node, negated)
        understand = self._kinds.get(node.key)
        try:
            if understand is not None:
                return understand(node, negated)
        except UnknownValueError as error:
            return lost(str(error))
        return self._comparisons.compare(node, "=", Value("boolean", not negated))

    def _constant(self, node: exp.Expr, negated: bool) -> Understood:
        try:
            content = self._constants.value(node).content
        except UnknownValueError as error:
            return lost(str(error))
        if content is not None and not isinstance(content, bool):
            return refused(node, self._columns)
        return Understood(Constant(content is (not negated)))

    def _comparison(self, left: exp.Expr, operator: str, right: exp.Expr, whole: exp.Expr) -> Understood:
        left, right = left.unnest(), right.unnest()
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
            return self._tuples(left.expressions, operator, right.expressions, whole)
        if isinstance(right, exp.Any | exp.All):
            return self._any(left, operator, right)
        if not has_columns(left):
            left, operator, right = right, EXCHANGED[operator], left
        if has_columns(right):
            return self._of_two(whole)
        try:
            value = self._constants.operand(right)
        except UnknownValueError as error:
            return unknown_comparison(self._columns, left, operator, str(error))
        if has_columns(left):
            return self._comparisons.compare(left, operator, value)
        return self._of_values(left, operator, value)

    def _of_values(self, left: exp.Expr, operator: str, value: Operand) -> Understood:
        try:
            other = self._constants.value(left)
            is_met = compared(other, operator, value) if isinstance(value, Value) else None
        except UnknownValueError as error:
            return lost(str(error))
        return Understood(Constant(bool(is_met)))

    def _of_two(self, whole: exp.Expr) -> Understood:
        found = refused(whole, self._columns)
        return lost(f"{shown(whole)} compares two columns") if "neither a column nor" in found.lost[0] else found

    def _tuples(
        self, lefts: Sequence[exp.Expr], operator: str, rights: Sequence[exp.Expr], whole: exp.Expr
    ) -> Understood:
        """Compare place by place; dialects order rows that have NULL each in its own way."""
        if len(lefts) != len(rights) or not lefts or operator != "=":
            return refused(whole, self._columns)
        return all_understood(
            self._comparison(*pair, whole) for pair in ((a, "=", b) for a, b in zip(lefts, rights, strict=True))
        )

    def _any(self, left: exp.Expr, operator: str, right: exp.Expr) -> Understood:
        values = right.this.unnest()
        is_met = (operator, right.key) in (("=", "any"), ("<>", "all"))
        if not isinstance(values, exp.Array | exp.Tuple) or not is_met:
            return refused(right if has_columns(right) else left, self._columns)
        return self._one_of(left, values.expressions, negated=operator == "<>")

    def _one_of(self, node: exp.Expr, values: Iterable[exp.Expr], *, negated: bool) -> Understood:
        operator = "<>" if negated else "="
        parts = [
            self._comparison(node, operator, value, exp.EQ(this=node.copy(), expression=value.copy()))
            for value in values
        ]
        found = all_understood(parts) if negated else any_understood(parts)
        return Understood(found.predicate, found.lost, dict.fromkeys(found.unknown, "other" if negated else "in"))

    def _in(self, node: exp.In, negated: bool) -> Understood:
        unnest = node.args.get("unnest")
        if unnest is not None and len(unnest.expressions) == 1 and isinstance(unnest.expressions[0], exp.Array):
            return self._one_of(node.this, unnest.expressions[0].expressions, negated=negated)
        if (
            not node.expressions
            or node.args.get("query")
            or any(isinstance(each, exp.Query) for each in node.expressions)
        ):
            return lost("it asks a subquery") if has_columns(node) else refused(node, self._columns)
        return self._one_of(node.this, node.expressions, negated=negated)

    def _array_contains(self, node: exp.Expr, negated: bool) -> Understood:
        if not isinstance(node.this, exp.Array) or not has_columns(node.expression):
            return refused(node, self._columns)
        return self._one_of(node.expression, node.this.expressions, negated=negated)

    def _between(self, node: exp.Between, negated: bool) -> Understood:
        if node.args.get("symmetric"):
            return refused(node, self._columns)
        low, high = node.args["low"], node.args["high"]
        parts = [
            self._comparison(node.this, "<" if negated else ">=", low, node),
            self._comparison(node.this, ">" if negated else "<=", high, node),
        ]
        return any_understood(parts) if negated else all_understood(parts)

    def _null_safe(self, node: exp.Expr, negated: bool) -> Understood:
        left, right = (node.this, node.expression) if has_columns(node.this) else (node.expression, node.this)
        is_equal = isinstance(node, exp.NullSafeEQ) != negated
        if has_columns(right):
            return self._of_two(node)
        if self._constants.value(right).content is None:
            return self._is_null(left, wanted=is_equal)
        if is_equal:
            return self._comparison(left, "=", right, node)
        return any_understood([self._comparison(left, "<>", right, node), self._is_null(left, wanted=True)])

    def _is(self, node: exp.Is, negated: bool) -> Understood:
        what = node.expression
        if isinstance(what, exp.Null):
            return self._is_null(node.this, wanted=not negated)
        if not isinstance(what, exp.Boolean) or negated:
            return refused(node, self._columns)
        return self.true_of(node.this, negated=not what.this)

    def _is_null(self, node: exp.Expr, *, wanted: bool) -> Understood:
        node = node.unnest()
        if not wanted:
            return self._comparisons.not_null(node)
        found = self._columns.find(node)
        if found is not None:
            return Understood(IsNull(found.name))
        if isinstance(node, exp.Cast | exp.Date | exp.TimestampTrunc | exp.DateTrunc) and has_columns(node.this):
            inner = self._is_null(node.this, wanted=True)
            return inner if not isinstance(node, exp.TryCast) else lost(f"{shown(node)} may be NULL")
        return refused(node, self._columns)

    def _null_test(self, node: exp.Expr, negated: bool) -> Understood:
        name = node.name.lower()
        if name in ("isnull", "isnotnull") and len(node.expressions) == 1:
            return self._is_null(node.expressions[0], wanted=(name == "isnull") != negated)
        return refused(node, self._columns)

    def _nan(self, node: exp.Expr, negated: bool) -> Understood:
        found = self._columns.find(node.this)
        if found is None or found.kind not in ("float", "double"):
            return refused(node, self._columns)
        return Understood(Not(IsNan(found.name)) if negated else IsNan(found.name))

    def _like(self, node: exp.Expr, negated: bool) -> Understood:
        escape = None
        if isinstance(node, exp.Escape):
            escape = str(self._constants.value(node.expression).content)
            node = node.this
        if not isinstance(node, exp.Like):
            return refused(node, self._columns)
        negated = negated != bool(node.args.get("negate"))
        if has_columns(node.expression):
            return refused(node.expression, self._columns)
        try:
            pattern = self._constants.value(node.expression).content
        except UnknownValueError as error:
            return unknown_comparison(self._columns, node.this, "like" if not negated else "<>", str(error))
        if not isinstance(pattern, str):
            return refused(node, self._columns) if pattern is not None else Understood(FALSE)
        found = self._columns.find(node.this)
        if found is not None and found.kind == "string":
            result = like(found.name, pattern, escape, negated=negated)
            return Understood(normal_form(result.predicate), result.lost)
        return refused(node, self._columns)

    def _starts_with(self, node: exp.Expr, negated: bool) -> Understood:
        found = self._columns.find(node.this)
        if found is None or found.kind != "string" or has_columns(node.expression):
            return refused(node, self._columns)
        try:
            prefix = self._constants.value(node.expression).content
        except UnknownValueError as error:
            return unknown_comparison(self._columns, node.this, "like", str(error))
        if not isinstance(prefix, str):
            return Understood(FALSE)
        predicate = starts_with(found.name, prefix)
        return Understood(normal_form(Not(predicate) if negated else predicate))
