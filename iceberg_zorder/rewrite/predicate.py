"""Predicates: the Spark SQL conditions of ``where``, and their values.

:func:`parse_predicate` returns frozen dataclasses, with names as written and values of Spark's types; it needs no
table. As in Spark, a predicate selects a row if it is true, not if it is false or NULL. Comparisons have opposites, so
that predicates need no NOT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from iceberg_zorder.errors import InvalidInputError

Content = bool | int | float | Decimal | str | bytes | date | datetime | None

MOST_CHARACTERS, MOST_NODES = 1 << 20, 50_000
"""Most characters of a statement in a log, and nodes that its parser makes."""
_MOST_NODES_OF_PREDICATE = 10 * MOST_NODES
"""A filter as we write it has up to three nodes for one of the statement."""
_EXACT = Context(prec=100)
"""A context with more digits than any decimal; the default rounds to 28."""
_WHOLE_NUMBERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?")
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::(\d{2}))?")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_NOT_FINITE = {"nan": "nan", "infinity": "inf", "inf": "inf", "+infinity": "inf", "+inf": "inf"}
_NOT_FINITE |= {"-infinity": "-inf", "-inf": "-inf"}


@dataclass(frozen=True)
class Value:
    """A value that a column is compared with.

    Examples
    --------
    >>> Value("date", date(2026, 1, 31))
    Value(type='date', content=datetime.date(2026, 1, 31))
    """

    type: str
    """One of ``null``, ``boolean``, ``integer`` (of whatever width), ``decimal``, ``float``, ``double``, ``string``,
    ``binary``, ``date``, ``timestamp`` (an instant) and ``timestamp_ntz`` (of no zone)."""
    content: Content
    """The value: a ``float`` as the double that it equals, a ``timestamp`` in UTC, a ``timestamp_ntz`` without a
    zone."""

    def __str__(self) -> str:
        if self.type == "null":
            return "NULL"
        if isinstance(self.content, bytes):
            return f"X'{self.content.hex()}'"
        if isinstance(self.content, str):
            return f"'{self.content}'"
        if self.type in ("date", "timestamp", "timestamp_ntz"):
            return f"{self.type.upper()} '{self.content}'"
        return str(self.content)


NULL = Value("null", None)


def number(text: str) -> Value:
    """Read a number without a suffix: whole, with a point (a decimal), or with an exponent (a double)."""
    if not _NUMBER.fullmatch(text):
        raise InvalidInputError(f"'{text}' is not a number")
    if "e" in text.lower():
        return Value("double", float(text))
    return Value("decimal", Decimal(text)) if "." in text else Value("integer", int(text))


def negative(value: Value) -> Value:
    """Change the sign of a number."""
    if isinstance(value.content, bool) or not isinstance(value.content, int | float | Decimal):
        raise InvalidInputError(f"{value} cannot be negated")
    # Not the operator: it rounds a decimal to the digits of the context.
    content = value.content.copy_negate() if isinstance(value.content, Decimal) else -value.content
    return Value(value.type, content)


def cast(value: Value, to: str, *, precision: int = 10, scale: int = 0) -> Value:
    """Convert a value as Spark's CAST does; raises InvalidInputError if that loses anything.

    Examples
    --------
    >>> cast(Value("string", "2026-01-31"), "date")
    Value(type='date', content=datetime.date(2026, 1, 31))
    >>> cast(Value("string", "2026-01-31 10:00:00 Europe/Berlin"), "timestamp").content.isoformat()
    '2026-01-31T09:00:00+00:00'
    """
    if value.type == "null":
        return value
    content = value.content
    converted: Content = None
    if to in ("date", "timestamp", "timestamp_ntz"):
        converted = _moment(value, to)
    elif to == "string":
        converted = str(content) if value.type in ("integer", "string") else None
    elif to == "binary":
        converted = content.encode() if isinstance(content, str) else content if isinstance(content, bytes) else None
    elif to == "boolean":
        converted = _boolean(content)
    elif to in _WHOLE_NUMBERS or to in ("decimal", "float", "double"):
        converted = _numeric(value, to, precision, scale)
    if converted is None:
        raise InvalidInputError(f"{value} is not a value of type {to}")
    return Value("integer" if to in _WHOLE_NUMBERS else to, converted)


def _boolean(content: Content) -> bool | None:
    if isinstance(content, str):
        return {"true": True, "false": False}.get(content.strip().lower())
    return content if isinstance(content, bool) else None


def _numeric(value: Value, to: str, precision: int, scale: int) -> int | float | Decimal | None:
    content = value.content
    if isinstance(content, str):
        text = content.strip()
        if to in ("float", "double") and text.lower() in _NOT_FINITE:
            content = float(_NOT_FINITE[text.lower()])
        elif _NUMBER.fullmatch(text):
            content = float(text) if to in ("float", "double") else Decimal(text)
    if isinstance(content, bool) or not isinstance(content, int | float | Decimal):
        return None
    if to == "double":
        return float(content)
    if to == "float":
        return as_float(float(content))
    if value.type in ("float", "double"):
        return None
    exact = Decimal(content)
    if to == "decimal":
        unscaled = exact.scaleb(scale, _EXACT)
        return (
            exact
            if unscaled == unscaled.to_integral_value() and unscaled.copy_abs() < Decimal(10) ** precision
            else None
        )
    bits = _WHOLE_NUMBERS[to]
    return int(exact) if exact == exact.to_integral_value() and -(1 << bits - 1) <= exact < 1 << bits - 1 else None


def as_float(value: float) -> float:
    """Round a double to the nearest float, or to infinity if it is too large."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _moment(value: Value, to: str) -> date | datetime | None:
    content = value.content
    if isinstance(content, str):
        return as_date(content) if to == "date" else as_timestamp(content, has_zone=to == "timestamp")
    if value.type == to and isinstance(content, date):
        return content
    if value.type == "date" and isinstance(content, date):
        return datetime.combine(content, time(), timezone.utc if to == "timestamp" else None)
    return None


