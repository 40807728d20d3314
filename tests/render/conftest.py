"""A table with hostile names."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.pyiceberg import RewritePlan, SampledPlan, plan_rewrite, report, rewrite_data_files, sample

EVIL = "<script>document.title='evil'</script>"


class Hostile(NamedTuple):
    """What is known of the table."""

    before: ClusteringReport
    after: ClusteringReport
    plan: RewritePlan
    sampled: SampledPlan


@pytest.fixture(scope="package")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    """A table with hostile names and values, before and after a rewrite, and the plan of it."""
    directory = tmp_path_factory.mktemp("page")
    catalog = SqlCatalog("lake", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}")
    catalog.create_namespace("db")
    name = f"$x_1$ {EVIL}"
    schema = pa.schema([(name, pa.string()), ("day", pa.date32()), ("p", pa.string())])
    table = catalog.create_table(
        ("db", "<b>bold</b> & co"), schema, properties={"write.metadata.metrics.default": "full"}
    )
    rng = np.random.default_rng(0)

    def rows() -> pa.Table:
        values = [f"{EVIL[: number % 40]}{number:05d}" for number in rng.integers(0, 99_999, 500)]
        days = pa.array(rng.integers(19_000, 20_000, 500).astype(np.int32)).cast(pa.date32())
        return pa.table([values, days, ["<i>" if row % 2 else "b" for row in range(500)]], schema)

    for _ in range(12):
        table.append(rows())
    by, quoted = [f"`{name}`", "day"], EVIL.replace("'", "\\'")
    before = report(table, by, predicates=[f"`{name}` > '{quoted}'"])
    plan = plan_rewrite(table, by, options={"rewrite-all": True})
    sampled = sample(table, plan)
    rewrite_data_files(table, by, options={"rewrite-all": True, "target-file-size-bytes": 4_000})
    # Small files have come since, so that the page has a command.
    for _ in range(6):
        table.append(rows())
    workload = {"version": 1, "queries": [{"filter": f"`{name}` > '{quoted}'", "weight": 1}]}
    after = report(table, by, predicates=["day = DATE '2022-02-02'"], workload=workload)
    yield Hostile(before, after, plan, sampled)
    catalog.close()


@pytest.fixture
def reports(hostile: Hostile) -> tuple[ClusteringReport, ClusteringReport]:
    """Before and after."""
    return hostile.before, hostile.after
