"""SQL conditions of any dialect as predicates that are true whenever the condition is."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timezone
from decimal import Decimal
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.simplify import UnsupportedUnit

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import (
    EXCHANGED,
    FALSE,
    NULL,
    OPPOSITES,
    TRUE,
    Comparison,
    Name,
    Predicate,
    Value,
    cast,
    in_utc,
)
from iceberg_zorder.workload.constants import (
    DATES,
    TIMESTAMPS,
    TRUNCATIONS,
    UnknownValueError,
    as_moment,
    floored,
    following,
    format_of,
    number_value,
    unit_of,
    value_of,
)
from iceberg_zorder.workload.filtered_columns import Kinds, filtered_columns, narrowest, widest
from iceberg_zorder.workload.nodes import columns_in, has_columns, path_of, shown
from iceberg_zorder.workload.normal_form import all_of, any_of
from iceberg_zorder.workload.predicate_text import column_text
from iceberg_zorder.workload.scanned_table import ScannedTable

Type = exp.DataType.Type
Column = tuple[Name, str]
"""Name and Iceberg type of a column."""
_OPERATORS = {"eq": "=", "neq": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_UNKNOWN_KINDS = {"=": "=", "<>": "other", "prefix": "prefix"}
_UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
_FORMATS = {"%Y%m%d": "day", "%Y-%m-%d": "day", "%Y%m": "month", "%Y-%m": "month", "%Y": "year"}
_FORMATS |= {"%Y-%m-%d %H": "hour", "%Y-%m-%d %H:%M": "minute", "%Y-%m-%d %H:%M:%S": "second"}
_TEXTS = (Type.TEXT, Type.VARCHAR, Type.NVARCHAR)
_WIDER = {
    "boolean": (Type.BOOLEAN,),
    "int": (Type.INT, Type.BIGINT, Type.DECIMAL, Type.DOUBLE),
    "long": (Type.BIGINT,),
    "float": (Type.FLOAT,),
    "double": (Type.DOUBLE,),
}
"""For each type, the types that can represent all of its values."""
_TIMESTAMP_TYPES = exp.DataType.TEMPORAL_TYPES - {Type.DATE, Type.DATE32, Type.TIME, Type.TIMETZ}
_COARSE = (Type.TIMESTAMP_S, Type.TIMESTAMP_MS, Type.SMALLDATETIME)


@dataclass(frozen=True)
class Understood:
    """The understood part of a condition."""

    predicate: Predicate  # normal form; true for every row for which the condition is true
    # Reasons why the predicate may be true for more rows, in the form that follows "because".
    lost: tuple[str, ...] = ()
    # Columns compared with unknown values, each with one of a workload's ``KINDS``.
    unknown: Kinds = field(default_factory=dict)


@dataclass(frozen=True)
class _Scalar:
    """A column, or an order-preserving expression of it."""

    name: Name
    kind: str
    unit: str | None = None
    form: str | None = None
    default: Value | None = None


class _NotUnderstoodError(InvalidInputError):
    """A condition that is not understood at all; the message follows "because"."""


def all_understood(parts: Iterable[Understood]) -> Understood:
    """Join conditions by AND.

    Examples
    --------
    >>> all_understood([_lost("it is odd"), Understood(Comparison(("a",), "IS NULL"))])
    Understood(predicate=Comparison(column=('a',), operator='IS NULL', values=()), lost=('it is odd',), unknown={})
    """
    parts = list(parts)
    return Understood(
        all_of(each.predicate for each in parts), _reasons(parts), narrowest(each.unknown for each in parts)
    )


def _any_understood(parts: Iterable[Understood]) -> Understood:
    """Join conditions by OR; if an alternative is not understood, the whole condition is not."""
    parts = list(parts)
    predicate = any_of(each.predicate for each in parts)
    reasons = _reasons(parts)
    if not any(each.unknown for each in parts) or reasons:
        return Understood(predicate, reasons)
    kinds = widest(narrowest([each.unknown, filtered_columns(each.predicate)]) for each in parts)
    if not kinds:
        return Understood(predicate, ("it compares different columns with unknown values",))
    return Understood(predicate, (), kinds)


def _reasons(parts: Iterable[Understood]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason for each in parts for reason in each.lost))


def _lost(reason: str) -> Understood:
    return Understood(TRUE, (reason,))


class Conditions:
    """Converts conditions on a table, which they call ``source``, to predicates.

    ``now`` is the time of the queries, with a time zone.
    """

    def __init__(self, table: ScannedTable, source: str, now: datetime) -> None:
        self._table = table
        self._source = source
        self._now = now
        self._kinds: dict[str, Callable[[Any, bool], Understood]] = {
            **dict.fromkeys(("nullsafeeq", "nullsafeneq"), self._null_safe),
            **dict.fromkeys(("like", "escape", "startswith"), self._like),
            "between": self._between,
            "in": self._in,
            "is": self._is,
            "isnan": self._nan,
        }

    def true_of(self, node: exp.Expr, *, negated: bool = False) -> Understood:
        """Return the predicate for a condition being true, or false if ``negated``."""
        if isinstance(node, exp.Paren):
            return self.true_of(node.this, negated=negated)
        if isinstance(node, exp.Not):
            return self.true_of(node.this, negated=not negated)
        if isinstance(node, exp.And | exp.Or):
            parts = (self.true_of(each, negated=negated) for each in node.flatten())
            return all_understood(parts) if isinstance(node, exp.And) != negated else _any_understood(parts)
        try:
            return self._leaf(node, negated)
        except (InvalidInputError, UnsupportedUnit, ValueError, OverflowError) as error:
            return _lost(str(error))

    def _leaf(self, node: exp.Expr, negated: bool) -> Understood:
        if node.key in _OPERATORS:
            operator = _OPERATORS[node.key]
            return self._comparison(node, node.this, OPPOSITES[operator] if negated else operator, node.expression)
        if not has_columns(node):
            content = value_of(node, self._now).content
            if content is not None and not isinstance(content, bool):
                raise self._refused(node)
            return Understood(TRUE if content is (not negated) else FALSE)
        understand = self._kinds.get(node.key)
        if understand is not None:
            return understand(node, negated)
        if isinstance(node, exp.Anonymous) and node.name.lower() in ("isnull", "isnotnull"):
            return self._is_null(node.expressions[0], wanted=(node.name.lower() == "isnull") != negated)
        return self._compared(self._scalar(node), "=", Value("boolean", not negated))

    def _in(self, node: exp.In, negated: bool) -> Understood:
        if not node.expressions or node.find(exp.Query):
            raise self._refused(node)
        return self._one_of(node, node.this, node.expressions, negated)

    def _nan(self, node: exp.IsNan, negated: bool) -> Understood:
        of = self._scalar(node.this)
        if of.default is not None:
            raise self._refused(node)
        return _tested(of.name, "isnan", negated=negated)

    def _comparison(self, whole: exp.Expr, left: exp.Expr, operator: str, right: exp.Expr) -> Understood:
        left, right = left.unnest(), right.unnest()
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple) and operator == "=":
            # Dialects order rows with NULL differently.
            pairs = zip(left.expressions, right.expressions, strict=True)
            return all_understood([self._comparison(whole, one, "=", other) for one, other in pairs])
        if isinstance(right, exp.Any) and isinstance(right.this.unnest(), exp.Array) and operator == "=":
            return self._one_of(whole, left, right.this.unnest().expressions, negated=False)
        if not has_columns(left):
            left, operator, right = right, EXCHANGED[operator], left
        if isinstance(left, exp.DateDiff) and has_columns(left) and unit_of(left) == "day":
            return self._days_between(whole, left, operator, right)
        if has_columns(right):
            refusal = self._refused(whole)
            is_own = str(refusal).endswith("neither a column nor a value")
            raise _NotUnderstoodError(f"{shown(whole)} compares two columns") if is_own else refusal
        if not has_columns(left):
            is_met = _is_met(value_of(left, self._now), operator, value_of(right, self._now))
            return Understood(TRUE if is_met else FALSE)
        try:
            value = value_of(right, self._now)
        except UnknownValueError:
            return self._unknown(self._scalar(left), operator)
        return self._compared(self._scalar(left), operator, value)

    def _days_between(self, whole: exp.Expr, node: exp.DateDiff, operator: str, days: exp.Expr) -> Understood:
        """Compare the days between two dates; of timestamps, some dialects count whole days instead of midnights."""
        end, start = node.this, node.expression
        of, given, sum_of = (start, end, exp.Sub) if has_columns(start) else (end, start, exp.Add)
        scalar = self._scalar(of)
        if has_columns(given) or not (node.args.get("date_part_boundary") or scalar.unit or scalar.kind == "date"):
            raise self._refused(whole)
        other = sum_of(this=exp.cast(given.copy(), "date"), expression=days.copy())
        return self._comparison(
            whole, exp.cast(of.copy(), "date"), EXCHANGED[operator] if of is start else operator, other
        )

    def _one_of(self, whole: exp.Expr, node: exp.Expr, values: Iterable[exp.Expr], negated: bool) -> Understood:
        parts = [self._comparison(whole, node, "<>" if negated else "=", value) for value in values]
        found = all_understood(parts) if negated else _any_understood(parts)
        return replace(found, unknown=dict.fromkeys(found.unknown, "other" if negated else "in"))

    def _between(self, node: exp.Between, negated: bool) -> Understood:
        if node.args.get("symmetric"):
            raise self._refused(node)
        parts = [
            self._comparison(node, node.this, "<" if negated else ">=", node.args["low"]),
            self._comparison(node, node.this, ">" if negated else "<=", node.args["high"]),
        ]
        return _any_understood(parts) if negated else all_understood(parts)

    def _null_safe(self, node: exp.Expr, negated: bool) -> Understood:
        left, right = (node.this, node.expression) if has_columns(node.this) else (node.expression, node.this)
        is_equal = isinstance(node, exp.NullSafeEQ) != negated
        if not has_columns(right) and value_of(right, self._now).content is None:
            return self._is_null(left, wanted=is_equal)
        found = self._comparison(node, left, "=" if is_equal else "<>", right)
        return found if is_equal else _any_understood([found, self._is_null(left, wanted=True)])

    def _is(self, node: exp.Is, negated: bool) -> Understood:
        if isinstance(node.expression, exp.Null):
            return self._is_null(node.this, wanted=not negated)
        if not isinstance(node.expression, exp.Boolean) or negated:
            raise self._refused(node)
        return self.true_of(node.this, negated=not node.expression.this)

    def _is_null(self, node: exp.Expr, *, wanted: bool) -> Understood:
        found = self._scalar(node)
        if found.default is not None:
            raise self._refused(node)
        return _tested(found.name, "IS NULL", negated=not wanted)

    def _like(self, node: exp.Expr, negated: bool) -> Understood:
        escape = str(value_of(node.expression, self._now).content) if isinstance(node, exp.Escape) else None
        node = node.this if isinstance(node, exp.Escape) else node
        scalar = self._scalar(node.this)
        if not isinstance(node, exp.Like | exp.StartsWith) or scalar != _Scalar(scalar.name, "string"):
            raise self._refused(node)
        negated = negated != bool(node.args.get("negate"))
        try:
            pattern = value_of(node.expression, self._now).content
        except UnknownValueError:
            if has_columns(node.expression):
                raise self._refused(node.expression) from None
            return self._unknown(scalar, "<>" if negated else "prefix")
        if not isinstance(pattern, str):
            return Understood(FALSE)
        if isinstance(node, exp.StartsWith):
            return _prefixed(scalar.name, pattern, negated)
        text, rest = _literal_beginning(pattern, escape)
        if rest.strip("%"):
            reason = f"LIKE '{pattern}' matches more than a prefix"
            return (
                _lost(reason) if negated or not text else replace(_prefixed(scalar.name, text, False), lost=(reason,))
            )
        if rest:
            return _prefixed(scalar.name, text, negated)
        return _tested(scalar.name, "=", Value("string", text), negated=negated)

    def _scalar(self, node: exp.Expr) -> _Scalar:
        """Return the column of an expression, and the expression's kind."""
        node = node.unnest()
        column = self._find(node)
        if column is not None:
            return _Scalar(*column)
        if isinstance(node, exp.Column | exp.Dot) or not has_columns(node):
            raise self._refused(node)
        if isinstance(node, exp.Coalesce) and len(node.expressions) == 1 and not has_columns(node.expressions[0]):
            inner = self._scalar(node.this)
            default = value_of(node.expressions[0], self._now)
            return inner if inner.default not in (None, NULL) else replace(inner, default=default)
        of = node.expression if isinstance(node, exp.Extract) else node.this
        if not isinstance(node, _UNDERSTOOD) or not isinstance(of, exp.Expr) or not has_columns(of):
            raise self._refused(node)
        scalar = self._scalar(of)
        # A precision, such as decimal(2, 0) or timestamp(0), may round or truncate values, or make them NULL.
        is_narrowing = isinstance(node, exp.Cast) and (node.to.expressions or node.to.this in _COARSE)
        has_zone = node.args.get("zone") or (isinstance(node, exp.Datetime) and node.expression)
        if scalar.default is not None or is_narrowing or has_zone:
            raise self._refused(node)
        if isinstance(node, exp.Cast) and not scalar.kind.startswith(("date", "timestamp")):
            is_text = scalar.kind == "string" and node.to.this in _TEXTS
            if not is_text and node.to.this not in _WIDER.get(scalar.kind.partition("(")[0], ()):
                raise _NotUnderstoodError(f"{shown(node)} does not keep the order of {scalar.kind}")
            return scalar
        return self._of_moment(node, scalar)

    def _of_moment(self, node: exp.Expr, scalar: _Scalar) -> _Scalar:
        if not scalar.kind.startswith(("date", "timestamp")) or scalar.form is not None:
            raise self._refused(node)
        if isinstance(node, TIMESTAMPS) or (isinstance(node, exp.Cast) and node.is_type(*_TIMESTAMP_TYPES)):
            return scalar
        unit, form = "day", None
        if isinstance(node, exp.Year | exp.Extract | exp.TimeToStr):
            form = format_of(node) if isinstance(node, exp.TimeToStr) else "%Y"
            unit = _FORMATS.get(form, "") if not isinstance(node, exp.Extract) or node.name.lower() == "year" else ""
        elif isinstance(node, exp.Cast) and not node.is_type(Type.DATE):
            raise _NotUnderstoodError(f"{shown(node)} is compared as text")
        elif isinstance(node, TRUNCATIONS):
            unit = unit_of(node)
        if unit not in _UNITS or isinstance(node.args.get("unit"), exp.WeekStart):
            raise self._refused(node)
        coarser = max(unit, scalar.unit or unit, key=_UNITS.index)
        if coarser != "week" and "week" in (unit, scalar.unit):
            raise _NotUnderstoodError(f"{shown(node)} mixes weeks with months or years")
        return replace(
            scalar, unit=None if (coarser, scalar.kind, form) == ("day", "date", None) else coarser, form=form
        )

    def _unknown(self, scalar: _Scalar, operator: str) -> Understood:
        """Return the result for a comparison with an unknown value, such as a parameter."""
        kind = _UNKNOWN_KINDS.get(operator, "range")
        return Understood(TRUE, (), {scalar.name: "range" if scalar.unit and kind == "=" else kind})

    def _compared(self, scalar: _Scalar, operator: str, value: Value) -> Understood:
        if value.content is None:
            return Understood(FALSE)
        if scalar.default is not None:
            found = self._compared(replace(scalar, default=None), operator, value)
            is_met = _is_met(scalar.default, operator, value)
            return _any_understood([found, _tested(scalar.name, "IS NULL")]) if is_met else found
        if scalar.unit is not None:
            return self._floored(scalar, operator, value)
        return Understood(typed_comparison(scalar.name, scalar.kind, operator, value))

    def _floored(self, scalar: _Scalar, operator: str, value: Value) -> Understood:
        """Compare a value that is rounded down to a unit of time."""
        if scalar.form is None:
            asked = in_utc(as_moment(value, "timestamp_ntz").content)
            if isinstance(value.content, str) and _UNITS.index(scalar.unit or "day") > 2 and asked.time() != time():
                raise _NotUnderstoodError(f"{value} is no date")
        else:
            text = f"{value.content:04}" if isinstance(value.content, int) else str(value.content)
            asked = datetime.strptime(text, scalar.form)
            if asked.strftime(scalar.form) != text:
                raise _NotUnderstoodError(f"{value} is not written like '{scalar.form}'")
        unit = scalar.unit or "day"
        start = in_utc(floored(asked, unit))
        end = following(start, unit)

        def bound(operator: str, at: datetime) -> Understood:
            return Understood(typed_comparison(scalar.name, scalar.kind, operator, Value("timestamp_ntz", at)))

        if operator == "=":
            return all_understood([bound(">=", start), bound("<", end)]) if asked == start else Understood(FALSE)
        if operator == "<>":
            is_any = _tested(scalar.name, "IS NOT NULL")
            return _any_understood([bound("<", start), bound(">=", end)]) if asked == start else is_any
        if operator in ("<", ">="):
            return bound(operator, start if asked == start else end)
        return bound("<" if operator == "<=" else ">=", end)

    def _find(self, node: exp.Expr) -> Column | None:
        """Return the table's column that a node is."""
        path = path_of(node)
        return self._table.column(path[1:]) if path is not None and path[0] == self._source else None

    def _refused(self, node: exp.Expr) -> _NotUnderstoodError:
        """Return why an expression is not understood."""
        for column in columns_in(node):
            whole: exp.Expr = column
            while isinstance(whole.parent, exp.Dot):
                whole = whole.parent
            if self._find(column) is None and self._find(whole) is None:
                if column.table not in (self._source, ""):
                    return _NotUnderstoodError("it asks for a column of another table")
                name = column_text((column.name,))
                return _NotUnderstoodError(f"there is no column {name} in {'.'.join(self._table.identifier)}")
        if node.find(exp.Query):
            return _NotUnderstoodError("it has a subquery")
        return _NotUnderstoodError(f"{shown(node)} is neither a column nor a value")


