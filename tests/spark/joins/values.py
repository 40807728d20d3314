"""Keys of every type that Spark reads from Iceberg: values by number, which rise with it, and where they stand in SQL."""

import datetime
import hashlib
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from tests.fuzz.transforms import applicable
from tests.fuzz.types import decimal_of, identity, is_floating, is_nan, length_of

# Spark refuses every table that has a column of type time or timestamp_ns.
TYPES = (
    *("boolean", "int", "long", "float", "double", "decimal(9,2)", "decimal(18,3)", "decimal(38,4)"),
    *("date", "timestamp", "timestamptz", "string", "binary", "uuid", "fixed[4]"),
)

_TRANSFORMS = ("none", "identity", "bucket", "truncate", "year", "month", "day", "hour", "void")

PAIRS = tuple(
    (of, transform) for transform in _TRANSFORMS for of in TYPES if transform == "none" or transform in applicable(of)
)
"""Every type with every partition transform that it may have; ``none`` is a table without partitions."""

NARROWER = {"long": "int", "double": "float", "decimal(18,3)": "decimal(9,3)", "decimal(38,4)": "decimal(12,4)"}
"""Types that columns are promoted from."""

WIDER = {"int": "long", "float": "double", "decimal(9,2)": "decimal(12,4)", "uuid": "string", "date": "timestamp"}
"""Types of a small side that make Spark cast the large side's key."""

BAD_TEXT = "M\udcc0A"
"""Text that is not UTF-8, its bytes as Python escapes them: below 'Mé', but its bound, with U+FFFD, lies above."""

_SUFFIXES = ("", "0", "C", "a", "z", "Ã", "é", "\uffff", "😀")
_TEXTS = sorted(
    {prefix + suffix for prefix in ("", "M", "a common prefix of keys ", "é", "😀") for suffix in _SUFFIXES}
)
_BLOBS = sorted(
    {a + b for a in (b"", b"M", b"\x7f", b"a" * 20, b"\xff") for b in (b"", b"\x00", b"C", b"\x80", b"\xff\xff")}
)
_DAY = 86_400


@dataclass(frozen=True)
class Scale:
    """How far apart the values of neighbouring numbers are, how many numbers there are, and a transform that parts them."""

    step: int
    numbers: int
    transform: str
    edges: bool = False

    @property
    def low(self) -> int:
        return -(self.numbers // 2)

    @property
    def high(self) -> int:
        return self.low + self.numbers - 1


def scale(rng: random.Random, of: str, transform: str) -> Scale:
    """Draw a scale by which a transform makes some partitions, and not one for each value."""
    numbers = 10 if transform == "identity" or (of, transform) == ("date", "day") else 40
    step = rng.choice([1, 1000003]) if of in ("int", "long") or of.startswith("decimal") else rng.choice([1, 17])
    if of == "date":
        step = {"year": 60, "month": 6, "day": 1}.get(transform, step)
    if of in ("timestamp", "timestamptz"):
        step = {"year": 60 * _DAY, "month": 6 * _DAY, "day": 4 * 3600, "hour": 600}.get(transform, step * 427)
    if transform == "bucket":
        transform = f"bucket[{rng.choice([2, 4])}]"
    if transform == "truncate":
        of_bytes = of in ("string", "binary")
        transform = f"truncate[{rng.choice([1, 3]) if of_bytes else step * rng.choice([5, 15])}]"
    # JSON has no infinity, and what is truncated may have more digits than its type.
    without_edges = is_floating(of) if transform == "identity" else of.startswith("decimal") and "truncate" in transform
    return Scale(step, numbers, transform, edges=not without_edges and rng.random() < 0.2)


def value(of: str, number: int, by: Scale) -> Any:
    """A value as ``tests.fuzz.types`` has them; numbers outside of the scale have values, too."""
    if by.edges and number in (by.low, by.high) and (edge := _edge(of, number == by.high)) is not None:
        return edge
    spread, place = number * by.step, number - by.low
    if of == "boolean":
        return number % 2 == 0
    if is_floating(of):
        return {-1: -0.0, 7: float("nan")}.get(number, spread / 4)
    if of.startswith("decimal"):
        return Decimal(f"{spread}E-{decimal_of(of)[1]}")
    if of in ("timestamp", "timestamptz"):
        return spread * 1_000_000 + number % 3 * 1000
    if of == "string":
        return _TEXTS[place] if 0 <= place < len(_TEXTS) else f"zz {number:05}"
    if of == "binary":
        return _BLOBS[place] if 0 <= place < len(_BLOBS) else b"zz" + (number + 10_000).to_bytes(3, "big")
    return _bytes(of, number, by) if of == "uuid" or of.startswith("fixed") else spread


def _bytes(of: str, number: int, by: Scale) -> bytes:
    if of == "uuid" and by.step != 1:
        return hashlib.md5(str(number).encode()).digest()
    # Half of them have the first bit, which makes signed numbers negative.
    length = 16 if of == "uuid" else length_of(of)
    return ((number + 512) << (8 * length - 10)).to_bytes(length, "big")


def _edge(of: str, is_high: bool) -> Any:
    if of in ("int", "long"):
        most = (1 << (31 if of == "int" else 63)) - 1
        return most if is_high else -most - 1
    if of.startswith("decimal"):
        precision, digits = decimal_of(of)
        most = 10**precision - 1
        return Decimal(f"{most if is_high else -most}E-{digits}")
    return float("inf" if is_high else "-inf") if is_floating(of) else None


def joined(of: str, key: Any) -> Any:
    """A key by which Spark's joins find it: all NaN are one, and so are both zeros."""
    if is_floating(of) and key is not None and not is_nan(key):
        return key + 0.0
    return identity(key)


def converted(key: Any, of: str, to: str) -> Any:
    """A key as a column of a wider type has it."""
    if key is None or of == to:
        return key
    if of == "uuid" and to == "string":
        return str(UUID(bytes=key))
    return key * _DAY * 1_000_000 if of == "date" and to == "timestamp" else key


def literal(key: Any, of: str) -> str | None:
    """SQL of a key; None for types whose filters Iceberg and Spark see apart."""
    if key is None or is_floating(of) or of in ("uuid", "fixed[4]"):
        return None
    if of == "boolean":
        return str(key).lower()
    if of in ("int", "long") or of.startswith("decimal"):
        return f"{key:f}BD" if isinstance(key, Decimal) else f"{key}L"
    if of == "date":
        return f"date_add(date'1970-01-01', {key})"
    if of == "timestamptz":
        return f"timestamp_micros({key})"
    if of == "timestamp":
        return f"cast(timestamp_micros({key}) AS timestamp_ntz)"
    text = key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key
    return f"cast(X'{text.hex()}' AS string)" if of == "string" else f"X'{text.hex()}'"


def in_partition(key: Any, of: str) -> Any:
    """A partition's value as Iceberg's JSON of files has it."""
    if key is None or of in ("boolean", "int", "long", "float", "double"):
        return key
    if of == "string":
        return key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if of == "date":
        return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=key))
    if of in ("timestamp", "timestamptz"):
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=key)
        return moment.isoformat(timespec="microseconds") + ("+00:00" if of == "timestamptz" else "")
    if of.startswith("decimal"):
        return f"{key:f}"
    return str(UUID(bytes=key)) if of == "uuid" else key.hex().upper()
