"""The tables and clustering columns that layouts are compared on, each a shape that real tables have.

Every set is deterministic: the same name and number of rows give the same rows in the same order, which is the order in
which such rows would arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.layouts import INPUT_FILES
from benchmarks.store_sales import store_sales
from quickstart.data import generate

Rng = np.random.Generator


@dataclass(frozen=True)
class BenchmarkSet:
    """A table, and the columns it is clustered by.

    Parameters
    ----------
    name : str
        Its name, also that of its file.
    columns : tuple of str
        The clustering columns.
    about : str
        What is special about it.
    make : callable
        From a number of rows and a directory for what it needs to the table.
    skewed : bool
        Whether few values hold many of the rows.
    """

    name: str
    columns: tuple[str, ...]
    about: str
    make: Callable[[int, Path], pa.Table]
    skewed: bool = False

    def source(self, rows: int, directory: Path) -> Path:
        """Write the table to one Parquet file, unless it is there already."""
        path = directory / f"{self.name}-{rows}.parquet"
        if not path.exists():
            directory.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".unfinished")
            table = self.make(rows, directory)
            # Spark splits a file between its row groups, and the ingested tables are to have many files.
            pq.write_table(table, unfinished, compression="zstd", row_group_size=table.num_rows // INPUT_FILES + 1)
            unfinished.rename(path)
        return path


def _zipf(rng: Rng, rows: int, values: int, exponent: float) -> npt.NDArray[np.int64]:
    weights = 1 / np.arange(1, values + 1) ** exponent
    ranks = rng.choice(values, rows, p=weights / weights.sum())
    # The most frequent values are anywhere among the others.
    found: npt.NDArray[np.int64] = rng.permutation(values)[ranks]
    return found


def _arriving(rng: Rng, rows: int, days: int) -> pa.Array:
    """Timestamps of rows as they arrive, a little out of order."""
    micros = np.sort(rng.integers(0, days * 86_400_000_000, rows)) + rng.integers(0, 60_000_000, rows)
    return pa.array(micros + 1_750_000_000_000_000, pa.timestamp("us"))


def _payload(rng: Rng, rows: int) -> dict[str, Any]:
    return {"amount": np.round(rng.gamma(2, 50, rows), 2), "status": rng.choice(["new", "open", "done"], rows)}


def _table(rng: Rng, rows: int, columns: dict[str, Any]) -> pa.Table:
    return pa.table({**columns, **_payload(rng, rows)})


def _uniform(rows: int, _: Path) -> pa.Table:
    rng = np.random.default_rng(1)
    return _table(rng, rows, {"a": rng.integers(0, 2**62, rows), "b": rng.integers(0, 10**9, rows)})


def _lineitem(rows: int, directory: Path) -> pa.Table:
    scale = max(0.01, rows / 6_000_000)
    lineitem = directory / f"lineitem-{rows}"
    if not lineitem.exists():
        generate(lineitem, scale_factor=scale, files=1)
    return pq.read_table(lineitem)


def _symbols(rows: int, _: Path) -> pa.Table:
    rng = np.random.default_rng(3)
    symbols = np.array([f"{chr(65 + i % 26)}{chr(65 + i // 26 % 26)}{i:04d}" for i in range(4000)])
    traded = symbols[_zipf(rng, rows, 4000, 1.1)]
    return _table(rng, rows, {"ts": _arriving(rng, rows, 250), "symbol": traded})


def _customers(rows: int, _: Path) -> pa.Table:
    rng = np.random.default_rng(4)
    return _table(
        rng,
        rows,
        {"customer_id": _zipf(rng, rows, 200_000, 1.0), "price": np.round(rng.lognormal(3, 1.2, rows), 2)},
    )


def _urls(rows: int, _: Path) -> pa.Table:
    rng = np.random.default_rng(5)
    pages = np.array([f"https://www.example.com/shop/catalog/products/item-{i:07d}.html" for i in range(100_000)])
    visited = pages[_zipf(rng, rows, 100_000, 0.8)]
    return _table(rng, rows, {"ts": _arriving(rng, rows, 30), "url": visited})


def _mixed(rows: int, _: Path) -> pa.Table:
    rng = np.random.default_rng(6)
    level = pa.array(_zipf(rng, rows, 60, 0.7).astype(np.int32), mask=rng.random(rows) < 0.1)
    reading = rng.normal(0, 1, rows) * 10.0 ** rng.integers(-3, 7, rows)
    reading[rng.random(rows) < 0.02] = np.nan
    return _table(rng, rows, {"level": level, "reading": reading})


def _geo(rows: int, _: Path) -> pa.Table:
    rng = np.random.default_rng(7)
    towns = 60
    town = rng.choice(towns, rows, p=rng.dirichlet(np.ones(towns)))
    spread = rng.uniform(0.05, 1.5, towns)[town]
    return _table(
        rng,
        rows,
        {
            "latitude": rng.uniform(-60, 70, towns)[town] + rng.normal(0, 1, rows) * spread,
            "longitude": rng.uniform(-180, 180, towns)[town] + rng.normal(0, 1, rows) * spread,
        },
    )


def _iot(rows: int, _: Path) -> pa.Table:
    rng = np.random.default_rng(8)
    device = _zipf(rng, rows, 5000, 0.3)
    return _table(rng, rows, {"device_id": device, "measured_at": _arriving(rng, rows, 90)})


def _calls(rows: int, _: Path) -> pa.Table:
    rng = np.random.default_rng(9)
    return _table(
        rng,
        rows,
        {
            "caller": 1_550_000_0000 + _zipf(rng, rows, 300_000, 0.7),
            "callee": 1_550_000_0000 + _zipf(rng, rows, 300_000, 0.7),
            "started_at": _arriving(rng, rows, 60),
        },
    )


SETS = (
    BenchmarkSet("uniform", ("a", "b"), "two independent uniform keys", _uniform),
    BenchmarkSet("lineitem", ("l_shipdate", "l_partkey"), "TPC-H lineitem, date and part", _lineitem),
    BenchmarkSet(
        "lineitem3", ("l_partkey", "l_suppkey", "l_shipdate"), "TPC-H lineitem, part, supplier, date", _lineitem
    ),
    BenchmarkSet(
        "store_sales", ("ss_customer_sk", "ss_cdemo_sk"), "TPC-DS store_sales, as in Impala's article", store_sales
    ),
    BenchmarkSet("symbols", ("symbol", "ts"), "skewed stock symbols over time", _symbols, skewed=True),
    BenchmarkSet("customers", ("customer_id", "price"), "zipf customers and prices", _customers, skewed=True),
    BenchmarkSet("urls", ("url", "ts"), "URLs with a long common prefix, over time", _urls, skewed=True),
    BenchmarkSet(
        "mixed",
        ("level", "reading"),
        "small integers, doubles of all magnitudes, NULL, NaN",
        _mixed,
        skewed=True,
    ),
    BenchmarkSet("geo", ("latitude", "longitude"), "points in towns", _geo, skewed=True),
    BenchmarkSet("iot", ("device_id", "measured_at"), "devices over time", _iot),
    BenchmarkSet("calls", ("caller", "callee", "started_at"), "telephone calls", _calls, skewed=True),
)
