"""Convert ``where`` to PyIceberg's expressions for pruning, as Spark converts it to Iceberg's.

The expressions suit statistics, not rows: inside OR, ``a <> 1`` is true if ``a`` is NULL. Iceberg for Java does the
same, so both engines choose the same files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timezone
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
    StringLiteral,
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
from iceberg_zorder.rewrite.predicate import Name, Predicate, Value, as_date, as_float, as_timestamp, parse_predicate

_EPOCH = datetime(1970, 1, 1)
_MICROSECONDS_OF_A_DAY = 86_400_000_000
_FEW_VALUES = 20
"""Most values of NOT IN that rule out files holding a single value; each value costs time per file."""
_OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_NEGATED = {"=": "<>", "<>": "="}
_COMPARISONS: dict[str, type[LiteralPredicate]] = {
    "=": EqualTo,
    "<": LessThan,
    "<=": LessThanOrEqual,
    ">": GreaterThan,
    ">=": GreaterThanOrEqual,
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
        if isinstance(where, str):
            found = _expression(column, parse_predicate(where), negated=False, is_conjunct=True)
        else:
            found = where
        # Binding reports unknown columns and values of another type.
        file_may_match(table.schema(), found, case_sensitive)
    except Exception as error:  # PyIceberg's own exceptions have no base class
        raise InvalidInputError(
            f"Cannot use the filter '{where}' on {display_name(table)}, because {str(error).strip()}"
        ) from error
    return found


def _expression(
    columns: Callable[[Name], _Column], predicate: Predicate, *, negated: bool, is_conjunct: bool
) -> BooleanExpression:
    """Return the expression for a predicate being true, or false if ``negated``; NULL is neither.

    Spark infers IS NOT NULL from conjuncts, and from NOT IN with several values anywhere.
    """
    if isinstance(predicate, spark_sql.Not):
        return _expression(columns, predicate.predicate, negated=not negated, is_conjunct=is_conjunct)
    if isinstance(predicate, spark_sql.And | spark_sql.Or):
        is_and = isinstance(predicate, spark_sql.And) != negated
        parts = [
            _expression(columns, each, negated=negated, is_conjunct=is_conjunct and is_and)
            for each in predicate.predicates
        ]
        return And(*parts) if is_and else Or(*parts)
    if isinstance(predicate, spark_sql.Constant):
        return AlwaysTrue() if predicate.value is (not negated) else AlwaysFalse()
    column = columns(predicate.column)
    if isinstance(predicate, spark_sql.IsNull):
        return column.is_null(not negated)
    if isinstance(predicate, spark_sql.Comparison) and predicate.operator == "<=>":
        return column.null_safe_equals(predicate.value, negated)
    found = column.matches(predicate, negated)
    is_not_in = negated and isinstance(predicate, spark_sql.In) and column.distinct(predicate.values) > 1
    # isnan() is never NULL.
    infers = is_conjunct and not isinstance(predicate, spark_sql.IsNan)
    return And(column.is_null(False), found) if infers or is_not_in else found


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

    def is_null(self, wanted: bool) -> BooleanExpression:
        return IsNull(term=self._term) if wanted else NotNull(term=self._term)

    def null_safe_equals(self, value: Value, negated: bool) -> BooleanExpression:
        if value.type == "null":
            return self.is_null(not negated)
        found = self.compare("<>" if negated else "=", value)
        return Or(self.is_null(True), found) if negated else found

    def matches(self, predicate: Predicate, negated: bool) -> BooleanExpression:
        """Return the expression for a predicate being true (or false if ``negated``) for non-NULL values."""
        if isinstance(predicate, spark_sql.Comparison):
            if isinstance(self._kind, UUIDType) and predicate.operator not in ("=", "<>"):
                raise InvalidInputError(f"{self} is compared by {predicate.operator}: UUIDs support only = and <>")
            return self.compare(_OPPOSITES[predicate.operator] if negated else predicate.operator, predicate.value)
        if isinstance(predicate, spark_sql.In):
            return self._is_none_of(predicate.values) if negated else self._is_any_of(predicate.values)
        if isinstance(predicate, spark_sql.StartsWith):
            if not isinstance(self._kind, StringType):
                raise InvalidInputError(f"{self} is not text: only text columns have prefixes")
            prefix = StringLiteral(predicate.prefix)
            return (
                NotStartsWith(term=self._term, value=prefix) if negated else StartsWith(term=self._term, value=prefix)
            )
        if not self._is_floating:
            raise InvalidInputError(f"{self} has no NaN")
        return NotNaN(term=self._term) if negated else IsNaN(term=self._term)

    @property
    def _is_floating(self) -> bool:
        return isinstance(self._kind, FloatType | DoubleType)

    def compare(self, operator: str, value: Value) -> BooleanExpression:
        if value.type == "null":
            return AlwaysFalse()
        if self._is_floating and isinstance(value.content, float) and math.isnan(value.content):
            return self._compare_with_nan(operator)
        if isinstance(self._kind, BooleanType) and operator in _NEGATED and self._literal(value) == literal(False):
            # As in Spark, a flag <> true becomes = false, which does not exclude NULL.
            operator, value = _NEGATED[operator], Value("boolean", True)
        if operator == "<>":
            return self._differs(value)
        found = self._comparison(operator, value)
        if isinstance(found, bool):
            return self.is_null(False) if found else AlwaysFalse()
        return _COMPARISONS[found[0]](self._term, found[1])

    def _compare_with_nan(self, operator: str) -> BooleanExpression:
        if operator not in ("=", "<>"):
            raise InvalidInputError(f"{self} is compared with NaN by {operator}: only = and <> are supported")
        return IsNaN(term=self._term) if operator == "=" else NotNaN(term=self._term)

    def _differs(self, value: Value) -> BooleanExpression:
        """Rule out files that hold only this value, as Iceberg for Java does; PyIceberg's NotEqualTo does not."""
        if self._comparison("=", value) is False:
            return self.is_null(False)
        beside = [self.compare("<", value), self.compare(">", value), self.is_null(True)]
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
        return Or(AlwaysFalse(), In(term=self._term, values=set(equal)) if equal else AlwaysFalse(), *others)

    def _is_none_of(self, values: Iterable[Value]) -> BooleanExpression:
        values = tuple(values)
        if len(values) > _FEW_VALUES:
            found = [self.compare("=", value) for value in values]
            if any(value.type == "null" for value in values):
                return AlwaysFalse()
            equal = {each.literal for each in found if isinstance(each, EqualTo)}
            return NotIn(term=self._term, values=equal) if equal else AlwaysTrue()
        return And(AlwaysTrue(), AlwaysTrue(), *(self.compare("<>", value) for value in values))

    def _comparison(self, operator: str, value: Value) -> _Compared:
        """Return an equivalent comparison with a value of the column's type."""
        kind = self._kind
        if isinstance(kind, IntegerType | LongType):
            return _ranged(operator, self._number(value), kind.min, kind.max, literal)
        if isinstance(kind, DecimalType):
            scale, most = kind.scale, 10**kind.precision - 1
            return _ranged(
                operator, self._number(value) * 10**scale, -most, most, lambda units: literal(_decimal(units, scale))
            )
        if isinstance(kind, DateType):
            whole = _whole(operator, self._days(value))
            return whole if isinstance(whole, bool) else (whole[0], DateLiteral(whole[1]))
        if isinstance(kind, FloatType | DoubleType):
            return self._floating(operator, value)
        return operator, self._literal(value)

    def _number(self, value: Value) -> Fraction:
        content = value.content
        if value.type in ("integer", "decimal") and isinstance(content, int | Decimal):
            return Fraction(content)
        # A double represents every int, but not every long or decimal.
        if isinstance(self._kind, IntegerType) and isinstance(content, float) and math.isfinite(content):
            return Fraction(content)
        raise self._refusal(value)

    def _days(self, value: Value) -> Fraction:
        content = as_date(value.content) if isinstance(value.content, str) else value.content
        if isinstance(content, datetime):
            return Fraction(_microseconds(content), _MICROSECONDS_OF_A_DAY)
        if isinstance(content, date):
            return Fraction((content - _EPOCH.date()).days)
        raise self._refusal(value)

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

    def _literal(self, value: Value) -> Literal[Any]:
        """Return the literal of the column's type that equals a value."""
        kind, content = self._kind, value.content
        if isinstance(kind, StringType) and isinstance(content, str):
            return literal(content)
        if isinstance(kind, BooleanType) and str(content).lower() in ("true", "false"):
            return literal(str(content).lower() == "true")
        if isinstance(kind, BinaryType | FixedType) and isinstance(content, str | bytes):
            return self._bytes(value, content.encode() if isinstance(content, str) else content)
        if isinstance(kind, TimestampType | TimestamptzType):
            return self._timestamp(value, has_zone=isinstance(kind, TimestamptzType))
        if isinstance(kind, UUIDType | TimeType) and isinstance(content, str):
            try:
                return literal(UUID(content)) if isinstance(kind, UUIDType) else literal(time.fromisoformat(content))
            except ValueError as error:
                raise self._refusal(value) from error
        raise self._refusal(value)

    def _bytes(self, value: Value, content: bytes) -> Literal[Any]:
        if isinstance(self._kind, FixedType) and len(content) != len(self._kind):
            raise self._refusal(value)
        return literal(content)

    def _timestamp(self, value: Value, *, has_zone: bool) -> Literal[Any]:
        content = value.content
        if isinstance(content, str):
            content = as_timestamp(content, has_zone=has_zone)
        if not isinstance(content, date):
            raise self._refusal(value)
        moment = content if isinstance(content, datetime) else datetime.combine(content, time())
        return TimestampLiteral(_microseconds(moment))

    def _refusal(self, value: Value) -> InvalidInputError:
        return InvalidInputError(f"{self} cannot be compared with {value}: write a value of its type")


def _ranged(operator: str, number: Fraction, least: int, most: int, make: Any) -> _Compared:
    """Return the comparison of whole numbers within a range with a number."""
    found = _whole(operator, number)
    if isinstance(found, bool):
        return found
    operator, whole = found
    if least <= whole <= most:
        return operator, make(whole)
    return operator in (("<", "<=") if whole > most else (">", ">="))


def _whole(operator: str, number: Fraction) -> bool | tuple[str, int]:
    if number.denominator == 1:
        return operator, int(number)
    if operator == "=":
        return False
    return ("<=", math.floor(number)) if operator in ("<", "<=") else (">=", math.ceil(number))


def _decimal(units: int, scale: int) -> Decimal:
    # Built from digits, because Decimal's operators round to the context's precision.
    return Decimal((int(units < 0), tuple(int(digit) for digit in str(abs(units))), -scale))


def _microseconds(moment: datetime) -> int:
    local = moment.astimezone(timezone.utc).replace(tzinfo=None) if moment.tzinfo else moment
    passed = local - _EPOCH
    return passed.days * _MICROSECONDS_OF_A_DAY + passed.seconds * 1_000_000 + passed.microseconds
