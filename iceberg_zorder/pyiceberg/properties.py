"""Numbers among the properties of tables."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_zorder.errors import InvalidInputError


def whole_number(properties: Mapping[str, str], name: str, default: int, *, least: int | None = None) -> int:
    """Read a property that is a whole number.

    Examples
    --------
    >>> whole_number({"a": "7"}, "a", 1), whole_number({}, "a", 1)
    (7, 1)
    >>> whole_number({"a": "x"}, "a", 1)
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use a = 'x', because it is no whole number
    """
    text = properties.get(name)
    try:
        value = int(text) if text else default
    except ValueError as error:
        raise InvalidInputError(f"Cannot use {name} = '{text}', because it is no whole number") from error
    if least is not None and value < least:
        raise InvalidInputError(f"Cannot use {name} = '{text}', because it must be at least {least}")
    return value
