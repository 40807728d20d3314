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

from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNaN,
    IsNull,
    LessThan,
    LessThanOrEqual,
    LiteralPredicate,
    NotIn,
    NotNaN,
    NotNull,
    NotStartsWith,
    Or,
    Reference,
    StartsWith,
)
from pyiceberg.expressions.literals import (
    DateLiteral,
    DoubleLiteral,
    FloatLiteral,
    Literal,
    LongLiteral,
    StringLiteral,
    TimeLiteral,
    TimestampLiteral,
    literal,
)
from pyiceberg.table import Table
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.bounds import found_fields
from iceberg_zorder.pyiceberg.compat import file_may_match
from iceberg_zorder.pyiceberg.files import display_name
from iceberg_zorder.rewrite import predicate as spark_sql
from iceberg_zorder.rewrite.predicate import Name, Predicate, Value, as_float, parse_predicate
from iceberg_zorder.workload.boxes import bytes_of, units_of

_FEW_VALUES = 20
"""Most values of NOT IN that rule out files holding a single value; each value costs time per file."""
_NEVER_NULL = ("IS NULL", "IS NOT NULL", "isnan", "NOT isnan", "<=>")
_COMPARISONS: dict[str, type[LiteralPredicate]] = {
    "=": EqualTo,
    "<": LessThan,
    "<=": LessThanOrEqual,
    ">": GreaterThan,
    ">=": GreaterThanOrEqual,
}

_LITERALS: dict[type[IcebergType], Callable[[int], Literal[Any]]] = {
    BooleanType: lambda units: literal(units == 1),
    IntegerType: LongLiteral,
    LongType: LongLiteral,
    DateType: DateLiteral,
    TimeType: TimeLiteral,
    TimestampType: TimestampLiteral,
    TimestamptzType: TimestampLiteral,
}

_Compared = bool | tuple[str, Literal[Any]]
"""An operator with a literal of the column's type, or the result for all values."""


def file_filter(table: Table, where: str | BooleanExpression | None, *, case_sensitive: bool) -> BooleanExpression:
    """Return the expression that selects the data files that may match a condition."""
    if where is None:
        return AlwaysTrue()

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


def _expression(columns: Callable[[Name], _Column], predicate: Predicate, *, is_conjunct: bool) -> BooleanExpression:
    """Return the expression for a predicate.

    Spark infers IS NOT NULL from conjuncts, and from NOT IN with several values anywhere.
    """
    if isinstance(predicate, spark_sql.And):
        return _all_of(_expression(columns, each, is_conjunct=is_conjunct) for each in predicate.predicates)
    if isinstance(predicate, spark_sql.Or):
        return _any_of(_expression(columns, each, is_conjunct=False) for each in predicate.predicates)
    column = columns(predicate.column)
    found = column.matches(predicate)
    is_not_in = predicate.operator == "NOT IN" and column.distinct(predicate.values) > 1
    infers = is_conjunct and predicate.operator not in _NEVER_NULL
    return And(column.is_not_null, found) if infers or is_not_in else found


def _all_of(parts: Iterable[BooleanExpression]) -> BooleanExpression:
    return And(AlwaysTrue(), AlwaysTrue(), *parts)


def _any_of(parts: Iterable[BooleanExpression]) -> BooleanExpression:
    return Or(AlwaysFalse(), AlwaysFalse(), *parts)


