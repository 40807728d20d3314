"""A random walk: what a report recommends is run until it recommends nothing; filters never cost more afterwards."""

import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.metrics.scan_cost import OPEN_COST_PROPERTY, open_cost, scan_cost
from iceberg_zorder.pyiceberg import report, rewrite_data_files

VALUES = 500
KINDS = ("time", "uniform", "skewed", "few", "text", "float", "nulls")


class Made(NamedTuple):
    """A table, and the columns that filters use."""

    table: Table
    columns: list[str]


def column(draw: np.random.Generator, kind: str, rows: int, day: int) -> pa.Array:
    match kind:
        case "time":
            return pa.array(day * 86_400 + draw.integers(0, 86_400, rows))
        case "uniform":
            return pa.array(draw.integers(0, 10**6, rows))
        case "skewed":
            return pa.array((draw.pareto(1.2, rows) * 100).astype(np.int64))
        case "few":
            return pa.array(draw.integers(0, draw.integers(2, 12), rows))
        case "text":
            return pa.array([f"user-{each:07d}" for each in draw.integers(0, 10**6, rows)])
        case "float":
            return pa.array(draw.normal(0, 1, rows))
        case _:
            return pa.array(draw.integers(0, 10**5, rows), mask=draw.random(rows) < 0.4)


def made(catalog: Catalog, seed: int) -> Made:
    """Draw the columns, files, sizes, partitions and the open cost of a table."""
    choose, draw = random.Random(seed), np.random.default_rng(seed)
    kinds = choose.choices(KINDS, k=choose.choice([1, 2, 2, 2, 3]))
    files, rows = choose.choice([1, 2, 3, 5, 8, 13, 30]), choose.choice([10, 200, 2_000, 10_000])
    properties = {OPEN_COST_PROPERTY: str(choose.choice([4 * 1024**2, 1_000, 10_000, 100_000, 1_000_000]))}
    if choose.random() < 0.25:
        target = choose.choice([20_000, 100_000, 1_000_000, 512 * 1024**2])
        properties["write.target-file-size-bytes"] = str(target)
    is_partitioned, is_correlated = choose.random() < 0.25, choose.random() < 0.2
    table = None
    for file in range(files):
        count = max(1, int(rows * choose.uniform(0.3, 1.7)))
        columns = {f"c{place}": column(draw, kind, count, file) for place, kind in enumerate(kinds)}
        if is_correlated and len(kinds) > 1:
            columns["c1"] = columns["c0"]
        columns["p"] = pa.array(draw.integers(0, 3 if is_partitioned else 1, count))
        columns["payload"] = pa.array([draw.bytes(8 * (file % 3)) for _ in range(count)], pa.binary())
        arrow = pa.table(columns)
        if table is None:
            table = catalog.create_table(f"db.walk{seed}", arrow.schema, properties=properties)
            if is_partitioned:
                table.update_spec().add_identity("p").commit()
        table.append(arrow)
    assert table is not None
    return Made(table, [f"c{place}" for place in range(len(kinds))])


def cost(of: Made) -> float:
    """Average what ``column = value`` costs over values of all rows, by the bounds that the metadata table shows."""
    files, each_open = of.table.inspect.files(), open_cost(of.table.properties)
    sizes, metrics = files["file_size_in_bytes"].to_pylist(), files["readable_metrics"].to_pylist()
    rows, costs = of.table.scan(selected_fields=tuple(of.columns)).to_arrow(), []
    for name in of.columns:
        ordered = sorted(rows[name].drop_null().to_pylist())
        count = min(VALUES, len(ordered))
        bounds = [
            (size, each[name]["lower_bound"], each[name]["upper_bound"])
            for size, each in zip(sizes, metrics, strict=True)
        ]
        for value in (ordered[place * len(ordered) // count] for place in range(count)):
            read = [size for size, lower, upper in bounds if lower is not None and lower <= value <= upper]
            costs.append(scan_cost(sum(read), len(read), len(sizes), each_open) / count)
    return sum(costs) / len(of.columns)


QUICK = 4
REFUSAL = "is not predicted to cost less"


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed < QUICK else [pytest.mark.full]) for seed in range(200)]
)
def test_what_a_report_recommends_pays_and_is_all(tmp_path: Path, seed: int) -> None:
    with SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}") as catalog:
        catalog.create_namespace("db")
        walk = made(catalog, seed)
        before, steps = cost(walk), 0
        while (found := report(walk.table, walk.columns).recommendation) and found.command:
            steps += 1
            result = rewrite_data_files(walk.table, walk.columns)
            if not result.rewritten_data_files_count:
                # Reports know bounds alone; the rewrite has looked at rows, and says why it leaves the files.
                assert REFUSAL in str(result.message)
                break
            assert result.added_data_files_count == pytest.approx(found.expected_files, rel=0.2)
            after = cost(walk)
            assert after <= before
            before = after
        assert steps <= 2