def as_date(text: str) -> date | None:
    """Parse a date; month and day are optional, and a time of day is ignored. None if it is not a date."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return date(*(int(part or 1) for part in match.groups()))
    except ValueError:
        return None


def as_timestamp(text: str, *, has_zone: bool) -> datetime | None:
    """Parse a timestamp; the default time is midnight. None if invalid, or with a zone but not ``has_zone``.

    Examples
    --------
    >>> as_timestamp("2026-01-31T10:00:00.5+02:00", has_zone=True).isoformat()
    '2026-01-31T08:00:00.500000+00:00'
    >>> as_timestamp("2026-01-31", has_zone=False).isoformat()
    '2026-01-31T00:00:00'
    >>> as_timestamp("2026-01-31 10:00:00Z", has_zone=False) is None
    True
    """
    day_text, separator, rest = re.fullmatch(r"([^ T]*)([ T]?)(.*)", text.strip(), re.DOTALL).groups()  # type: ignore[union-attr]
    day = as_date(day_text)
    match = _TIME.match(rest)
    if day is None or (separator and match is None):
        return None
    zone_text = rest[match.end() :].strip() if match else ""
    if zone_text and not has_zone:
        return None
    zone = _zone(zone_text) if zone_text else timezone.utc
    hour, minute, second, fraction = match.groups() if match else ("0", "0", None, None)
    micros = (fraction or "").ljust(6, "0")
    if zone is None or micros[6:].strip("0"):
        return None
    try:
        moment = datetime.combine(day, time(int(hour), int(minute), int(second or 0), int(micros[:6])))
        return moment.replace(tzinfo=zone).astimezone(timezone.utc) if has_zone else moment
    except (ValueError, OverflowError):
        return None


def in_utc(moment: object) -> datetime:
    """Return a time in UTC, without its time zone if it has one."""
    assert isinstance(moment, datetime)  # noqa: S101 - callers have cast it
    return moment.astimezone(timezone.utc).replace(tzinfo=None) if moment.tzinfo is not None else moment


def _zone(text: str) -> tzinfo | None:
    if text in ("Z", "UTC", "GMT", "UT"):
        return timezone.utc
    match = _OFFSET.fullmatch(text)
    if match is None:
        try:
            return ZoneInfo(text)
        except (LookupError, ValueError, OSError):
            return None
    sign, *parts = match.groups()
    hours, minutes, seconds = (int(part or 0) for part in parts)
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if offset > timedelta(hours=18) or minutes > 59 or seconds > 59:
        return None
    return timezone(-offset if sign == "-" else offset)


Name = tuple[str, ...]
"""The parts of a column's name, without quotes: several for the field of a struct."""


