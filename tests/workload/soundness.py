"""Holds filters to what they promise: rows that do not meet them make no difference to the result of a statement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from iceberg_zorder.request.predicate import parse_predicate
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.scans import View, find_scans
from iceberg_zorder.workload.statement_filters import scan_filter

DUCKDB = Dialect.get_or_raise("duckdb")
NOW = datetime(2024, 2, 10, 10, 30, tzinfo=timezone.utc)
Views = Sequence[tuple[str, str]]


def connected() -> duckdb.DuckDBPyConnection:
    """DuckDB as it is written down: its optimizer has made FALSE of what is NULL, at the date functions of 1.5."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("PRAGMA disable_optimizer")
    return connection


def result(connection: duckdb.DuckDBPyConnection, query: str, views: Views = ()) -> list[str]:
    """The rows of a query, in an order of their own."""
    for name, text in views:
        connection.execute(f"CREATE OR REPLACE VIEW {name} AS {text}")
    return sorted(map(repr, connection.execute(query).fetchall()))


def in_duckdb(condition: str) -> str:
    """A filter in DuckDB's SQL."""
    return sqlglot.transpile(condition, read="spark", write="duckdb")[0]


class Narrowed:
    """A statement whose scans of a table are narrowed by their own filters.

    Parameters
    ----------
    statement : str
        In DuckDB's SQL.
    table : ScannedTable
        The table.
    views : sequence of (str, str), optional
        Names of views, with the names of their columns, and their queries.
    copy : str, optional
        Where the rows of narrowed scans come from.
    """

    def __init__(self, statement: str, table: ScannedTable, views: Views = (), copy: str | None = None) -> None:
        self._tree = sqlglot.parse_one(statement, dialect="duckdb")
        self._views = {
            name.partition("(")[0]: (name, sqlglot.parse_one(text, dialect="duckdb")) for name, text in views
        }
        self.filters: list[str] = []
        nodes = [
            node
            for tree in (self._tree, *(tree for _, tree in self._views.values()))
            for node in tree.find_all(exp.Table)
        ]
        for place, node in enumerate(nodes):
            node.meta["place"] = place
        by_node: dict[int, tuple[exp.Table, list[str]]] = {}
        for scan in find_scans(self._tree, table, DUCKDB, self._view):
            found = scan_filter(scan, table, NOW).filter
            parse_predicate(found)
            self.filters.append(found)
            node = nodes[scan.node.meta["place"]]
            by_node.setdefault(id(node), (node, []))[1].append(found)
        # A table that is read several times, as in a CTE, keeps what any of its scans needs.
        self.target: str | None = None
        for node, filters in by_node.values():
            condition = " OR ".join(f"({in_duckdb(each)})" for each in filters)
            if isinstance(self._tree, exp.DML) and node is self._tree.this:
                self.target = condition
            else:
                _replace(node, copy or ".".join(table.identifier), condition)

    @property
    def statement(self) -> str:
        return self._tree.sql(dialect="duckdb")

    @property
    def views(self) -> list[tuple[str, str]]:
        return [(name, tree.sql(dialect="duckdb")) for name, tree in self._views.values()]

    def _view(self, parts: Sequence[str]) -> View | None:
        name, tree = self._views.get(parts[-1], ("", None))
        if tree is None:
            return None
        columns = tuple(name.rstrip(")").partition("(")[2].replace(" ", "").split(",")) if "(" in name else ()
        assert isinstance(tree, exp.Query)
        return View(tree, columns)


def _replace(node: exp.Table, table: str, condition: str) -> None:
    alias = node.args.get("alias")
    columns = f"({', '.join(each.name for each in alias.columns)})" if alias is not None and alias.columns else ""
    text = f"SELECT * FROM (SELECT * FROM {table} WHERE {condition}) AS {node.alias_or_name}{columns}"
    narrowed = sqlglot.parse_one(text, dialect="duckdb").args["from_"].this
    for key in ("joins", "pivots", "sample"):
        if node.args.get(key):
            narrowed.set(key, node.args[key])
    node.replace(narrowed)


def changed(connection: duckdb.DuckDBPyConnection, statement: str, kept: str | None = None) -> list[str]:
    """The rows of ``t`` after a change, which is undone; those for which ``kept`` is not true are not shown to it."""
    connection.execute("BEGIN")
    try:
        if kept is not None:
            connection.execute(f"CREATE TEMP TABLE beside AS SELECT * FROM t WHERE ({kept}) IS NOT TRUE")
            connection.execute(f"DELETE FROM t WHERE ({kept}) IS NOT TRUE")
        connection.execute(statement)
        if kept is not None:
            connection.execute("INSERT INTO t SELECT * FROM beside")
        return sorted(map(repr, connection.execute("SELECT * FROM t").fetchall()))
    finally:
        connection.execute("ROLLBACK")
