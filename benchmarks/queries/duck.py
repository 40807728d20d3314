"""DuckDB with extensions from packages of PyPI, which are loaded and never downloaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import duckdb


@contextmanager
def connection(*extensions: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open DuckDB in memory with some extensions.

    Examples
    --------
    >>> with connection("tpch") as found:
    ...     len(found.execute("SELECT query FROM tpch_queries()").fetchall())
    22
    """
    with duckdb.connect() as opened:
        for name in extensions:
            package = import_module(f"duckdb_extension_{name}")
            extension = next(Path(str(package.__file__)).parent.rglob(f"{name}.duckdb_extension"))
            opened.execute(f"LOAD '{extension}'")
        yield opened


def texts(extension: str) -> dict[int, str]:
    """Get the queries that an extension has, by their numbers.

    Examples
    --------
    >>> texts("tpch")[6].split()[:2]
    ['SELECT', 'sum(l_extendedprice']
    """
    with connection(extension) as found:
        rows = found.execute(f"SELECT query_nr, query FROM {extension}_queries()").fetchall()
    return {number: query.strip().rstrip(";") for number, query in rows}
