"""Holds filters to what they promise: rows that do not meet them make no difference to the result of a statement."""

from datetime import datetime, timezone
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from iceberg_zorder.rewrite.predicate import Name, parse_predicate
from iceberg_zorder.workload.dimension_keys import KeyLookup
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.scans import find_scans
from iceberg_zorder.workload.statement_filters import scan_filter

DUCKDB = Dialect.get_or_raise("duckdb")
NOW = datetime(2024, 2, 10, 10, 30, tzinfo=timezone.utc)


def connected() -> duckdb.DuckDBPyConnection:
    """DuckDB as it is written down: its optimizer has made FALSE of what is NULL, at the date functions of 1.5."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("PRAGMA disable_optimizer")
    connection.execute("SET TimeZone = 'America/New_York'")
    return connection


def result(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """The rows of a query, in an order of their own."""
    return sorted(map(repr, connection.execute(query).fetchall()))


def in_duckdb(condition: str) -> str:
    """A filter in DuckDB's SQL."""
    return sqlglot.transpile(condition, read="spark", write="duckdb")[0]


class DuckDimensions:
    """The tables of a connection as dimensions."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def find(self, name: tuple[str, ...]) -> ScannedTable | None:
        """Return a table; None if there is none of this name."""
        try:
            columns = self._connection.execute(f"DESCRIBE {'.'.join(name)}").fetchall()
        except duckdb.CatalogException:
            return None
        return ScannedTable(name, {(column,): iceberg_type(kind) for column, kind, *_ in columns})

    def keys(self, dimension: ScannedTable, column: Name, filter: str) -> list[Any] | str:  # noqa: A002
        """Return the distinct values of a column in rows that match a filter."""
        query = f"SELECT DISTINCT {column[0]} FROM {'.'.join(dimension.identifier)} WHERE {in_duckdb(filter)}"
        return [key for (key,) in self._connection.execute(query).fetchall() if key is not None]


def lookup(connection: duckdb.DuckDBPyConnection, ranges: int = 64) -> KeyLookup:
    """Look up the keys of joins in the tables of a connection."""
    return KeyLookup(DuckDimensions(connection), (), NOW, ranges)


def iceberg_type(kind: str) -> str:
    """Return the type of a column as Iceberg writes it."""
    names = {"INTEGER": "int", "BIGINT": "long", "VARCHAR": "string", "TIMESTAMP WITH TIME ZONE": "timestamptz"}
    return names.get(kind) or kind.lower().replace(",", ", ")


class Narrowed:
    """A statement whose scans of a table are narrowed by their own filters."""

    def __init__(self, statement: str, table: ScannedTable, lookup: KeyLookup | None = None) -> None:
        self._tree = sqlglot.parse_one(statement, dialect="duckdb")
        self.filters: list[str] = []
        nodes = list(self._tree.find_all(exp.Table))
        for place, node in enumerate(nodes):
            node.meta["place"] = place
        by_node: dict[int, tuple[exp.Table, list[str]]] = {}
        for scan in find_scans(self._tree, table, DUCKDB, lookup=lookup):
            found = scan_filter(scan, table, NOW).filter
            parse_predicate(found)
            self.filters.append(found)
            node = nodes[scan.node.meta["place"]]
            by_node.setdefault(id(node), (node, []))[1].append(found)
        # A table that is read several times, as in a CTE, keeps what any of its scans needs.
        for node, filters in by_node.values():
            _replace(node, ".".join(table.identifier), " OR ".join(f"({in_duckdb(each)})" for each in filters))

    @property
    def statement(self) -> str:
        return self._tree.sql(dialect="duckdb")


def _replace(node: exp.Table, table: str, condition: str) -> None:
    alias = node.args.get("alias")
    columns = f"({', '.join(each.name for each in alias.columns)})" if alias is not None and alias.columns else ""
    text = f"SELECT * FROM (SELECT * FROM {table} WHERE {condition}) AS {node.alias_or_name}{columns}"
    narrowed = sqlglot.parse_one(text, dialect="duckdb").args["from_"].this
    for key in ("joins", "pivots", "sample"):
        if node.args.get(key):
            narrowed.set(key, node.args[key])
    node.replace(narrowed)
