"""The option ``workload``: JSON, or the path of a JSON file."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.workload.workload import Query
from iceberg_zorder.workload.workload_json import from_json

_INLINE = "of option workload"
_LARGEST = 64 * 1024 * 1024
_LEAST, _MOST = 1e-300, 1e300
"""Limits of the total weight: within them, shares are exact enough."""


def workload_queries(text: str, read: Callable[[str, int], bytes]) -> tuple[Query, ...]:
    """Read the queries of option ``workload``.

    Examples
    --------
    >>> nowhere = lambda location, most: b""
    >>> workload_queries('{"version": 1, "queries": [{"filter": "a = 1", "weight": 2}]}', nowhere)
    (Query(filter='a = 1', weight=2.0, weaker=0.0),)
    >>> workload_queries('{"version": 1, "queries": []}', nowhere)
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use workload of option workload, because it has no query with a \
filter and a weight above 0
    """
    name = _INLINE if is_inline(text) else text
    found = from_json(text if is_inline(text) else _content(text, read), name)
    queries = tuple(each for each in found.queries if each.weight > 0)
    if not queries:
        raise InvalidInputError(
            f"Cannot use workload {name}, because it has no query with a filter and a weight above 0"
        )
    total = 0.0
    # Summed in order, as in Java.
    for each in queries:
        total += each.weight
    if not _LEAST <= total <= _MOST:
        raise InvalidInputError(
            f"Cannot use workload {name}, because its weights add up to {total!r}, and not to between {_LEAST} and "
            f"{_MOST}"
        )
    return queries


def is_inline(text: str) -> bool:
    """Return whether the option has the queries themselves, and names no file."""
    return text.lstrip().startswith("{")


def _content(location: str, read: Callable[[str, int], bytes]) -> str:
    try:
        content = read(location, _LARGEST + 1) if "://" in location else _file(location.removeprefix("file:"))
        if len(content) > _LARGEST:
            raise InvalidInputError(f"it has more than {_LARGEST:,} bytes")
        # Some programs write a byte order mark.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"Cannot read workload {location}, because it is not UTF-8 text") from error
    except Exception as error:  # storage libraries raise many kinds of errors
        raise InvalidInputError(f"Cannot read workload {location}, because {error}") from error


def _file(name: str) -> bytes:
    """Read a file up to a limit, because a table's property may name an endless or unresponsive file."""
    if not stat.S_ISREG(Path(name).stat().st_mode):
        raise InvalidInputError(f"{name} is not a file")
    with Path(name).open("rb") as stream:
        return stream.read(_LARGEST + 1)
