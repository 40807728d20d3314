"""Layouts of other tools, as Spark writes them: Iceberg's own z-order, and Delta's liquid clustering."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.layouts import ICEBERG_ZORDER, LAYOUTS, LIQUID
from benchmarks.run import Bench, Scale
from benchmarks.sets import BenchmarkSet
from benchmarks.workloads.measure import Files
from benchmarks.workloads.tables import ROW, Table

PEERS = {"iceberg": ICEBERG_ZORDER, "liquid": LIQUID}
"""By their names in the figures."""


def written(
    spark: SparkSession, name: str, table: Table, columns: Sequence[str], peer: str, files: int, data: Path
) -> tuple[Files, int]:
    """Have a peer rewrite a table, and find which file each row came to.

    Parameters
    ----------
    spark : SparkSession
        A session with Iceberg and Delta.
    name : str
        The table's name.
    table : Table
        The table, which is ingested as it comes.
    columns : sequence of str
        The clustering columns.
    peer : str
        One of :data:`PEERS`.
    files : int
        The wanted number of files. Peers are told of a size, so that others may come out.
    data : Path
        A directory that keeps the rows.

    Returns
    -------
    ndarray of int64
        The file of every row.
    int
        How many files there are.

    Raises
    ------
    ValueError
        If rows were lost or doubled.
    """
    rows = len(next(iter(table.keys.values())))
    of = BenchmarkSet(f"workload_{name}", tuple(columns), "", lambda *_: table.stored())
    bench = Bench(spark, of, of.source(rows, data), Scale(rows, files, repeats=0))
    paths = bench.lay_out(next(layout for layout in LAYOUTS if layout.name == PEERS[peer]))
    numbers = [pq.read_table(path, columns=[ROW])[ROW].to_numpy() for path in paths]
    bench.drop()
    found = np.repeat(np.arange(len(paths)), [len(each) for each in numbers])
    order = np.concatenate(numbers)
    if not np.array_equal(np.sort(order), np.arange(rows)):
        raise ValueError(f"Cannot measure {PEERS[peer]} of {name}, because it lost or doubled rows")
    return found[np.argsort(order)], len(paths)
