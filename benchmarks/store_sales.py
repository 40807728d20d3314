"""TPC-DS store_sales, from DuckDB's build of the TPC-DS generator."""

from __future__ import annotations

from pathlib import Path

import duckdb
import duckdb_extension_tpcds
import pyarrow as pa
import pyarrow.parquet as pq


def store_sales(rows: int, directory: Path) -> pa.Table:
    """Make store_sales of scale factor 1.

    Parameters
    ----------
    rows : int
        Rows at most; the scale factor has 2,880,404.
    directory : Path
        Where the generated table is kept.

    Returns
    -------
    pyarrow.Table
        All columns, in the order of the sale.
    """
    path = directory / "tpcds-store_sales.parquet"
    if not path.exists():
        extension = next(Path(duckdb_extension_tpcds.__file__).parent.rglob("tpcds.duckdb_extension"))
        with duckdb.connect() as connection:
            connection.execute(f"LOAD '{extension}'")
            connection.execute("CALL dsdgen(sf = 1)")
            connection.execute(f"COPY store_sales TO '{path}' (FORMAT parquet)")
    return pq.read_table(path).slice(0, rows)
