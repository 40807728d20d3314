"""Iceberg's partition transforms in plain Python, by the specification's appendix B."""

from __future__ import annotations

import datetime
import re
import struct
from typing import Any

from tests.fuzz.types import decimal_of, unscaled, unscaled_bytes

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY = 86_400_000_000
_TIMES = ("timestamp", "timestamptz")


def apply(transform: str, of: str, value: Any) -> Any:
    """Transform a value of a type.

    >>> apply("bucket[16]", "int", 34), apply("bucket[128]", "string", "iceberg"), apply("truncate[10]", "int", -1)
    (3, 89, -10)
    >>> apply("month", "date", -1), apply("hour", "timestamp", -1), apply("year", "timestamp", 0)
    (-1, -1, 0)
    """
    if value is None or transform == "void":
        return None
    name, _, argument = transform.rstrip("]").partition("[")
    if name == "identity":
        return value
    if name == "bucket":
        return (_murmur3(_hashed(of, value)) & 0x7FFFFFFF) % int(argument)
    if name == "truncate":
        return _truncated(of, value, int(argument))
    if name == "hour":
        return value // 3_600_000_000
    day = value // _DAY if of in _TIMES else value
    if name == "day":
        return day
    year, month = _civil(day)
    return year - 1970 if name == "year" else (year - 1970) * 12 + month - 1


def result_type(transform: str, of: str) -> str:
    """Tell the type of a partition's field."""
    if transform == "day":
        return "date"
    return of if transform.startswith(("identity", "truncate")) else "int"


def applicable(of: str) -> list[str]:
    """List transforms of a type, without their arguments."""
    found = ["identity", "void"]
    if of in ("int", "long", "date", "time", *_TIMES, "string", "uuid", "binary") or re.match("decimal|fixed", of):
        found.append("bucket")
    if of in ("int", "long", "string", "binary") or of.startswith("decimal"):
        found.append("truncate")
    if of in ("date", *_TIMES):
        found += ["year", "month", "day"]
    if of in _TIMES:
        found.append("hour")
    return found


def _truncated(of: str, value: Any, width: int) -> Any:
    if of.startswith("decimal"):
        number = unscaled(value, of)
        return type(value)(f"{number - number % width}E-{decimal_of(of)[1]}")
    if isinstance(value, str | bytes):
        return value[:width]
    # Java's arithmetic goes round at the smallest numbers.
    modulus = 1 << (32 if of == "int" else 64)
    return (value - value % width + modulus // 2) % modulus - modulus // 2


def _hashed(of: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, int):
        return struct.pack("<q", value)
    if of.startswith("decimal"):
        return unscaled_bytes(unscaled(value, of))
    return bytes(value)


def _civil(day: int) -> tuple[int, int]:
    """Year and month of a day, whatever the year."""
    cycles, rest = divmod(day + _EPOCH - 1, 146_097)  # days of 400 years
    date = datetime.date.fromordinal(rest + 1)
    return date.year + 400 * cycles, date.month


def _murmur3(data: bytes) -> int:
    """Murmur3, 32 bits, x86, seed 0."""
    h = 0
    rounded = len(data) & ~3
    for start in range(0, rounded, 4):
        h = _rotated(h ^ _mixed(int.from_bytes(data[start : start + 4], "little")), 13) * 5 + 0xE6546B64 & 0xFFFFFFFF
    h ^= _mixed(int.from_bytes(data[rounded:], "little")) if rounded < len(data) else 0
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


def _mixed(k: int) -> int:
    return _rotated(k * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & 0xFFFFFFFF
