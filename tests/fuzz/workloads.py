"""Random workloads: what queries ask of a table, as the option takes it."""

from __future__ import annotations

import json
import random
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from math import isnan
from typing import Any

from iceberg_zorder.request.predicate import And, Comparison, In, IsNan, IsNull, Not, Or, Predicate, StartsWith
from iceberg_zorder.request.predicate_values import Value
from iceberg_zorder.workload.predicate_text import predicate_text
from tests.fuzz import filters
from tests.fuzz.filters import Filter
from tests.fuzz.histories import History

_KINDS = {
    "boolean": "boolean",
    "int": "integer",
    "long": "integer",
    "float": "double",
    "double": "double",
    "string": "string",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
}
_WEIGHTS = (0.0, 1.0, 1.0, 2.5, 1e-9, 1e12)


def draw(rng: random.Random, history: History) -> str | None:
    """Draw some queries; None where no column can be asked for."""
    drawn = filters.draw(rng, history.metadata.schema, history.read(), 60)
    parts = [each for each in map(_predicate, drawn) if each is not None]
    if not parts:
        return None
    queries = [
        {"filter": predicate_text(_joined(rng, parts)), "weight": rng.choice(_WEIGHTS)}
        for _ in range(rng.choice([1, 3, 20]))
    ]
    queries.append({"filter": predicate_text(rng.choice(parts)), "weight": 1})
    return json.dumps({"version": 1, "queries": queries})


def _joined(rng: random.Random, parts: list[Predicate]) -> Predicate:
    some = tuple(rng.choice(parts) for _ in range(rng.choice([1, 1, 2, 3])))
    if len(some) == 1:
        return some[0] if rng.random() < 0.9 else Not(some[0])
    return And(some) if rng.random() < 0.7 else Or(some)


def _predicate(one: Filter) -> Predicate | None:
    name, operator = one.leaf.names, one.operator
    if operator in ("null", "notnull"):
        return IsNull(name) if operator == "null" else Not(IsNull(name))
    if operator in ("nan", "notnan"):
        return IsNan(name) if operator == "nan" else Not(IsNan(name))
    if operator == "starts":
        return StartsWith(name, one.value) if one.leaf.type == "string" else None
    value = _value(one.leaf.type, one.value)
    if value is None:
        return None
    return (
        In(name, (value, value))
        if operator == "=" and isinstance(one.value, str)
        else Comparison(name, operator, value)
    )


def _value(of: str, value: Any) -> Value | None:
    kind = "decimal" if isinstance(value, Decimal) else _KINDS.get(of)
    if kind is None or (isinstance(value, float) and isnan(value)):
        return None
    try:
        if of == "date":
            value = date(1970, 1, 1) + timedelta(days=value)
        elif of in ("timestamp", "timestamptz"):
            zone = timezone.utc if of == "timestamptz" else None
            value = datetime(1970, 1, 1, tzinfo=zone) + timedelta(microseconds=value)
    except OverflowError:
        return None
    return Value(kind, value)
