"""Predicates as text of Spark SQL, which :func:`~iceberg_zorder.rewrite.predicate.parse_predicate` reads back."""

from __future__ import annotations

import math
import re
from datetime import datetime
from decimal import Decimal
from functools import cache

from sqlglot.dialects.spark import Spark

from iceberg_zorder.layout.columns import quoted_name, quoted_text
from iceberg_zorder.rewrite.predicate import And, Comparison, Name, Predicate, Value, in_utc

_PLAIN_PREFIX = re.compile(r"[^%_\\]+")


def predicate_text(predicate: Predicate) -> str:
    r"""Return a predicate as Spark SQL.

    Timestamps are in UTC with the zone, so that they mean the same in sessions of any time zone.

    Examples
    --------
    >>> from iceberg_zorder.rewrite.predicate import parse_predicate
    >>> text = predicate_text(parse_predicate("a=1 and (`user id` in (1,2) or not s like 'x%')"))
    >>> text
    "a = 1 AND (`user id` IN (1, 2) OR s NOT LIKE 'x%')"
    >>> predicate_text(parse_predicate(text)) == text
    True
    """
    if not isinstance(predicate, Comparison):
        if not predicate.predicates:
            return "TRUE" if isinstance(predicate, And) else "FALSE"
        joint = " AND " if isinstance(predicate, And) else " OR "
        return joint.join(_inside(each) for each in predicate.predicates)
    column, operator, values = column_text(predicate.column), predicate.operator, predicate.values
    if operator.endswith("isnan"):
        return f"{operator}({column})"
    if operator.endswith("IN"):
        return f"{column} {operator} ({', '.join(map(value_text, values))})"
    if operator.endswith("LIKE"):
        prefix = str(values[0].content)
        if not _PLAIN_PREFIX.fullmatch(prefix):
            # In LIKE, the meaning of % and _ in the prefix depends on escapes.
            return f"{operator.removesuffix('LIKE')}startswith({column}, {quoted_text(prefix)})"
        values = (Value("string", f"{prefix}%"),)
    return " ".join([column, operator, *map(value_text, values)])


def column_text(name: Name) -> str:
    """Return a column's name, in backticks unless it is a plain word and not a SQL keyword.

    Examples
    --------
    >>> column_text(("s", "date", "x y"))
    's.`date`.`x y`'
    """
    return ".".join(f"`{part}`" if part.upper() in _keywords() else quoted_name((part,)) for part in name)


def value_text(value: Value) -> str:
    """Return a value as a literal of its type.

    Examples
    --------
    >>> [value_text(Value("double", each)) for each in (1.5, 1e300, float("nan"))]
    ['1.5D', '1e+300', "CAST('NaN' AS DOUBLE)"]
    """
    content = value.content
    if content is None:
        return "NULL"
    if isinstance(content, bool):
        return str(content).upper()
    if isinstance(content, bytes):
        return f"X'{content.hex().upper()}'"
    if isinstance(content, str):
        return quoted_text(content)
    if isinstance(content, Decimal):
        text = f"{content:f}"
        return text if "." in text else f"{text}.0"
    if isinstance(content, float):
        return _float(content, value.type)
    if isinstance(content, int):
        return str(content)
    if isinstance(content, datetime):
        has_zone = value.type == "timestamp"
        text = in_utc(content).isoformat(" ")
        return f"{value.type.upper()} '{text.rstrip('0') if '.' in text else text}{'Z' * has_zone}'"
    return f"DATE '{content.isoformat()}'"


def _float(content: float, kind: str) -> str:
    if math.isfinite(content) and kind == "double":
        return repr(content) if "e" in repr(content) else f"{content!r}D"
    name = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(content, "NaN" if math.isnan(content) else repr(content))
    return f"CAST('{name}' AS {kind.upper()})"


def _inside(predicate: Predicate) -> str:
    text = predicate_text(predicate)
    return text if isinstance(predicate, Comparison) or len(predicate.predicates) < 2 else f"({text})"


@cache
def _keywords() -> frozenset[str]:
    return frozenset(Spark.Tokenizer.KEYWORDS)
