"""Sizes and durations with units.

Libraries for these accept too much (``1,000 GB`` is one byte, ``1 hour and 3 miles`` one hour, ``3*4 h`` half a day),
or had no release for years.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

from iceberg_zorder.errors import InvalidInputError

_MEASURE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)")
_SIZES = {"B": 1} | {
    f"{letter}{suffix}": base ** (power + 1)
    for suffix, base in (("B", 1000), ("iB", 1024))
    for power, letter in enumerate("KMGTP")
}
_DURATIONS = {
    unit: seconds
    for units, seconds in (
        ("s second seconds", 1),
        ("min minute minutes", 60),
        ("h hour hours", 3_600),
        ("d day days", 86_400),
        ("w week weeks", 604_800),
    )
    for unit in units.split()
}


def size(value: int | str) -> int:
    """Return a size in bytes.

    Examples
    --------
    >>> size(512), size("10 GB"), size("512 MiB"), size("1.5KiB")
    (512, 10000000000, 536870912, 1536)
    """
    return int(_measured(value, _SIZES, "a size: bytes, or such as 10 GB or 512 MiB"))


def duration(value: int | str) -> timedelta:
    """Return a duration.

    Examples
    --------
    >>> print(duration(90), duration("2 h"), duration("1.5 days"))
    0:01:30 2:00:00 1 day, 12:00:00
    """
    form = "a duration: seconds, or such as 5 minutes, 2 h or 1 day"
    seconds = _measured(value, _DURATIONS, form)
    if seconds > 100_000 * 86_400:
        raise InvalidInputError(f"'{value}' is longer than 100,000 days")
    return timedelta(seconds=float(seconds))


def _measured(value: int | str, units: dict[str, int], form: str) -> Decimal:
    if isinstance(value, int):
        return Decimal(value)
    found = _MEASURE.fullmatch(value)
    if found is None or found[2] not in units:
        raise InvalidInputError(f"'{value}' is not {form}")
    return Decimal(found[1]) * units[found[2]]
