"""TPC-DS's 99 queries, moved to other times and prices by a seed.

The texts are those of DuckDB's extension. The tool of TPC that draws values is not there, so what dates and prices a
query asks for is moved, each part by the same, to where the tool could have put it: years within those of the sales,
months within the season that they are in, ranges of prices where the query's template has them. What a query asks of
other things, such as states and categories, stays: these stand in dimensions, which are small.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import numpy as np
import sqlglot
from sqlglot import exp

from benchmarks.queries.duck import texts

_YEARS = (1998, 2002)
_SEASONS = ((1, 7), (8, 10), (11, 12))
"""Months in which about as much is sold."""
_FIRST_MONTHS = (1176, 1212)
"""Of d_month_seq, where two years of sales may begin."""
_PRICES = {"ss_list_price": 190, "ss_coupon_amt": 18_000, "ss_wholesale_cost": 80}
"""Where a range of them may begin at most."""
_COMPARISONS = (exp.EQ, exp.Between, exp.In, exp.GT, exp.GTE, exp.LT, exp.LTE)

Rng = np.random.Generator


def queries(seed: int) -> dict[str, str]:
    """Move all queries.

    Parameters
    ----------
    seed : int
        Other seeds move otherwise.

    Returns
    -------
    dict of str to str
        The queries by their names, in DuckDB's dialect.

    Examples
    --------
    >>> drawn = queries(1)
    >>> len(drawn), drawn == queries(1), drawn == queries(2)
    (99, True, False)
    """
    rng = np.random.default_rng(seed)
    return {f"DS{number}": moved(text, rng) for number, text in sorted(texts("tpcds").items())}


def moved(text: str, rng: Rng) -> str:
    """Move the dates and prices that a query asks for.

    Examples
    --------
    >>> moved("SELECT 1 FROM date_dim WHERE d_year IN (1999, 1999 + 1) AND d_moy = 11", np.random.default_rng(1))
    'SELECT 1 FROM date_dim WHERE d_year IN (1999, 1999 + 1) AND d_moy = 12'
    """
    query = sqlglot.parse_one(text, dialect="duckdb")
    _move_years(query, rng)
    months = list(_numbers(query, "d_moy"))
    if len({each.this for each in months}) == 1:
        first, last = next(season for season in _SEASONS if season[0] <= int(months[0].this) <= season[1])
        _put(months, int(months[0].this), int(rng.integers(first, last + 1)))
    if sequence := [each for each in _numbers(query, "d_month_seq") if int(each.this) > 1000]:
        least = min(int(each.this) for each in sequence)
        _put(sequence, least, int(rng.integers(_FIRST_MONTHS[0], _FIRST_MONTHS[1] + 1)))
    for condition in query.find_all(exp.Between):
        if condition.this.name in _PRICES:
            literals = [each for part in ("low", "high") for each in condition.args[part].find_all(exp.Literal)]
            begins = int(literals[0].this)
            moving = [each for each in literals if int(each.this) == begins]
            _put(moving, begins, int(rng.integers(0, _PRICES[condition.this.name] + 1)))
    return query.sql(dialect="duckdb")


def _numbers(query: exp.Expr, column: str) -> Iterator[exp.Literal]:
    """List the whole numbers that a column is compared with: neither what is added to them nor those of a subquery."""
    for condition in query.find_all(*_COMPARISONS):
        if isinstance(condition.this, exp.Column) and condition.this.name == column:
            for literal in condition.walk(prune=lambda node: isinstance(node, exp.Subquery)):
                if not isinstance(literal, exp.Literal):
                    continue
                is_added = isinstance(literal.parent, exp.Add | exp.Sub) and literal.arg_key == "expression"
                if not literal.is_string and not is_added:
                    yield literal


def _put(literals: list[exp.Literal], old: int, new: int) -> None:
    for literal in literals:
        literal.set("this", str(int(literal.this) + new - old))


def _move_years(query: exp.Expr, rng: Rng) -> None:
    """Move years and dates together, so that all that are asked for have sales."""
    years = [each for name in ("d_year", "dyear", "syear", "year_", "ss_sold_year") for each in _numbers(query, name)]
    dates = [each for each in query.find_all(exp.Literal) if each.is_string and _is_date(each.this)]
    asked = [int(each.this) for each in years] + [int(each.this[:4]) for each in dates]
    if not asked:
        return
    # One year more is often added to a year.
    least, most = _YEARS[0] - min(asked), _YEARS[1] - 1 - max(asked)
    by = int(rng.integers(least, most + 1)) if least <= most else 0
    for year in years:
        year.set("this", str(int(year.this) + by))
    for each in dates:
        each.set("this", f"{int(each.this[:4]) + by}{each.this[4:]}")


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).year > 1900
    except ValueError:
        return False
