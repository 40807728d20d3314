"""Values that columns are compared with, as edges among the columns' keys."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timezone
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import pyarrow as pa

from iceberg_zorder.layout.keys import NAN, NULL, VALUE, domain, encode
from iceberg_zorder.request.predicate_values import Value, as_date, as_timestamp
from iceberg_zorder.workload.boxes.key_ranges import NOT_NULL, Edge, KeyRange

_EPOCH = datetime(1970, 1, 1)
_MICROSECONDS_OF_A_DAY = 86_400_000_000
_NANOSECONDS = 1_000
_TOP_OF_INT, _TOP_OF_LONG, _TOP_OF_DECIMAL = 1 << 31, 1 << 63, 1 << 127


def compared(type_name: str, operator: str, value: Value) -> tuple[KeyRange, ...]:
    r"""Find the keys of which a comparison is true.

    Numbers are compared exactly, and NaN lies above all of them, as Spark has it.

    Examples
    --------
    >>> compared("int", "<", Value("decimal", Decimal("5.5")))
    (KeyRange(start=(0,), stop=(0, 6)),)
    >>> compared("string", "<>", Value("string", "a"))
    (KeyRange(start=(0,), stop=(0, b'a')), KeyRange(start=(0, b'a\x00'), stop=(2,)))
    >>> compared("int", "=", Value("decimal", Decimal("5.5")))
    ()
    """
    edges = _edges(type_name, value)
    if edges is None:
        return (NOT_NULL,)
    at, after = edges
    if operator == "<>" and type_name == "boolean":
        return compared(type_name, "=", Value("boolean", at == (VALUE, 0)))
    if operator == "<>" and at == after:
        return (NOT_NULL,)
    below, above = KeyRange(NOT_NULL.start, at), KeyRange(after, NOT_NULL.stop)
    found = {
        "=": (KeyRange(at, after),),
        "<>": (below, above),
        "<": (below,),
        "<=": (KeyRange(NOT_NULL.start, after),),
        ">": (above,),
        ">=": (KeyRange(at, NOT_NULL.stop),),
    }[operator]
    return tuple(each for each in found if not each.is_empty)


def prefixed(type_name: str, prefix: str) -> KeyRange:
    """Find the keys of the values that begin with a prefix.

    Examples
    --------
    >>> prefixed("string", "ab")
    KeyRange(start=(0, b'ab'), stop=(0, b'ac'))
    """
    encoded = _encoded(prefix)
    if type_name != "string" or not encoded:
        return NOT_NULL
    # No byte of UTF-8 is 255.
    return KeyRange((VALUE, encoded), (VALUE, encoded[:-1] + bytes([encoded[-1] + 1])))


def _edges(type_name: str, value: Value) -> tuple[Edge, Edge] | None:
    """Find the edges before and behind a value; None if keys do not show how it is compared."""
    if type_name in ("float", "double"):
        return _of_floating(value)
    if type_name in ("string", "binary", "uuid") or type_name.startswith("fixed"):
        key = _bytes(type_name, value)
        return None if key is None else ((VALUE, key), (VALUE, key + b"\0"))
    number = _units(type_name, value)
    if number is None:
        return None
    return _before(type_name, math.ceil(number)), _before(type_name, math.floor(number) + 1)


def _before(type_name: str, unit: int) -> Edge:
    """Find the edge before a whole number of a type's units; no such type has NaN."""
    is_long = domain(type_name) == "long"
    top = _TOP_OF_INT if type_name == "int" else _TOP_OF_LONG if is_long else _TOP_OF_DECIMAL
    if unit >= top:
        return (NULL,)
    if unit <= -top:
        return (VALUE,)
    return VALUE, unit if is_long else (unit + top).to_bytes(16, "big")


def _of_floating(value: Value) -> tuple[Edge, Edge] | None:
    content = value.content
    if isinstance(content, bool) or not isinstance(content, int | float | Decimal):
        return None
    try:
        double = float(content)
    except OverflowError:
        return None
    if math.isnan(double):
        return (NAN,), (NULL,)
    key = int(encode(pa.array([double]), "double").keys[0])
    return (VALUE, key), (VALUE, key + 1)


def _units(type_name: str, value: Value) -> Fraction | None:
    """Find a value as a number of what the keys of a type count."""
    content = value.content
    if type_name in ("int", "long") or type_name.startswith("decimal"):
        scale = int(type_name.rstrip(")").split(",")[1]) if type_name.startswith("decimal") else 0
        number = _number(content, is_int=type_name == "int")
        return None if number is None else number * 10**scale
    if type_name == "boolean":
        return {"true": Fraction(1), "false": Fraction(0)}.get(str(content).lower())
    if type_name == "date":
        content = as_date(content) if isinstance(content, str) else content
        return Fraction(_microseconds(content), _MICROSECONDS_OF_A_DAY) if isinstance(content, date) else None
    if type_name == "time":
        return _of_day(content)
    if type_name.startswith("timestamp"):
        if isinstance(content, str):
            content = as_timestamp(content, has_zone=type_name.startswith("timestamptz"))
        units = _NANOSECONDS if type_name.endswith("_ns") else 1
        return Fraction(_microseconds(content) * units) if isinstance(content, date) else None
    return None


def _number(content: object, *, is_int: bool) -> Fraction | None:
    if isinstance(content, int | Decimal) and not isinstance(content, bool):
        return Fraction(content) if isinstance(content, int) or content.is_finite() else None
    # Every int is a double, but not every long, nor every decimal.
    return Fraction(content) if is_int and isinstance(content, float) and math.isfinite(content) else None


def _of_day(content: object) -> Fraction | None:
    try:
        moment = time.fromisoformat(content) if isinstance(content, str) else None
    except ValueError:
        return None
    return None if moment is None else Fraction(_microseconds(datetime.combine(_EPOCH, moment.replace(tzinfo=None))))


def _bytes(type_name: str, value: Value) -> bytes | None:
    content = value.content
    if type_name == "uuid":
        try:
            return UUID(content).bytes if isinstance(content, str) else None
        except ValueError:
            return None
    if type_name == "string":
        return _encoded(content) if isinstance(content, str) else None
    return content if isinstance(content, bytes) else _encoded(content) if isinstance(content, str) else None


def _encoded(text: str) -> bytes | None:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _microseconds(moment: date) -> int:
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    passed = (moment.astimezone(timezone.utc).replace(tzinfo=None) if moment.tzinfo else moment) - _EPOCH
    return passed.days * _MICROSECONDS_OF_A_DAY + passed.seconds * 1_000_000 + passed.microseconds
