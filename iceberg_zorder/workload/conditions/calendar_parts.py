"""Conditions on the year, the month and the day of one date, which say something of it together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from sqlglot import exp

_PARTS = {"year": "year", "month": "month", "day": "day", "dayofmonth": "day"}
_MOST = 400
"""So many days, or months, are asked for one by one; of more the larger unit is enough."""

_Asked = dict[str, tuple[exp.Expr, list[int]]]


def with_whole_dates(conditions: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Replace conditions such as ``year(ts) = 2024 AND month(ts) = 5`` by one on the month.

    Parameters
    ----------
    conditions : sequence of sqlglot.exp.Expr
        All are met.

    Returns
    -------
    list of sqlglot.exp.Expr
        As many, true of the same rows together; those that are said by others are TRUE.

    Examples
    --------
    >>> import sqlglot
    >>> asked = [sqlglot.parse_one(text) for text in ("year(a) = 2024", "b = 1", "month(a) IN (1, 2)")]
    >>> [each.sql("duckdb") for each in with_whole_dates(asked)][1:]
    ['b = 1', 'TRUE']
    """
    asked: dict[exp.Expr, _Asked] = {}
    for condition in conditions:
        found = _part(condition)
        if found is not None:
            unit, of, values = found
            asked.setdefault(of, {}).setdefault(unit, (condition, values))
    replaced: dict[int, exp.Expr] = {}
    for of, parts in asked.items():
        _replace(of, parts, replaced)
    return [replaced.get(id(each), each) for each in conditions]


def _replace(of: exp.Expr, parts: _Asked, replaced: dict[int, exp.Expr]) -> None:
    if "year" not in parts or "month" not in parts:
        return
    units = ["year", "month", "day"][: 3 if "day" in parts else 2]
    starts: list[tuple[int, ...]] = [()]
    for unit in units:
        starts = [(*start, value) for start in starts for value in parts[unit][1]]
    days = [found for start in starts[: _MOST + 1] if (found := _day(*start)) is not None]
    if len(starts) > _MOST:
        return
    alternatives = [
        exp.EQ(
            this=exp.TimestampTrunc(this=of.copy(), unit=exp.Var(this=units[-1].upper())),
            expression=exp.Cast(this=exp.Literal.string(day.isoformat()), to=exp.DataType.build("date")),
        )
        for day in days
    ]
    for unit in units:
        replaced[id(parts[unit][0])] = exp.true()
    replaced[id(parts["year"][0])] = exp.Paren(this=exp.or_(*alternatives)) if alternatives else exp.false()


def _day(year: int, month: int, day: int = 1) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _part(condition: exp.Expr) -> tuple[str, exp.Expr, list[int]] | None:
    """Read which values a part of a date may have."""
    if isinstance(condition, exp.EQ):
        values = [condition.expression]
    elif isinstance(condition, exp.In) and not condition.args.get("query"):
        values = condition.expressions
    else:
        return None
    function = condition.this.unnest()
    name, of = (
        (function.name, function.expression) if isinstance(function, exp.Extract) else (function.key, function.this)
    )
    while isinstance(of, exp.Paren | exp.TsOrDsToDate):
        of = of.this
    numbers = [int(each.name) for each in values if isinstance(each, exp.Literal) and each.name.isdigit()]
    if name.lower() not in _PARTS or not isinstance(of, exp.Column) or len(numbers) != len(values) or not numbers:
        return None
    return _PARTS[name.lower()], of, numbers
