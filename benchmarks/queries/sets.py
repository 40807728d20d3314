"""The sets of tables and queries: TPC-H and TPC-DS, what is generated, and what large tables are clustered by."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.queries import tpcds, tpch
from benchmarks.queries.duck import connection
from quickstart.data import generator

_ROWS_OF_A_ROW_GROUP = 20_480


@dataclass(frozen=True)
class QuerySet:
    """Tables with queries.

    Parameters
    ----------
    name : str
        Its name in options.
    title : str
        Its name on the page.
    usual : mapping of str to tuple of str
        The large tables, and the columns that one clusters them by: the date, and the key that most joins go by.
    generate : callable
        Writes one Parquet file of each table into a directory, at a scale factor.
    queries : callable
        Draws the queries by a seed and a scale factor, in SQL that DuckDB understands.
    about : str
        What is drawn, for the page.
    """

    name: str
    title: str
    usual: Mapping[str, tuple[str, ...]]
    generate: Callable[[Path, float], None]
    queries: Callable[[int, float], dict[str, str]]
    about: str

    def source(self, data: Path, scale: float) -> Path:
        """Get the directory of the Parquet files, generated unless they are there."""
        directory = data / f"queries-{self.name}-sf{scale:g}" / "source"
        if not directory.exists():
            # Only a complete directory gets its name, so that a run that was interrupted leaves nothing to be reused.
            unfinished = directory.with_name("source.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            self.generate(unfinished, scale)
            unfinished.rename(directory)
        return directory


def _generate_tpch(directory: Path, scale: float) -> None:
    # Small row groups, because a file of an ingested table is made of some of them.
    row_group = f"--row-group-bytes={int(500_000 * max(1.0, scale))}"
    command = [generator(), "parquet", "--scale-factor", f"{scale:g}", row_group, "--quiet"]
    subprocess.run([*command, "--output-dir", str(directory)], check=True)


_ARRIVAL = {
    "catalog_returns": "cr_returned_date_sk",
    "catalog_sales": "cs_sold_date_sk",
    "store_returns": "sr_returned_date_sk",
    "store_sales": "ss_sold_date_sk",
    "web_returns": "wr_returned_date_sk",
    "web_sales": "ws_sold_date_sk",
}
"""The day on which rows come; the generator writes each sale at a day of its own."""


def _generate_tpcds(directory: Path, scale: float) -> None:
    with connection("tpcds") as duck:
        duck.execute(f"CALL dsdgen(sf = {scale})")
        for (table,) in duck.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            order = f"ORDER BY {_ARRIVAL[table]} NULLS FIRST, rowid" if table in _ARRIVAL else ""
            to = f"'{directory / table}.parquet' (FORMAT parquet, ROW_GROUP_SIZE {_ROWS_OF_A_ROW_GROUP})"
            duck.execute(f"COPY (SELECT * FROM {table} {order}) TO {to}")


TPCH = QuerySet(
    "tpch",
    "TPC-H",
    {
        "lineitem": ("l_shipdate", "l_partkey"),
        "orders": ("o_orderdate", "o_custkey"),
        "partsupp": ("ps_partkey", "ps_suppkey"),
        "part": ("p_size", "p_brand"),
        "customer": ("c_mktsegment", "c_nationkey"),
        "supplier": ("s_nationkey", "s_suppkey"),
    },
    _generate_tpch,
    tpch.queries,
    "All 22 queries, their values drawn as the specification says. Tables arrive as they are generated: lineitem and "
    "orders by the order's key.",
)
TPCDS = QuerySet(
    "tpcds",
    "TPC-DS",
    {
        "store_sales": ("ss_sold_date_sk", "ss_item_sk"),
        "catalog_sales": ("cs_sold_date_sk", "cs_item_sk"),
        "web_sales": ("ws_sold_date_sk", "ws_item_sk"),
        "store_returns": ("sr_returned_date_sk", "sr_item_sk"),
        "catalog_returns": ("cr_returned_date_sk", "cr_item_sk"),
        "web_returns": ("wr_returned_date_sk", "wr_item_sk"),
        "inventory": ("inv_date_sk", "inv_item_sk"),
    },
    _generate_tpcds,
    lambda seed, _: tpcds.queries(seed),
    "All 99 queries of DuckDB's extension, moved to other years, months and prices. Sales, returns and inventory "
    "arrive day by day; dimensions stay as they are.",
)
SETS = (TPCH, TPCDS)