class _Column:
    """Builds the expressions for one column.

    Numbers are compared exactly. Comparisons are refused if Spark would convert the column, which prevents pruning, or
    if Spark's result depends on settings (text with numbers).
    """

    def __init__(self, name: str, kind: IcebergType) -> None:
        self._name = name
        self._term = Reference(name)
        self._kind = kind

    def __str__(self) -> str:
        return f"column {self._name} of type {self._kind}"

    def matches(self, predicate: spark_sql.Comparison) -> BooleanExpression:
        """Return the expression for a comparison."""
        operator, values = predicate.operator, predicate.values
        if operator in ("IS NULL", "IS NOT NULL"):
            return self.is_null if operator == "IS NULL" else self.is_not_null
        if operator in ("isnan", "NOT isnan"):
            if not self._is_floating:
                raise InvalidInputError(f"{self} has no NaN")
            return self._compare_with_nan("=" if operator == "isnan" else "<>")
        if operator in ("LIKE", "NOT LIKE"):
            if not isinstance(self._kind, StringType):
                raise InvalidInputError(f"{self} is not text: only text columns have prefixes")
            prefix = StringLiteral(str(values[0].content))
            return (StartsWith if operator == "LIKE" else NotStartsWith)(term=self._term, value=prefix)
        if operator in ("IN", "NOT IN"):
            return self._is_any_of(values) if operator == "IN" else self._is_none_of(values)
        if isinstance(self._kind, UUIDType) and operator not in ("=", "<>", "<=>"):
            raise InvalidInputError(f"{self} is compared by {operator}: UUIDs support only = and <>")
        return self.compare("=" if operator == "<=>" else operator, values[0])

    @property
    def is_null(self) -> BooleanExpression:
        return IsNull(term=self._term)

    @property
    def is_not_null(self) -> BooleanExpression:
        return NotNull(term=self._term)

    @property
    def _is_floating(self) -> bool:
        return isinstance(self._kind, FloatType | DoubleType)

    def compare(self, operator: str, value: Value) -> BooleanExpression:
        if value.type == "null":
            return AlwaysFalse()
        if self._is_floating and isinstance(value.content, float) and math.isnan(value.content):
            return self._compare_with_nan(operator)
        if isinstance(self._kind, BooleanType) and operator in ("=", "<>"):
            # As in Spark, a flag <> true becomes = false, which does not exclude NULL.
            is_false = self._comparison("=", value) == ("=", literal(False))
            operator, value = spark_sql.OPPOSITES[operator] if is_false else operator, Value("boolean", True)
        if operator == "<>":
            return self._differs(value)
        found = self._comparison(operator, value)
        if isinstance(found, bool):
            return self.is_not_null if found else AlwaysFalse()
        return _COMPARISONS[found[0]](self._term, found[1])

    def _compare_with_nan(self, operator: str) -> BooleanExpression:
        if operator not in ("=", "<>"):
            raise InvalidInputError(f"{self} is compared with NaN by {operator}: only = and <> are supported")
        return IsNaN(term=self._term) if operator == "=" else NotNaN(term=self._term)

    def _differs(self, value: Value) -> BooleanExpression:
        """Rule out files that hold only this value, as Iceberg for Java does; PyIceberg's NotEqualTo does not."""
        if self._comparison("=", value) is False:
            return self.is_not_null
        beside = [self.compare("<", value), self.compare(">", value), self.is_null]
        return Or(*beside, IsNaN(term=self._term)) if self._is_floating else Or(*beside)

    def distinct(self, values: Iterable[Value]) -> int:
        """Count the values that are valid for the column's type."""
        return len({str(found) for value in values if not isinstance(found := self.compare("=", value), AlwaysFalse)})

    def _is_any_of(self, values: Iterable[Value]) -> BooleanExpression:
        equal: list[Literal[Any]] = []
        others: list[BooleanExpression] = []
        for value in values:
            found = self.compare("=", value)
            if isinstance(found, EqualTo):
                equal.append(found.literal)
            else:
                others.append(found)
        return _any_of([In(term=self._term, values=set(equal)) if equal else AlwaysFalse(), *others])

    def _is_none_of(self, values: Sequence[Value]) -> BooleanExpression:
        if len(values) > _FEW_VALUES:
            found = [self.compare("=", value) for value in values]
            if any(value.type == "null" for value in values):
                return AlwaysFalse()
            equal = {each.literal for each in found if isinstance(each, EqualTo)}
            return NotIn(term=self._term, values=equal) if equal else AlwaysTrue()
        return _all_of(self.compare("<>", value) for value in values)

    def _comparison(self, operator: str, value: Value) -> _Compared:
        """Return an equivalent comparison with a value of the column's type."""
        kind = self._kind
        if isinstance(kind, FloatType | DoubleType):
            return self._floating(operator, value)
        if isinstance(kind, StringType) and isinstance(value.content, str):
            return operator, literal(value.content)
        if isinstance(kind, BinaryType | FixedType | UUIDType):
            key = bytes_of(str(kind), value)
            if key is None or (isinstance(kind, FixedType) and len(key) != len(kind)):
                raise self._refusal(value)
            return operator, literal(UUID(bytes=key) if isinstance(kind, UUIDType) else key)
        units = units_of(str(kind), value)
        if units is None or (type(kind) not in _LITERALS and not isinstance(kind, DecimalType)):
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
        if isinstance(kind, DecimalType | IntegerType | LongType):
            most = 10**kind.precision - 1 if isinstance(kind, DecimalType) else kind.max
            least = -most if isinstance(kind, DecimalType) else kind.min
            if not least <= units <= most:
                return operator != "=" and is_up == (units < least)
        if isinstance(kind, DecimalType):
            # Built from digits, because Decimal's operators round to the context's precision.
            return operator, literal(Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -kind.scale)))
        return operator, _LITERALS[type(kind)](units)

    def _floating(self, operator: str, value: Value) -> _Compared:
        content = value.content
        if isinstance(content, bool) or not isinstance(content, int | float | Decimal):
            raise self._refusal(value)
        double = float(content)
        near = as_float(double) if isinstance(self._kind, FloatType) else double
        if near != double:
            # The nearest float lies on one side of the value, with no other float between them.
            if operator == "=":
                return False
            is_less = operator in ("<", "<=")
            operator = operator[0] + ("=" if (near < double) == is_less else "")
        return operator, FloatLiteral(near) if isinstance(self._kind, FloatType) else DoubleLiteral(near)

    def _refusal(self, value: Value) -> InvalidInputError:
        return InvalidInputError(f"{self} cannot be compared with {value}: write a value of its type")
