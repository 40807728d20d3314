"""Arguments that both engines take, as text: names, sort orders and options."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import parse_name, quoted_identifier
from iceberg_zorder.request.measures import size
from iceberg_zorder.request.sort_order import parse_sort_order

OptionValue = bool | int | float | str | Mapping[str, object]
"""The value of an option; a mapping, which option ``workload`` takes, is written as JSON."""

# One part of a dotted name: in backticks (doubled inside), or bare.
_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s`.,()'\"]+))\s*(\.|$)")


def name_parts(name: str) -> list[str]:
    """Split a dotted name into its parts.

    Examples
    --------
    >>> name_parts("lake.`my db`.events")
    ['lake', 'my db', 'events']
    """
    parts = []
    position = 0
    while True:
        match = _PART.match(name, position)
        if match is None:
            raise InvalidInputError(f"Cannot read the name '{name}', because no part of a name starts at {position}")
        quoted, bare, end = match.groups()
        parts.append(bare if quoted is None else quoted.replace("``", "`"))
        if not end:
            return parts
        position = match.end()


def sort_order_text(table: str, columns: Sequence[str] | str) -> str:
    """Return clustering columns as the text of ``sort_order``.

    Examples
    --------
    >>> sort_order_text("db.t", ["a", "b.`c d`"])
    'zorder(`a`, `b`.`c d`)'
    """
    if isinstance(columns, str):
        parse_sort_order(columns)
        return columns
    names = list(columns)
    if not names:
        raise InvalidInputError(f"Cannot rewrite {table}, because columns is empty: name the columns to cluster by")
    return f"zorder({', '.join(_quoted_column(table, name) for name in names)})"


def _quoted_column(table: str, name: str) -> str:
    if not isinstance(name, str):
        raise InvalidInputError(f"Cannot rewrite {table}, because columns holds {name!r}: pass names as text")
    try:
        parts = parse_name(name)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"Cannot rewrite {table}, because '{name}' is not the name of one column: "
            "pass one name per item, a part with special characters in backticks"
        ) from error
    return ".".join(quoted_identifier(part) for part in parts)


def spelled_alike(name: str, known: Sequence[str], otherwise: str) -> str:
    """Return the end of a message about an unknown name: the known name that is most alike, or ``otherwise``.

    Examples
    --------
    >>> spelled_alike("usr_id", ["id", "user_id"], "it has id, user_id"), spelled_alike("x", ["id"], "it has id")
    (" (did you mean 'user_id'?)", ': it has id')
    """
    near = get_close_matches(name, known, n=1)
    return f" (did you mean '{near[0]}'?)" if near else f": {otherwise}"


def option_text(name: object, value: object) -> str:
    """Return the value of an option as text that Iceberg reads.

    Examples
    --------
    >>> option_text("rewrite-all", True), option_text("target-file-size-bytes", 512e6), option_text("sample-seed", 7)
    ('true', '512000000', '7')
    >>> option_text("target-file-size-bytes", "128 MiB")
    '134217728'
    >>> option_text("target-file-size-bytes", "128 mb")
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot set target-file-size-bytes, because '128 mb' is not a size: bytes, \
or such as 10 GB or 512 MiB
    """
    if not isinstance(name, str):
        raise InvalidInputError(f"Cannot set the option {name!r}, because the name of an option is a text")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A number without a unit is checked with its domain.
        if name.endswith("-bytes") and re.search("[A-Za-z]", value):
            try:
                return str(size(value))
            except InvalidInputError as error:
                raise InvalidInputError(f"Cannot set {name}, because {error}") from None
        return value
    if isinstance(value, Mapping):
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"Cannot set {name}, because it is nothing that JSON can have: {error}") from error
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    raise InvalidInputError(f"Cannot set {name} to {value!r}, because it must be text, a finite number or a boolean")