@dataclass(frozen=True)
class Comparison:
    """A test of a column that is true or false in each row: where SQL has NULL, it is false."""

    column: Name
    # One of :data:`OPPOSITES`, or ``<=>``, which is ``=``, but tells Spark nothing about NULL. ``LIKE`` tests for a
    # prefix of at least one character.
    operator: str
    # At least one with ``IN`` and ``NOT IN``; none with those for NULL and NaN; else one.
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class And:
    """All of several predicates; without any, it is true."""

    predicates: tuple[Predicate, ...]


@dataclass(frozen=True)
class Or:
    """Any of several predicates; without any, it is false."""

    predicates: tuple[Predicate, ...]


Predicate = Comparison | And | Or
TRUE, FALSE = And(()), Or(())
OPPOSITES = {
    "=": "<>",
    "<": ">=",
    ">": "<=",
    "IN": "NOT IN",
    "LIKE": "NOT LIKE",
    "IS NULL": "IS NOT NULL",
    "isnan": "NOT isnan",
}
"""Each operator of comparisons, and the one that is true where the column is not NULL and the other is false. The
operators for NULL and NaN themselves are never NULL."""
OPPOSITES |= {opposite: operator for operator, opposite in OPPOSITES.items()}
EXCHANGED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operators between two values, and the same ones with their sides exchanged."""
_OPERATORS: dict[type[exp.Expr], str] = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">"}
_OPERATORS |= {exp.GTE: ">=", exp.NullSafeEQ: "<=>", exp.NullSafeNEQ: "<=>"}

TYPES = {
    exp.DataType.Type.TINYINT: "tinyint",
    exp.DataType.Type.SMALLINT: "smallint",
    exp.DataType.Type.INT: "int",
    exp.DataType.Type.BIGINT: "bigint",
    exp.DataType.Type.FLOAT: "float",
    exp.DataType.Type.DOUBLE: "double",
    exp.DataType.Type.DECIMAL: "decimal",
    exp.DataType.Type.BOOLEAN: "boolean",
    exp.DataType.Type.TEXT: "string",
    exp.DataType.Type.BINARY: "binary",
    exp.DataType.Type.DATE: "date",
    exp.DataType.Type.TIMESTAMP: "timestamp",
    exp.DataType.Type.TIMESTAMPTZ: "timestamp",
    exp.DataType.Type.TIMESTAMPLTZ: "timestamp",
    exp.DataType.Type.TIMESTAMPNTZ: "timestamp_ntz",
}


@lru_cache(maxsize=1_024)
def parse_predicate(text: str) -> Predicate:
    """Return a condition of Spark SQL as a predicate.

    It may have comparisons of a column with a value, ``<=>``, ``BETWEEN``, ``IN``, ``LIKE 'x%'`` and ``startswith``,
    ``IS [NOT] NULL``, ``IS [NOT] TRUE``, ``isnan``, boolean columns, ``AND``, ``OR`` and ``NOT``. Nested fields are
    dotted, and backticks quote names. Values are Spark's literals, and casts of them. A ``TIMESTAMP '...'`` without a
    zone is in UTC. A workload's filters are read for their boxes and for their tests of files, so results are kept.

    Examples
    --------
    >>> parse_predicate("`user id` = 7")
    Comparison(column=('user id',), operator='=', values=(Value(type='integer', content=7),))
    >>> parse_predicate("device.os IS NOT NULL")
    Comparison(column=('device', 'os'), operator='IS NOT NULL', values=())
    >>> parse_predicate("upper(a) = 'X'")
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: UPPER(a) is neither a column nor a value
    """
    with parsing():
        parsed = sqlglot.parse_one(text, dialect=limited_dialect("spark", _MOST_NODES_OF_PREDICATE))
    return _predicate(parsed, negated=False)


class TooLargeError(InvalidInputError):
    """A text or file that would take minutes or gigabytes to read; the message follows "because"."""


def limited_dialect(name: str | None, most: int = MOST_NODES) -> Dialect:
    """Return a dialect of sqlglot whose parser raises TooLargeError once it has made too many nodes.

    sqlglot tries alternatives, so that 30 times ``JOIN t`` without a condition would take days. Raises ValueError for
    an unknown name.

    Examples
    --------
    >>> sqlglot.parse_one("SELECT * FROM t " + "JOIN t " * 30, dialect=limited_dialect("spark"))
    Traceback (most recent call last):
    iceberg_zorder.rewrite.predicate.TooLargeError: its parser would make more than 50,000 nodes
    """
    dialect = Dialect.get_or_raise(name)

    class Limited(dialect.parser_class):  # type: ignore[misc,name-defined]
        def reset(self) -> None:
            super().reset()
            self.nodes = 0

        def expression(self, *args: Any, **kwargs: Any) -> Any:
            self.nodes += 1
            if self.nodes > most:
                raise TooLargeError(f"its parser would make more than {most:,} nodes")
            return super().expression(*args, **kwargs)

    dialect.parser_class = Limited
    return dialect


@contextmanager
def parsing(text: str = "") -> Iterator[None]:
    """Raise InvalidInputError with the reason if sqlglot cannot parse a text, whatever it fails with.

    If the text is given, it has a limit.
    """
    if len(text) > MOST_CHARACTERS:
        raise TooLargeError(f"it is longer than {MOST_CHARACTERS:,} characters")
    try:
        yield
    except InvalidInputError:
        raise
    except RecursionError as error:
        raise TooLargeError("it is nested too deeply") from error
    except Exception as error:
        # The parser fails with other errors, too, for instance with a ValueError for a LIMIT that is no number.
        kind = "" if isinstance(error, SqlglotError) else f"{type(error).__name__}: "
        raise InvalidInputError(f"it cannot be parsed: {kind}{_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    """Return the first line of an error, without terminal colours and names of sqlglot's classes."""
    line = re.sub(r"\x1b\[\d+m", "", str(error)).partition("\n")[0].strip().rstrip(".")
    return re.sub(r"Required keyword: '\w+' missing for <class '.*\.(\w+)'>", r"an operand of \1 is missing", line)


