"""A table's defaults for rewrites: properties ``zorder.columns``, ``zorder.options`` and ``zorder.workload``."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.box_tree import EVEN
from iceberg_zorder.rewrite.sort_order import parse_column_weights, parse_sort_order

_LOG = logging.getLogger(__name__)
_WEIGHTS = "column-weights"
_WORKLOAD, _WORKLOAD_SHARE = "workload", "workload-share"
_NO_DEFAULTS = {
    "dry-run": "is for a single call: no later call would write anything",
    "spill-directory": "is a directory of the machine that rewrites: pass it as an option of the call",
}

COLUMNS_PROPERTY = "zorder.columns"
"""The sort order, as a rewrite takes it."""
OPTIONS_PROPERTY = "zorder.options"
"""Options as ``name=value``, separated by semicolons."""
WORKLOAD_PROPERTY = "zorder.workload"
"""Option ``workload``; a property of its own, because its text may have semicolons."""


def remembered_options(table: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options in a table's property ``zorder.options``.

    Examples
    --------
    >>> remembered_options("db.t", {"zorder.options": "target-file-size-bytes=67108864; column-weights=a=3,b=0.5;"})
    {'target-file-size-bytes': '67108864', 'column-weights': 'a=3,b=0.5'}
    >>> remembered_options("db.t", {"zorder.options": "rewrite-all"})
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use property zorder.options = 'rewrite-all' of db.t, because \
'rewrite-all' is not of the form name=value
    """
    text = properties.get(OPTIONS_PROPERTY, "")
    options: dict[str, str] = {}
    for pair in text.split(";"):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not name and not equals:
            continue
        why = None
        if not (name and equals):
            why = "is not of the form name=value"
        elif name in options:
            why = "sets an option twice"
        elif name in _NO_DEFAULTS:
            why = _NO_DEFAULTS[name]
        if why:
            raise InvalidInputError(
                f"Cannot use property {OPTIONS_PROPERTY} = '{text}' of {table}, because '{pair.strip()}' {why}"
            )
        options[name] = value
    return options


def completed_options(
    table: str,
    properties: Mapping[str, str],
    options: Mapping[str, str],
    sort_order: str | None = None,
    *,
    case_sensitive: bool = False,
) -> dict[str, str]:
    """Return the options of a call, completed by the table's defaults; the call's options win.

    The table's column weights are ignored, with a warning, if the call names other columns. The table's workload is
    ignored with even cuts, or if the call has an empty workload.

    Examples
    --------
    >>> properties = {"zorder.options": "cuts=adaptive; column-weights=a=3,b=0.5"}
    >>> completed_options("db.t", properties, {"rewrite-all": "true"}, "zorder(B, a, c)")
    {'cuts': 'adaptive', 'column-weights': 'a=3,b=0.5', 'rewrite-all': 'true'}
    >>> completed_options("db.t", properties, {"rewrite-all": "true"}, "zorder(b, c)")
    {'cuts': 'adaptive', 'rewrite-all': 'true'}
    >>> completed_options("db.t", {"zorder.workload": "s3://lake/workload.json"}, {})
    {'workload': 's3://lake/workload.json'}
    >>> completed_options("db.t", {"zorder.workload": "s3://lake/workload.json"}, {"workload": ""})
    {}
    """
    remembered = remembered_options(table, properties)
    weights = remembered.get(_WEIGHTS)
    if sort_order is not None and weights is not None and _WEIGHTS not in options:
        weighted = {_folded(parts, case_sensitive) for parts, _ in parse_column_weights(weights)}
        if not weighted <= {_folded(parts, case_sensitive) for parts in parse_sort_order(sort_order).columns}:
            _LOG.warning("Ignored %s = '%s' of %s, because they are for other columns", _WEIGHTS, weights, table)
            del remembered[_WEIGHTS]
    found = {**remembered, **options}
    if WORKLOAD_PROPERTY in properties:
        found.setdefault(_WORKLOAD, properties[WORKLOAD_PROPERTY])
    if (found.get("cuts") == EVEN and _WORKLOAD not in options) or found.get(_WORKLOAD) == "":
        found.pop(_WORKLOAD, None)
        if _WORKLOAD_SHARE not in options:
            found.pop(_WORKLOAD_SHARE, None)
    return found


def check_remembered_workload(table: str, location: str, text: str) -> None:
    """Refuse a workload in a table's property that is outside of the table's location.

    The rewrite reads the workload with its own permissions, and other users may be allowed to set properties.

    Examples
    --------
    >>> check_remembered_workload("db.t", "file:/lake/db/t", "file:///lake/db/t/workload.json")
    >>> check_remembered_workload("db.t", "s3://lake/db/t", "/etc/passwd")
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use the workload that a property of db.t names, because \
/etc/passwd is not below the table's location s3://lake/db/t: move the file there, or pass its path as option \
workload
    """
    home = location.rstrip("/")
    # Hadoop writes file:/x for file:///x.
    lies, below = (re.sub("^file:/+", "file:/", each) for each in (text, f"{home}/"))
    if text.lstrip().startswith("{") or (lies.startswith(below) and ".." not in text.split("/")):
        return
    raise InvalidInputError(
        f"Cannot use the workload that a property of {table} names, because {text} is not below the table's location "
        f"{home}: move the file there, or pass its path as option workload"
    )


def _folded(parts: tuple[str, ...], case_sensitive: bool) -> tuple[str, ...]:
    return parts if case_sensitive else tuple(part.lower() for part in parts)


def options_property(options: Mapping[str, str]) -> str:
    """Return options as the text of the property.

    Examples
    --------
    >>> options_property({"rewrite-all": "true", "cuts": "even"})
    'rewrite-all=true; cuts=even'
    >>> options_property({"dry-run": "true"})
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot store dry-run as a table's default, because it is for a \
single call: no later call would write anything
    """
    for name, value in options.items():
        if name in _NO_DEFAULTS:
            raise InvalidInputError(f"Cannot store {name} as a table's default, because it {_NO_DEFAULTS[name]}")
        if ";" in value:
            raise InvalidInputError(
                f"Cannot store {name} = '{value}' as a table's default, because semicolons separate options there"
            )
    return "; ".join(f"{name}={value}" for name, value in options.items())
