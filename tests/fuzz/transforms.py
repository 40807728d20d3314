"""Iceberg's partition transforms, on plain Python values."""

import re
from typing import Any

from pyiceberg.transforms import parse_transform
from pyiceberg.types import IcebergType, NestedField

_TIMES = ("timestamp", "timestamptz")


def apply(transform: str, of: str, value: Any) -> Any:
    """Transform a value of a type.

    >>> apply("bucket[16]", "int", 34), apply("bucket[128]", "string", "iceberg"), apply("truncate[10]", "int", -1)
    (3, 89, -10)
    >>> apply("month", "date", -1), apply("hour", "timestamp", -1), apply("year", "timestamp", 0)
    (-1, -1, 0)
    """
    found = parse_transform(transform).transform(iceberg_type(of))(value)
    if transform.startswith("truncate") and of in ("int", "long"):
        # Java's arithmetic goes round at the smallest numbers.
        modulus = 1 << (32 if of == "int" else 64)
        return None if found is None else (found + modulus // 2) % modulus - modulus // 2
    return found


def iceberg_type(of: str) -> IcebergType:
    """The type of a name."""
    field = {"id": 1, "name": "x", "type": of, "required": False}
    return NestedField.model_validate(field).field_type


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