def _predicate(node: exp.Expr, *, negated: bool) -> Predicate:
    """Return the predicate for a condition being true, or false if ``negated``; NULL is neither."""
    node = node.unnest()
    if isinstance(node, exp.Not):
        return _predicate(node.this, negated=not negated)
    if isinstance(node, exp.And | exp.Or):
        parts = tuple(_predicate(each, negated=negated) for each in node.flatten(unnest=False))
        return And(parts) if isinstance(node, exp.And) != negated else Or(parts)
    if type(node) in _OPERATORS:
        return _comparison(node, _OPERATORS[type(node)], negated != isinstance(node, exp.NullSafeNEQ))
    if isinstance(node, exp.Boolean | exp.Null):
        return TRUE if node.args.get("this") is (not negated) else FALSE
    if isinstance(node, exp.Column | exp.Dot):
        return _test(node, "=", Value("boolean", True), negated=negated)
    return _function(node, negated)


def _test(node: exp.Expr, operator: str, *values: Value, negated: bool) -> Comparison:
    return Comparison(_column(node), OPPOSITES[operator] if negated else operator, values)


def _function(node: exp.Expr, negated: bool) -> Predicate:
    """Parse a function call, or refuse the condition."""
    if isinstance(node, exp.Is):
        return _is(node, negated)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        ends = [("low", ">="), ("high", "<=")]
        parts = tuple(_test(node.this, how, literal_value(node.args[end]), negated=negated) for end, how in ends)
        return Or(parts) if negated else And(parts)
    if isinstance(node, exp.In) and node.expressions and not any(node.args.get(key) for key in ("query", "unnest")):
        return _test(node.this, "IN", *map(literal_value, node.expressions), negated=negated)
    if isinstance(node, exp.Like):
        return _like(node, negated != bool(node.args.get("negate")))
    if isinstance(node, exp.StartsWith):
        prefix = _text(node.expression)
        if not prefix:
            return _test(node.this, "IS NOT NULL", negated=negated)
        return _test(node.this, "LIKE", Value("string", prefix), negated=negated)
    if isinstance(node, exp.IsNan):
        return _test(node.this, "isnan", negated=negated)
    if isinstance(node, exp.Anonymous) and node.name.lower() in ("isnull", "isnotnull") and len(node.expressions) == 1:
        return _test(node.expressions[0], "IS NULL", negated=negated != (node.name.lower() == "isnotnull"))
    raise InvalidInputError(
        f"{_shown(node)} is not supported: compare columns with values by =, <>, <, <=, >, >=, <=>, IN, BETWEEN, "
        "LIKE 'x%' or IS NULL, and join these by AND, OR and NOT"
    )


