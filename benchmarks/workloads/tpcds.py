"""TPC-DS's store_sales, with the filters that its queries put on it.

Own columns are filtered as the query templates do, parameters drawn from their domains. What a join with date_dim or
time_dim leaves are ranges of ss_sold_date_sk and ss_sold_time_sk, as an engine knows them once it has read the
dimension. Filters on other dimensions have no range of a column here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.store_sales import store_sales as generated
from benchmarks.workloads.tables import LEAST, MOST, NULL, Box, Keys, Query, Rng, Table, equal

_COLUMNS = ("ss_sold_date_sk", "ss_sold_time_sk", "ss_store_sk", "ss_addr_sk", "ss_quantity")
_PRICES = ("ss_list_price", "ss_sales_price", "ss_wholesale_cost", "ss_coupon_amt", "ss_net_profit")
_JULIAN = 1_721_425
"""What turns the ordinal of a date to date_dim's key, the Julian day number."""

Range = tuple[int, int]


def store_sales(rows: int, directory: Path) -> Table:
    """Store sales: every query of TPC-DS that reads them by a filter of their own, or by days or hours."""
    read = generated(10_000_000, directory)
    read = read.take(np.random.default_rng(11).permutation(read.num_rows)[:rows])
    keys: dict[str, Keys] = {}
    for name in (*_COLUMNS, *_PRICES):
        values = read[name].to_numpy(zero_copy_only=False).astype(np.float64)
        scaled = np.round(np.where(np.isnan(values), 0, values) * (100 if name in _PRICES else 1)).astype(np.int64)
        keys[name] = np.where(np.isnan(values), NULL, scaled)
    return Table(keys, lambda rng: _QUERIES[int(rng.integers(len(_QUERIES)))](rng))


def _sold(first: date, end: date) -> Range:
    return first.toordinal() + _JULIAN, end.toordinal() - 1 + _JULIAN


