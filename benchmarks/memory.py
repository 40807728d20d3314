"""Rewrite a table that is ten times as large as the memory, with no option set."""

from __future__ import annotations

from pathlib import Path

from benchmarks.cost import measured
from benchmarks.layouts import ICEBERG_CATALOG, Iceberg
from benchmarks.results import MemoryResult
from benchmarks.run import Say, fingerprint, session

HEAP_MEGABYTES = 1024
"""Spark's default; two Parquet writers with Iceberg's row groups of 128 MiB do not fit in half of it."""

_ROWS = 155_000_000
_TABLE = "larger_than_memory"


def memory(directory: Path, say: Say, *, rows: int = _ROWS) -> MemoryResult:
    """Make the table, rewrite it, and compare.

    Parameters
    ----------
    directory : Path
        For the table; removed afterwards.
    say : callable
        Told of the progress.
    rows : int
        Rows of the table, at about 73 incompressible bytes each.

    Returns
    -------
    MemoryResult
        What was found.
    """
    with session(directory, memory=f"{HEAP_MEGABYTES}m", delta=False) as spark:
        of = Iceberg(spark)
        say(f"making {rows:,} rows")
        payload = ", ".join(f"rand({10 + i}) AS p{i}" for i in range(8))
        spark.sql(
            f"CREATE TABLE {of.full_name(_TABLE)} USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none') AS "
            f"SELECT id, cast(rand(1) * 1e12 AS bigint) AS a, cast(rand(2) * 1e12 AS bigint) AS b, {payload} "
            f"FROM range(0, {rows}, 1, 64)"
        )
        before = fingerprint(spark, of.full_name(_TABLE))
        table_bytes = of.bytes(_TABLE)
        say(f"rewriting {table_bytes / 1e9:.2f} GB with a heap of {HEAP_MEGABYTES} MB")
        cost = measured(
            spark,
            lambda: spark.sql(
                f"CALL {ICEBERG_CATALOG}.system.rewrite_data_files(table => 'db.{_TABLE}', strategy => 'zorder', "
                "sort_order => 'zorder(a, b)', options => map('rewrite-all', 'true'))"
            ).collect(),
        )
        jvm = spark.sparkContext._jvm
        assert jvm is not None
        return MemoryResult(
            heap_bytes=int(jvm.Runtime.getRuntime().maxMemory()),
            table_bytes=table_bytes,
            files=len(of.files(_TABLE)),
            rows=before[0],
            unchanged=fingerprint(spark, of.full_name(_TABLE)) == before,
            cost=cost,
        )
