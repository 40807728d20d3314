"""Convert ``where`` to PyIceberg's expressions for pruning, as Spark converts it to Iceberg's.

The expressions suit statistics, not rows: inside OR, ``a <> 1`` is true if ``a`` is NULL. Iceberg for Java does the
same, so both engines choose the same files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

from pyiceberg import expressions as ex
from pyiceberg import types
from pyiceberg.expressions import literals
from pyiceberg.expressions.literals import Literal, literal
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.bounds import found_fields
from iceberg_zorder.pyiceberg.compat import file_may_match
from iceberg_zorder.pyiceberg.files import display_name
from iceberg_zorder.rewrite.predicate import (
    OPPOSITES,
    And,
    Comparison,
    Name,
    Or,
    Predicate,
    Value,
    as_float,
    parse_predicate,
)
from iceberg_zorder.workload.boxes import bytes_of, units_of

_FEW_VALUES = 20
"""Most values of NOT IN that rule out files holding a single value; each value costs time per file."""
_NEVER_NULL = ("IS NULL", "IS NOT NULL", "isnan", "NOT isnan", "<=>")
_COMPARISONS: dict[str, type[ex.LiteralPredicate]] = {
    "=": ex.EqualTo,
    "<": ex.LessThan,
    "<=": ex.LessThanOrEqual,
    ">": ex.GreaterThan,
    ">=": ex.GreaterThanOrEqual,
}

_LITERALS: dict[type[types.IcebergType], Callable[[int], Literal[Any]]] = {
    types.BooleanType: lambda units: literal(units == 1),
    types.IntegerType: literals.LongLiteral,
    types.LongType: literals.LongLiteral,
    types.DateType: literals.DateLiteral,
    types.TimeType: literals.TimeLiteral,
    types.TimestampType: literals.TimestampLiteral,
    types.TimestamptzType: literals.TimestampLiteral,
}

_Compared = bool | tuple[str, Literal[Any]]
"""An operator with a literal of the column's type, or the result for all values."""


def file_filter(
    table: Table, where: str | ex.BooleanExpression | None, *, case_sensitive: bool
) -> ex.BooleanExpression:
    """Return the expression that selects the data files that may match a condition."""
    if where is None:
        return ex.AlwaysTrue()

    def column(name: Name) -> _Column:
        try:
            field = found_fields(table, name, case_sensitive=case_sensitive)[-1]
        except InvalidInputError as error:
            raise InvalidInputError(f"of column '{'.'.join(name)}': {error}") from error
        return _Column(table.schema().find_column_name(field.field_id) or "", field.field_type)

    try:
        found = _expression(column, parse_predicate(where), is_conjunct=True) if isinstance(where, str) else where
        # Binding reports unknown columns and values of another type.
        file_may_match(table.schema(), found, case_sensitive)
    except Exception as error:  # PyIceberg's own exceptions have no base class
        raise InvalidInputError(
            f"Cannot use the filter '{where}' on {display_name(table)}, because {str(error).strip()}"
        ) from error
    return found


def _expression(columns: Callable[[Name], _Column], predicate: Predicate, *, is_conjunct: bool) -> ex.BooleanExpression:
    """Return the expression for a predicate.

    Spark infers IS NOT NULL from conjuncts, and from NOT IN with several values anywhere.
    """
    if isinstance(predicate, And):
        return _all_of(_expression(columns, each, is_conjunct=is_conjunct) for each in predicate.predicates)
    if isinstance(predicate, Or):
        return _any_of(_expression(columns, each, is_conjunct=False) for each in predicate.predicates)
    column = columns(predicate.column)
    found = column.matches(predicate)
    is_not_in = predicate.operator == "NOT IN" and column.distinct(predicate.values) > 1
    infers = is_conjunct and predicate.operator not in _NEVER_NULL
    return ex.And(column.is_not_null, found) if infers or is_not_in else found


def _all_of(parts: Iterable[ex.BooleanExpression]) -> ex.BooleanExpression:
    return ex.And(ex.AlwaysTrue(), ex.AlwaysTrue(), *parts)


def _any_of(parts: Iterable[ex.BooleanExpression]) -> ex.BooleanExpression:
    return ex.Or(ex.AlwaysFalse(), ex.AlwaysFalse(), *parts)


