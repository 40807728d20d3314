"""The options of the zorder strategy itself; those of ``rewrite_data_files`` belong to Iceberg.

``docs/options.md`` has their domains, their defaults, and what they do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.boundaries import MAX_BOUNDARIES
from iceberg_zorder.layout.box_tree import ADAPTIVE
from iceberg_zorder.layout.cuts import EVEN
from iceberg_zorder.layout.grow import WORKLOAD_SHARE, WORKLOAD_TOLERANCE
from iceberg_zorder.request.metrics_check import FAIL, FIX, WARN
from iceberg_zorder.request.sort_order import parse_column_weights

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
# Longer numbers lie outside every domain, and Python refuses to read very long ones.
_INTEGER = re.compile(r"[+-]?0*[0-9]{1,20}")
_SAMPLE_ROWS_PER_FILE = 1_000
_SAMPLE_ROWS_AT_LEAST = 50_000
_SAMPLE_ROWS_AT_MOST = 1_000_000


@dataclass(frozen=True)
class ZOrderOptions:
    """Options of a layout, checked."""

    cuts: str = ADAPTIVE
    column_weights: tuple[tuple[tuple[str, ...], float], ...] = ()
    size_tolerance: float = 0.25
    sample_rows: int | None = None
    sample_seed: int = 0
    boundaries: int = 4096
    metrics_check: str = WARN
    dry_run: bool = False
    workload: str | None = None
    """JSON, or its address."""
    workload_share: float = WORKLOAD_SHARE

    def sample_rows_for(self, files: int) -> int:
        """Return how many rows to sample for a number of output files.

        Examples
        --------
        >>> [ZOrderOptions().sample_rows_for(files) for files in (1, 64, 5000)]
        [50000, 64000, 1000000]
        """
        if self.sample_rows is not None:
            return self.sample_rows
        return min(_SAMPLE_ROWS_AT_MOST, max(_SAMPLE_ROWS_AT_LEAST, _SAMPLE_ROWS_PER_FILE * files))


def _one_of(text: str, *known: str) -> str:
    if text not in known:
        raise ValueError(text)
    return text


def _number(text: str, *, is_one_in: bool) -> float:
    if not _NUMBER.fullmatch(text) or not (0 <= float(text) < 1 or (is_one_in and float(text) == 1)):
        raise ValueError(text)
    return float(text)


def _integer(text: str, least: int, most: int) -> int:
    if not _INTEGER.fullmatch(text) or not least <= int(text) <= most:
        raise ValueError(text)
    return int(text)


def _integers(least: int, most: int) -> tuple[str, Callable[[str], object]]:
    return f"an integer in [{least}, {most}]", partial(_integer, least=least, most=most)


_READ: dict[str, tuple[str, Callable[[str], object]]] = {
    "cuts": (f"'{ADAPTIVE}' or '{EVEN}'", lambda text: _one_of(text, ADAPTIVE, EVEN)),
    "column-weights": ("", parse_column_weights),
    "size-tolerance": ("a number in [0, 1)", partial(_number, is_one_in=False)),
    "sample-rows": _integers(1, 2**31 - 1),
    "sample-seed": _integers(-(2**63), 2**63 - 1),
    "boundaries": _integers(1, MAX_BOUNDARIES),
    "metrics-check": (f"'{WARN}', '{FAIL}' or '{FIX}'", lambda text: _one_of(text.lower(), WARN, FAIL, FIX)),
    "dry-run": ("true or false", lambda text: _one_of(text.lower(), "true", "false") == "true"),
    "workload": ("", str),
    "workload-share": ("a number in [0, 1]", partial(_number, is_one_in=True)),
}
"""For each option its domain in words, and its parser; without words the parser has its own messages."""
LAYOUT_OPTIONS = tuple(_READ)
"""The names of these options."""


def zorder_options(options: Mapping[str, str]) -> ZOrderOptions:
    """Return our own options, checked.

    Examples
    --------
    >>> zorder_options({"boundaries": "255", "rewrite-all": "true"}).boundaries
    255
    >>> zorder_options({"boundaries": "0"})
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot set boundaries to '0', because it must be an integer in [1, 65536]
    """
    found: dict[str, Any] = {
        name.replace("-", "_"): read_option(name, options[name], *_READ[name]) for name in _READ if name in options
    }
    if "workload" not in found and "workload_share" in found:
        raise InvalidInputError("Cannot use option workload-share, because option workload is not given")
    if "workload" in found:
        if found.get("cuts") == EVEN:
            raise InvalidInputError(
                f"Cannot use option workload with cuts '{EVEN}', because only adaptive cuts follow queries"
            )
        found.setdefault("size_tolerance", WORKLOAD_TOLERANCE)
    return ZOrderOptions(**found)


def read_option(name: str, text: str, words: str, parse: Callable[[str], object]) -> object:
    """Parse the value of an option; the error says that it must be ``words``."""
    try:
        return parse(text)
    except InvalidInputError:
        raise
    except ValueError as error:
        raise InvalidInputError(f"Cannot set {name} to '{text}', because it must be {words}") from error