_UNDERSTOOD = (exp.Cast, *DATES, *TIMESTAMPS, *TRUNCATIONS, exp.Year, exp.Extract, exp.TimeToStr)


def typed_comparison(column: Name, kind: str, operator: str, value: Value) -> Predicate:
    """Return the comparison of a column with a value, converted to the column's type if that is equivalent.

    Examples
    --------
    >>> typed_comparison(("a",), "int", "<", Value("string", "5"))
    Comparison(column=('a',), operator='<', values=(Value(type='integer', content=5),))
    >>> typed_comparison(("day",), "date", ">", Value("timestamp_ntz", datetime(2024, 1, 31, 10)))
    Comparison(column=('day',), operator='>', values=(Value(type='date', content=datetime.date(2024, 1, 31)),))
    """
    content = value.content
    base = kind.partition("(")[0].partition("[")[0]
    is_equality = operator in ("=", "<>")
    if content is None:
        return FALSE
    if base in ("int", "long", "decimal", "float", "double"):
        return _numeric(column, base, operator, value)
    if base == "date":
        return _day(column, operator, value)
    if base in ("timestamp", "timestamptz"):
        if base == "timestamp" and isinstance(content, str):
            value = cast(value, "timestamp_ntz")
        moment = in_utc(as_moment(value, "timestamp_ntz").content)
        zoned = Value("timestamp", moment.replace(tzinfo=timezone.utc))
        return Comparison(column, operator, (zoned if base == "timestamptz" else Value("timestamp_ntz", moment),))
    if base == "boolean" and str(content).lower() in ("true", "false") and is_equality:
        return Comparison(column, operator, (Value("boolean", str(content).lower() == "true"),))
    if base == "uuid" and isinstance(content, str) and is_equality:
        return Comparison(column, operator, (Value("string", str(uuid.UUID(content))),))
    is_time = base == "time" and re.fullmatch(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?", str(content))
    if (isinstance(content, str) and (base == "string" or is_time)) or (
        isinstance(content, bytes) and base in ("binary", "fixed")
    ):
        return Comparison(column, operator, (value,))
    raise _not_compared(column, kind, value)


def _numeric(column: Name, kind: str, operator: str, value: Value) -> Predicate:
    if isinstance(value.content, str):
        to = {"float": "double", "double": "double", "decimal": "decimal"}.get(kind, "bigint")
        value = cast(value, to, precision=76, scale=38)
    content = value.content
    if isinstance(content, bool) or not isinstance(content, int | float | Decimal):
        raise _not_compared(column, kind, value)
    if kind == "long" and isinstance(content, float) and abs(content) >= 2**53:
        # Several long values convert to this double.
        raise _not_compared(column, kind, value)
    if isinstance(content, int) or Decimal(content).is_finite():
        # Converted like a decimal literal, because the other side of the comparison becomes a double.
        number = number_value(Decimal(repr(content) if isinstance(content, float) else content))
        return Comparison(column, operator, (number,))
    if kind not in ("float", "double") or (content != content and operator != "="):
        raise _not_compared(column, kind, value)
    return Comparison(column, "isnan") if content != content else Comparison(column, operator, (value,))


def _day(column: Name, operator: str, value: Value) -> Predicate:
    """Compare a date with a date or a moment."""
    day = as_moment(value)
    if not isinstance(day.content, datetime):
        return Comparison(column, operator, (day,))
    if isinstance(value.content, str):
        # Dialects differ in whether the time of day counts.
        raise _not_compared(column, "date", value)
    moment = in_utc(day.content)
    if moment != datetime.combine(moment, datetime.min.time()):
        if operator in ("=", "<>"):
            return FALSE if operator == "=" else Comparison(column, "IS NOT NULL")
        operator = "<=" if operator in ("<", "<=") else ">"
    return Comparison(column, operator, (Value("date", moment.date()),))


def _not_compared(column: Name, kind: str, value: Value) -> InvalidInputError:
    short = kind if len(kind) <= 40 else f"{kind[:37]}..."
    return InvalidInputError(f"column {column_text(column)} of type {short} cannot be compared with {value}")


def _is_met(left: Value, operator: str, right: Value) -> bool:
    """Return whether a comparison of two values is true; False if one is NULL."""
    one: Any = left.content
    other: Any = right.content
    if one is None or other is None:
        return False
    if (isinstance(one, date) or isinstance(other, date)) and left.type != right.type:
        one, other = (in_utc(as_moment(each, "timestamp_ntz").content) for each in (left, right))
    if isinstance(one, str) != isinstance(other, str):
        raise UnknownValueError(f"{left} cannot be compared with {right}")
    return bool(_COMPARED[operator](one, other))


_COMPARED = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def _prefixed(column: Name, prefix: str, negated: bool) -> Understood:
    """Return the test for a prefix; every non-NULL text has the empty prefix."""
    if not prefix:
        return Understood(FALSE) if negated else _tested(column, "IS NOT NULL")
    return _tested(column, "LIKE", Value("string", prefix), negated=negated)


def _tested(column: Name, operator: str, *values: Value, negated: bool = False) -> Understood:
    return Understood(Comparison(column, OPPOSITES[operator] if negated else operator, values))


def _literal_beginning(pattern: str, escape: str | None) -> tuple[str, str]:
    """Split a LIKE pattern after its literal prefix."""
    text, place = "", 0
    while place < len(pattern):
        character = pattern[place]
        if escape and character == escape and place + 1 < len(pattern):
            place += 1
        elif character in "%_" or (character == "\\" and not escape):
            break
        text += pattern[place]
        place += 1
    return text, pattern[place:]
