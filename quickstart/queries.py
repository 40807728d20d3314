"""A dozen queries as analysts and applications ask them: points and ranges of dates, parts and suppliers."""

from __future__ import annotations

from dataclasses import dataclass

CLUSTERING_COLUMNS = ("l_shipdate", "l_partkey", "l_suppkey")

_COUNT = "count(*)"
_REVENUE = "sum(l_extendedprice * (1 - l_discount)), count(*)"
_DISCOUNTS = "sum(l_extendedprice * l_discount)"
_QUANTITY = "sum(l_quantity), min(l_shipdate), max(l_shipdate)"
_BY_FLAG = "l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), count(*)"


@dataclass(frozen=True)
class Query:
    """One query.

    Parameters
    ----------
    title : str
        What it asks for, in a few words.
    select : str
        The selected expressions.
    where : str
        The filter, in the words that Spark SQL and PyIceberg share.
    group_by : str
        Columns to group and order by, or nothing.

    Examples
    --------
    >>> Query("one part", "count(*)", "l_partkey = 7").sql("lake.tpch.lineitem")
    'SELECT count(*) FROM lake.tpch.lineitem WHERE l_partkey = 7'
    """

    title: str
    select: str
    where: str
    group_by: str = ""

    def sql(self, table: str) -> str:
        """Write the query as Spark SQL; equal tables give equal rows in equal order."""
        grouped = f" GROUP BY {self.group_by} ORDER BY {self.group_by}" if self.group_by else ""
        return f"SELECT {self.select} FROM {table} WHERE {self.where}{grouped}"


def dozen(*, parts: int, suppliers: int) -> list[Query]:
    """Write the dozen queries.

    Parameters
    ----------
    parts, suppliers : int
        The greatest l_partkey and l_suppkey, at least 1.

    Returns
    -------
    list of Query
        Twelve of them.

    Examples
    --------
    >>> len(dozen(parts=200_000, suppliers=10_000))
    12
    """
    part, other_part, third_part = 2 * parts // 3 + 1, parts // 5 + 1, parts // 9 + 1
    supplier = suppliers // 3 + 1
    # TPC-H names four suppliers for each part; this is the first of them.
    supplier_of_part = part % suppliers + 1
    some_parts = _between("l_partkey", parts, start=0.30, share=0.02)
    some_suppliers = _between("l_suppkey", suppliers, start=0.55, share=0.02)
    month = "l_shipdate >= '1995-03-01' AND l_shipdate < '1995-04-01'"
    quarter = "l_shipdate >= '1996-07-01' AND l_shipdate < '1996-10-01'"
    year = "l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01'"
    flag = "l_returnflag, l_linestatus"
    return [
        Query("one day", _BY_FLAG, "l_shipdate = '1995-03-15'", flag),
        Query("one month", _REVENUE, month),
        Query("one year, TPC-H Q6", _DISCOUNTS, f"{year} AND l_discount >= 0.05 AND l_discount <= 0.07"),
        Query("one part", _QUANTITY, f"l_partkey = {part}"),
        Query("three parts", _QUANTITY, f"l_partkey IN ({third_part}, {other_part}, {part})"),
        Query("2% of the parts", _REVENUE, some_parts),
        Query("one supplier", _REVENUE, f"l_suppkey = {supplier}"),
        Query("2% of the suppliers", _BY_FLAG, some_suppliers, flag),
        Query("one part in a year", _COUNT, f"{year} AND l_partkey = {other_part}"),
        Query("one supplier in a quarter", _REVENUE, f"{quarter} AND l_suppkey = {supplier}"),
        Query("one part of one supplier", _QUANTITY, f"l_partkey = {part} AND l_suppkey = {supplier_of_part}"),
        Query("a month, 2% of parts and suppliers", _REVENUE, f"{month} AND {some_parts} AND {some_suppliers}"),
    ]


def one_order(*, orders: int) -> Query:
    """Write a query by l_orderkey, the order of ingestion: what the rewrite costs.

    Parameters
    ----------
    orders : int
        The greatest l_orderkey, at least 1.

    Returns
    -------
    Query
        The query.

    Examples
    --------
    >>> one_order(orders=100).where
    'l_orderkey = 33'
    """
    # TPC-H uses the first 8 of every 32 keys, so 1 above a multiple of 32 is always there.
    return Query("one order", _REVENUE, f"l_orderkey = {orders // 2 // 32 * 32 + 1}")


def _between(column: str, greatest: int, *, start: float, share: float) -> str:
    # No range starts at a half or a quarter, where the sample decides whether it falls into one box or two.
    first = int(greatest * start) + 1
    return f"{column} BETWEEN {first} AND {first + max(int(greatest * share), 1) - 1}"