def _is(node: exp.Is, negated: bool) -> Predicate:
    if isinstance(node.expression, exp.Null):
        return _test(node.this, "IS NULL", negated=negated)
    if isinstance(node.expression, exp.Boolean):
        return _null_safe(node.this, Value("boolean", bool(node.expression.this)), negated)
    raise InvalidInputError(f"{_shown(node)} is neither IS NULL nor IS TRUE or FALSE")


def _null_safe(node: exp.Expr, value: Value, negated: bool) -> Predicate:
    if value == NULL:
        return _test(node, "IS NULL", negated=negated)
    if not negated:
        return Comparison(_column(node), "<=>", (value,))
    return Or((_test(node, "IS NULL", negated=False), _test(node, "=", value, negated=True)))


def _comparison(node: exp.Expr, operator: str, negated: bool) -> Predicate:
    left, right = node.this.unnest(), node.expression.unnest()
    if _is_column(left) and _is_column(right):
        raise InvalidInputError(f"{_shown(node)} compares two columns: file statistics cannot prune by that")
    if _is_column(right):
        left, operator, right = right, EXCHANGED.get(operator, operator), left
    if _is_column(left):
        value = literal_value(right)
        return _null_safe(left, value, negated) if operator == "<=>" else _test(left, operator, value, negated=negated)
    values = literal_value(left), literal_value(right)
    if operator == "=" and all(value.type == "integer" for value in values):
        # 1 = 1, which programs write in front of other conditions
        return TRUE if (values[0] == values[1]) != negated else FALSE
    raise InvalidInputError(f"{_shown(node)} compares two values: a name is quoted in backticks, as `a`")


def _like(node: exp.Like, negated: bool) -> Predicate:
    pattern = _text(node.expression)
    prefix = pattern.rstrip("%")
    if re.search(r"[%_\\]", prefix) or (pattern and not prefix):
        raise InvalidInputError(f"LIKE '{pattern}' is not a prefix such as LIKE 'x%'")
    return _test(node.this, "=" if prefix == pattern else "LIKE", Value("string", prefix), negated=negated)


def _is_column(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column | exp.Dot) and not isinstance(node.this, exp.Star)


def _column(node: exp.Expr) -> Name:
    node = node.unnest()
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        return tuple(part.name for part in node.parts)
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        return (*_column(node.this), node.expression.name)
    raise InvalidInputError(f"{_shown(node)} is not a column")


def _text(node: exp.Expr) -> str:
    content = literal_value(node).content
    if not isinstance(content, str):
        raise InvalidInputError(f"{_shown(node)} is not text")
    return content


def literal_value(node: exp.Expr) -> Value:
    """Read a literal, or a cast of one.

    Examples
    --------
    >>> literal_value(sqlglot.parse_one("CAST('7' AS INT)"))
    Value(type='integer', content=7)
    """
    node = node.unnest()
    if isinstance(node, exp.Null):
        return NULL
    if isinstance(node, exp.Boolean):
        return Value("boolean", bool(node.this))
    if isinstance(node, exp.Literal):
        return Value("string", node.this) if node.is_string else number(node.this)
    if isinstance(node, exp.RawString):
        return Value("string", node.this)
    if isinstance(node, exp.HexString):
        digits = str(node.this)
        return Value("binary", bytes.fromhex("0" * (len(digits) % 2) + digits))
    if isinstance(node, exp.Neg):
        return negative(literal_value(node.this))
    if isinstance(node, exp.Cast):
        return _cast(node)
    hint = r": write a quote inside a text as \'" if isinstance(node, exp.Concat) else ""
    raise InvalidInputError(f"{_shown(node)} is neither a column nor a value{hint}")


def _cast(node: exp.Cast) -> Value:
    to = node.args["to"]
    kind = TYPES.get(to.this)
    if kind is None or node.args.get("format"):
        raise InvalidInputError(f"{_shown(node)} is of a type without literals")
    parameters = [int(each.name) for each in to.expressions]
    precision, scale = (*parameters, *(10, 0)[len(parameters) :])
    return cast(literal_value(node.this), kind, precision=precision, scale=scale)


def _shown(node: exp.Expr) -> str:
    """Return a part of the condition as SQL, of 100 characters at most."""
    sql = node.sql(dialect="spark")
    return sql if len(sql) <= 100 else f"{sql[:97]}..."
