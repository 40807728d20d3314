"""The queries that readers are asked."""

from __future__ import annotations

from dataclasses import dataclass

_DAY = "l_shipdate = DATE '1995-03-15'"
_PART = "l_partkey = 7777"
_TEN_DAYS = "l_shipdate >= DATE '1995-03-01' AND l_shipdate < DATE '1995-03-11'"
_PARTS = "l_partkey >= 7700 AND l_partkey < 7800"


@dataclass(frozen=True)
class Query:
    """A query for the rows of a table that pass a filter.

    Parameters
    ----------
    name : str
        What it is called on the page.
    sql : str
        Its SQL, which all readers understand.
    needed : str
        The filter that tells which files have such rows, as PyIceberg takes it.
    tables : tuple of str
        The tables it names; the first one is the one that is filtered.
    """

    name: str
    sql: str
    needed: str
    tables: tuple[str, ...] = ("lineitem",)

    @property
    def filter(self) -> str:
        """The query as a filter of PyIceberg; empty if it is none."""
        _, _, condition = self.sql.partition(" WHERE ")
        return self.needed if condition.replace("DATE ", "") == self.needed else ""


def _filtered(name: str, condition: str, table: str = "lineitem", *, needed: str = "") -> Query:
    return Query(name, _select(table, condition), needed or condition.replace("DATE ", ""), (table,))


def _select(table: str, condition: str) -> str:
    return f"SELECT l_orderkey, l_linenumber FROM {table} WHERE {condition}"


QUERIES = (
    _filtered("a day, as ingested", _DAY, "ingested"),
    _filtered("a day", _DAY),
    _filtered("ten days", _TEN_DAYS),
    _filtered("a part", _PART),
    _filtered("100 parts", _PARTS),
    _filtered("ten days and 100 parts", f"{_TEN_DAYS} AND {_PARTS}"),
    _filtered("three parts by `IN`", "l_partkey IN (17, 7777, 13000)"),
    _filtered("a day `OR` a part", f"{_DAY} OR {_PART}"),
    Query(
        "the same by `UNION`",
        f"{_select('lineitem', _DAY)} UNION {_select('lineitem', _PART)}",
        f"{_DAY} OR {_PART}".replace("DATE ", ""),
    ),
    _filtered("`LIKE 'fur%'`", "l_comment LIKE 'fur%'", "comments"),
    _filtered("the same by `>=` and `<`", "l_comment >= 'fur' AND l_comment < 'fus'", "comments"),
    _filtered("a part, among NULLs", _PART, "comments"),
    _filtered(
        "a function: `EXTRACT(YEAR ...)`",
        "EXTRACT(YEAR FROM l_shipdate) = 1998",
        needed="l_shipdate >= '1998-01-01' AND l_shipdate < '1999-01-01'",
    ),
    Query(
        "a join with the days of a month",
        "SELECT l_orderkey, l_linenumber FROM lineitem JOIN days ON l_shipdate = d_date WHERE d_month = '1995-03'",
        "l_shipdate >= '1995-03-01' AND l_shipdate <= '1995-03-31'",
        ("lineitem", "days"),
    ),
    _filtered("a day, position deletes", _DAY, "position_deletes"),
    _filtered("a day, equality deletes", _DAY, "equality_deletes"),
    _filtered("a day, deletion vectors", _DAY, "deletion_vectors"),
)