def _months(year: int, month: int, count: int = 1) -> Range:
    end = month - 1 + count
    return _sold(date(year, month, 1), date(year + end // 12, end % 12 + 1, 1))


def _year(rng: Rng) -> int:
    return int(rng.integers(1998, 2003))


def _in(*ranges: Range, **others: Range) -> Query:
    return tuple({"ss_sold_date_sk": each, **others} for each in ranges)


def _days_of_months(year: int, days: Sequence[tuple[int, int]]) -> Iterator[Range]:
    """List some days of each month in three years."""
    for month in range(36):
        for first, last in days:
            day = date(year + month // 12, month % 12 + 1, first).toordinal() + _JULIAN
            yield day, day + last - first


def _of_year(rng: Rng) -> Query:
    return _in(_months(_year(rng), 1, 12))


def _of_month(rng: Rng) -> Query:
    return _in(_months(_year(rng), int(rng.integers(1, 8))))


def _of_november_or_december(rng: Rng) -> Query:
    return _in(_months(_year(rng), int(rng.integers(11, 13))))


def _of_that_month_of_all_years(rng: Rng) -> Query:
    month = int(rng.integers(11, 13))
    return _in(*(_months(year, month) for year in range(1998, 2003)))


def _of_twelve_months(rng: Rng) -> Query:
    return _in(_months(_year(rng), int(rng.integers(1, 13)), 12))


def _of_quarter(rng: Rng) -> Query:
    return _in(_months(_year(rng), 3 * int(rng.integers(0, 4)) + 1, 3))


def _of_three_years(rng: Rng) -> Query:
    return _in(_months(int(rng.integers(1998, 2001)), 1, 36))


def _of_days_of_three_years(rng: Rng) -> Query:
    days = [(1, 3), (25, 28)] if rng.random() < 0.34 else [(1, 2)]
    return _in(*_days_of_months(int(rng.integers(1998, 2001)), days))


def _of_some_days(rng: Rng) -> Query:
    first = date(_year(rng), 8, int(rng.integers(1, 31))).toordinal() + _JULIAN
    return _in((first, first + int(rng.choice([14, 30]))))


def _of_half_an_hour(rng: Rng) -> Query:
    """Sales of queries 88 and 96."""
    first = (
        int(rng.integers(17, 25)) * 1_800 if rng.random() < 0.5 else int(rng.choice([8, 15, 16, 20])) * 3_600 + 1_800
    )
    return ({"ss_sold_time_sk": (first, first + 1_799)},)


def _of_quantities(rng: Rng) -> Query:
    """Sales of query 9, one of its five subqueries."""
    first = 20 * int(rng.integers(0, 5)) + 1
    return ({"ss_quantity": (first, first + 19)},)


def _of_quantities_and_prices(rng: Rng) -> Query:
    """Sales of query 28, one of its six subqueries."""
    first = [0, 6, 11, 16, 21, 26][int(rng.integers(0, 6))]
    quantity = {"ss_quantity": (first, first + (5 if first == 0 else 4))}
    price, coupon, cost = (
        int(rng.integers(0, 191)) * 100,
        int(rng.integers(0, 18_001)) * 100,
        int(rng.integers(0, 81)) * 100,
    )
    return (
        {**quantity, "ss_list_price": (price, price + 1_000)},
        {**quantity, "ss_coupon_amt": (coupon, coupon + 100_000)},
        {**quantity, "ss_wholesale_cost": (cost, cost + 2_000)},
    )


def _of_prices_and_profits(profits: Sequence[Range], year: int) -> Query:
    prices = [(10_000, 15_000), (5_000, 10_000), (15_000, 20_000)]
    sold = _months(year, 1, 12)
    return tuple(
        {"ss_sold_date_sk": sold, "ss_sales_price": price, "ss_net_profit": (low * 100, high * 100)}
        for price in prices
        for low, high in profits
    )


def _of_a_store(rng: Rng) -> Query:
    """Sales of query 44, one of its two subqueries."""
    box: Box = {"ss_store_sk": equal(int(rng.choice([1, 2, 4, 7, 8, 10])))}
    return ({**box, "ss_addr_sk": (NULL, NULL)} if rng.random() < 0.5 else box,)


def _of_no_store(_: Rng) -> Query:
    """Sales of query 76."""
    return ({"ss_store_sk": (NULL, NULL)},)


def _with_a_date(_: Rng) -> Query:
    """Sales that a join with date_dim keeps, where nothing else is known."""
    return ({"ss_sold_date_sk": (LEAST, MOST)},)


_QUERIES: tuple[Callable[[Rng], Query], ...] = (
    *[_of_year] * 12,  # 4, 7, 11, 23, 27, 36, 43, 61, 70, 74, 89, 97
    *[_of_month] * 8,  # 6, 25, 29, 33, 54, 56, 60, 98
    *[_of_november_or_december] * 6,  # 14, 19, 42, 52, 55, 71
    _of_that_month_of_all_years,  # 3
    *[_of_twelve_months] * 8,  # 38, 47, 51, 53, 63, 65, 67, 87
    *[_of_quarter] * 4,  # 8, 10, 17, 31, 35, 69
    *[_of_three_years] * 3,  # 46, 79, 78
    *[_of_days_of_three_years] * 3,  # 34, 68, 73
    *[_of_some_days] * 3,  # 5, 77, 80
    *[_of_half_an_hour] * 3,  # 88 with its eight subqueries, 96
    *[_of_quantities] * 2,  # 9
    *[_of_quantities_and_prices] * 2,  # 28
    lambda _: _of_prices_and_profits(((100, 200), (150, 300), (50, 250)), 2001),  # 13
    lambda rng: _of_prices_and_profits(((0, 2_000), (150, 3_000), (50, 25_000)), _year(rng)),  # 48
    *[_of_a_store] * 2,  # 44
    _of_no_store,  # 76
    _with_a_date,  # 59
)
"""By how many queries filter so; the numbers are theirs."""