class _Column:
    """Builds the expressions for one column.

    Numbers are compared exactly. Comparisons are refused if Spark would convert the column, which prevents pruning, or
    if Spark's result depends on settings (text with numbers).
    """

    def __init__(self, name: str, kind: types.IcebergType) -> None:
        self._name, self._kind = name, kind
        self._term = term = ex.Reference(name)
        self._is_floating = isinstance(kind, types.FloatType | types.DoubleType)
        self.is_null, self.is_not_null = ex.IsNull(term=term), ex.NotNull(term=term)

    def __str__(self) -> str:
        return f"column {self._name} of type {self._kind}"

    def matches(self, predicate: Comparison) -> ex.BooleanExpression:
        """Return the expression for a comparison."""
        operator, values = predicate.operator, predicate.values
        if operator in ("IS NULL", "IS NOT NULL"):
            return self.is_null if operator == "IS NULL" else self.is_not_null
        if operator in ("isnan", "NOT isnan"):
            if not self._is_floating:
                raise InvalidInputError(f"{self} has no NaN")
            return self._compare_with_nan("=" if operator == "isnan" else "<>")
        if operator in ("LIKE", "NOT LIKE"):
            if not isinstance(self._kind, types.StringType):
                raise InvalidInputError(f"{self} is not text: only text columns have prefixes")
            prefix = literals.StringLiteral(str(values[0].content))
            return (ex.StartsWith if operator == "LIKE" else ex.NotStartsWith)(term=self._term, value=prefix)
        if operator in ("IN", "NOT IN"):
            return self._is_any_of(values) if operator == "IN" else self._is_none_of(values)
        if isinstance(self._kind, types.UUIDType) and operator not in ("=", "<>", "<=>"):
            raise InvalidInputError(f"{self} is compared by {operator}: UUIDs support only = and <>")
        return self.compare("=" if operator == "<=>" else operator, values[0])

    def compare(self, operator: str, value: Value) -> ex.BooleanExpression:
        if value.type == "null":
            return ex.AlwaysFalse()
        if self._is_floating and isinstance(value.content, float) and math.isnan(value.content):
            return self._compare_with_nan(operator)
        if isinstance(self._kind, types.BooleanType) and operator in ("=", "<>"):
            # As in Spark, a flag <> true becomes = false, which does not exclude NULL.
            is_false = self._comparison("=", value) == ("=", literal(False))
            operator, value = OPPOSITES[operator] if is_false else operator, Value("boolean", True)
        if operator == "<>":
            return self._differs(value)
        found = self._comparison(operator, value)
        if isinstance(found, bool):
            return self.is_not_null if found else ex.AlwaysFalse()
        return _COMPARISONS[found[0]](self._term, found[1])

    def _compare_with_nan(self, operator: str) -> ex.BooleanExpression:
        if operator not in ("=", "<>"):
            raise InvalidInputError(f"{self} is compared with NaN by {operator}: only = and <> are supported")
        return ex.IsNaN(term=self._term) if operator == "=" else ex.NotNaN(term=self._term)

    def _differs(self, value: Value) -> ex.BooleanExpression:
        """Rule out files that hold only this value, as Iceberg for Java does; PyIceberg's NotEqualTo does not."""
        if self._comparison("=", value) is False:
            return self.is_not_null
        beside = [self.compare("<", value), self.compare(">", value), self.is_null]
        return ex.Or(*beside, ex.IsNaN(term=self._term)) if self._is_floating else ex.Or(*beside)

    def distinct(self, values: Iterable[Value]) -> int:
        """Count the values that are valid for the column's type."""
        found = (self.compare("=", value) for value in values)
        return len({str(each) for each in found if not isinstance(each, ex.AlwaysFalse)})

    def _is_any_of(self, values: Iterable[Value]) -> ex.BooleanExpression:
        found = [self.compare("=", value) for value in values]
        equal = {each.literal for each in found if isinstance(each, ex.EqualTo)}
        others = [each for each in found if not isinstance(each, ex.EqualTo)]
        return _any_of([ex.In(term=self._term, values=equal) if equal else ex.AlwaysFalse(), *others])

    def _is_none_of(self, values: Sequence[Value]) -> ex.BooleanExpression:
        if len(values) <= _FEW_VALUES:
            return _all_of(self.compare("<>", value) for value in values)
        found = [self.compare("=", value) for value in values]
        if any(value.type == "null" for value in values):
            return ex.AlwaysFalse()
        equal = {each.literal for each in found if isinstance(each, ex.EqualTo)}
        return ex.NotIn(term=self._term, values=equal) if equal else ex.AlwaysTrue()

    def _comparison(self, operator: str, value: Value) -> _Compared:
        """Return an equivalent comparison with a value of the column's type."""
        kind = self._kind
        if self._is_floating:
            return self._floating(operator, value)
        if isinstance(kind, types.StringType) and isinstance(value.content, str):
            return operator, literal(value.content)
        if isinstance(kind, types.BinaryType | types.FixedType | types.UUIDType):
            key = bytes_of(str(kind), value)
            if key is None or (isinstance(kind, types.FixedType) and len(key) != len(kind)):
                raise self._refusal(value)
            return operator, literal(UUID(bytes=key) if isinstance(kind, types.UUIDType) else key)
        units = units_of(str(kind), value)
        if units is None or (type(kind) not in _LITERALS and not isinstance(kind, types.DecimalType)):
            raise self._refusal(value)
        return self._of_units(operator, units)

    def _of_units(self, operator: str, number: Fraction) -> _Compared:
        """Return an equivalent comparison with a whole number of units, within the type's limits."""
        kind = self._kind
        if number.denominator > 1 and operator == "=":
            return False
        is_up = operator in (">", ">=")
        if number.denominator > 1:
            operator = ">=" if is_up else "<="
        units = math.ceil(number) if is_up else math.floor(number)
        if isinstance(kind, types.DecimalType | types.IntegerType | types.LongType):
            most = 10**kind.precision - 1 if isinstance(kind, types.DecimalType) else kind.max
            least = -most if isinstance(kind, types.DecimalType) else kind.min
            if not least <= units <= most:
                return operator != "=" and is_up == (units < least)
        if isinstance(kind, types.DecimalType):
            # Built from digits, because Decimal's operators round to the context's precision.
            return operator, literal(Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -kind.scale)))
        return operator, _LITERALS[type(kind)](units)

    def _floating(self, operator: str, value: Value) -> _Compared:
        content = value.content
        if isinstance(content, bool) or not isinstance(content, int | float | Decimal):
            raise self._refusal(value)
        double = float(content)
        is_single = isinstance(self._kind, types.FloatType)
        near = as_float(double) if is_single else double
        if near != double:
            # The nearest float lies on one side of the value, with no other float between them.
            if operator == "=":
                return False
            is_less = operator in ("<", "<=")
            operator = operator[0] + ("=" if (near < double) == is_less else "")
        return operator, (literals.FloatLiteral if is_single else literals.DoubleLiteral)(near)

    def _refusal(self, value: Value) -> InvalidInputError:
        return InvalidInputError(f"{self} cannot be compared with {value}: write a value of its type")
