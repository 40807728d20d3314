"""Compare a column with values of other types: by a value of the column's own type that says the same."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

from pyiceberg.expressions.literals import DateLiteral, DoubleLiteral, FloatLiteral, Literal, TimestampLiteral, literal
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
from iceberg_zorder.request.predicate_values import Value, as_date, as_float, as_timestamp

_EPOCH = datetime(1970, 1, 1)
_MICROSECONDS_OF_A_DAY = 86_400_000_000

Comparison = bool | tuple[str, Literal[Any]]
"""An operator and a literal of the column's type; or whether every value is compared so."""


class Comparable:
    """A column, as far as its values are compared with others.

    Numbers are compared exactly, and what Spark would compare only after a conversion of the column that Iceberg cannot
    look behind, or differently from setting to setting (text with numbers), is refused.

    Parameters
    ----------
    name : str
        The column's full name.
    kind : pyiceberg.types.IcebergType
        Its type.
    """

    def __init__(self, name: str, kind: IcebergType) -> None:
        self._name = name
        self._kind = kind

    def __str__(self) -> str:
        return f"column {self._name} of type {self._kind}"

    def comparison(self, operator: str, value: Value) -> Comparison:
        """Find the comparison that says the same as one with a value of another type.

        Examples
        --------
        >>> Comparable("a", IntegerType()).comparison("<", Value("decimal", Decimal("5.5")))
        ('<=', LongLiteral(5))
        >>> Comparable("a", IntegerType()).comparison("<", Value("integer", 3_000_000_000))
        True
        """
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

    def is_false(self, value: Value) -> bool:
        """Tell whether a value is FALSE, or text of it."""
        return self._literal(value) == literal(False)

    def _number(self, value: Value) -> Fraction:
        content = value.content
        if value.type in ("integer", "decimal") and isinstance(content, int | Decimal):
            return Fraction(content)
        # Every int is a double, but not every long, nor every decimal.
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

    def _floating(self, operator: str, value: Value) -> Comparison:
        content = value.content
        if isinstance(content, bool) or not isinstance(content, int | float | Decimal):
            raise self._refusal(value)
        double = float(content)
        near = as_float(double) if isinstance(self._kind, FloatType) else double
        if near != double:
            # The nearest single-precision float lies on one side of the value, and none lies between them.
            if operator == "=":
                return False
            is_less = operator in ("<", "<=")
            operator = operator[0] + ("=" if (near < double) == is_less else "")
        return operator, FloatLiteral(near) if isinstance(self._kind, FloatType) else DoubleLiteral(near)

    def _literal(self, value: Value) -> Literal[Any]:
        """Find the value of the column's type that equals a value."""
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
        return InvalidInputError(f"{self} is not compared with {value}: write a value of its type")


def _ranged(operator: str, number: Fraction, least: int, most: int, make: Any) -> Comparison:
    """Compare with a number what lies in a range of whole numbers."""
    found = _whole(operator, number)
    if isinstance(found, bool):
        return found
    operator, whole = found
    if least <= whole <= most:
        return operator, make(whole)
    return operator in (("<", "<=") if whole > most else (">", ">="))


def _whole(operator: str, number: Fraction) -> bool | tuple[str, int]:
    """Compare with a number what is whole."""
    if number.denominator == 1:
        return operator, int(number)
    if operator == "=":
        return False
    return ("<=", math.floor(number)) if operator in ("<", "<=") else (">=", math.ceil(number))


def _decimal(units: int, scale: int) -> Decimal:
    # From its digits: operators of decimals round to the digits of the context.
    return Decimal((int(units < 0), tuple(int(digit) for digit in str(abs(units))), -scale))


def _microseconds(moment: datetime) -> int:
    local = moment.astimezone(timezone.utc).replace(tzinfo=None) if moment.tzinfo else moment
    passed = local - _EPOCH
    return passed.days * _MICROSECONDS_OF_A_DAY + passed.seconds * 1_000_000 + passed.microseconds
