"""Kill rewrites at random moments, and look at the table after each: ``make test-kills``.

A child process rewrites one table again and again, and is killed (SIGKILL, its JVM too) some random time later. Then PyIceberg,
which no kill has touched, must find every row exactly once, every data file of the table on disk, and no snapshot
but whole rewrites. What a kill leaves behind may only be files that no snapshot knows.
"""

import argparse
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from iceberg_zorder.spark import configure_spark, rewrite_data_files
from iceberg_zorder.spark.catalogs import spark_catalog
from tests.spark.tables import local_path

ROWS = 120_000
PARTITIONS = 3
FILES = 6
READY = "ready"
LONGEST = 20.0
"""Seconds after the first rewrite has begun: enough for one to be committed, and for the next to begin."""


def properties(directory: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{directory}/catalog.db", "warehouse": f"file://{directory}/warehouse"}


def make(directory: Path) -> Table:
    """Create the table, from Python alone, in appends that each have all partitions."""
    catalog = SqlCatalog("lake", **properties(directory))
    catalog.create_namespace("db")
    rng = np.random.default_rng(0)
    rows = pa.table(
        {
            "id": np.arange(ROWS),
            "p": np.arange(ROWS) % PARTITIONS,
            "a": rng.integers(0, 1 << 40, ROWS),
            "b": rng.integers(0, 1000, ROWS),
            "payload": [f"row {i}" for i in range(ROWS)],
            "filler": [rng.bytes(400).hex() for _ in range(ROWS)],
        }
    )
    table = catalog.create_table("db.t", rows.schema)
    table.update_spec().add_identity("p").commit()
    for start in range(0, ROWS, ROWS // 4):
        table.append(rows.slice(start, ROWS // 4))
    return table


REQUESTS = [("zorder(a, b)", "false"), ("hilbert(b, id)", "true")]


def rewrite_for_ever(directory: Path) -> None:
    """Rewrite through Spark until killed; the child."""
    catalog = spark_catalog("lake", properties(directory))
    builder = SparkSession.builder.master("local[2]").config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.ui.enabled", "false").config("spark.local.dir", str(directory / "spark"))
    for key, value in catalog.settings.items():
        builder = builder.config(key, value)
    spark = configure_spark(builder, extra_packages=catalog.packages).getOrCreate()
    size = spark.sql("SELECT sum(file_size_in_bytes) FROM lake.db.t.files").collect()[0][0]
    print(READY, flush=True)
    for columns, partial in itertools.cycle(REQUESTS):
        options = {
            "rewrite-all": "true",
            "target-file-size-bytes": str(size // FILES // PARTITIONS),
            "partial-progress.enabled": partial,
            "max-concurrent-file-group-rewrites": "2",
        }
        rewrite_data_files(spark, "lake.db.t", columns, options=options)


def kill_once(directory: Path, after: float) -> None:
    """Start the child, and kill it some seconds after it has begun to rewrite."""
    command = [sys.executable, "-m", "tests.soak.kills", "--child", str(directory)]
    with (directory / "child.log").open("w") as log:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
    try:
        assert child.stdout is not None
        for line in child.stdout:
            if line.strip() == READY:
                break
        else:
            raise RuntimeError(
                f"Cannot go on, because the child ended: {(directory / 'child.log').read_text()[-2000:]}"
            )
        time.sleep(after)
        if child.poll() is not None:
            raise RuntimeError(f"The rewrite failed by itself: {(directory / 'child.log').read_text()[-2000:]}")
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        if child.stdout is not None:
            child.stdout.close()


def check(directory: Path) -> tuple[int, int]:
    """Look at the table; returns its snapshots, and the files that none of them knows."""
    table = SqlCatalog("lake", **properties(directory)).load_table("db.t")
    rows = table.scan().to_arrow()
    ids = np.sort(rows["id"].to_numpy())
    if not np.array_equal(ids, np.arange(ROWS)):
        raise AssertionError(f"rows were lost or doubled: {len(ids):,} rows, {len(np.unique(ids)):,} different ids")
    texts = pc.binary_join_element_wise("row", pc.cast(rows["id"], pa.string()), " ")
    if not pc.all(pc.equal(texts, rows["payload"])).as_py():
        raise AssertionError("rows were changed")
    for snapshot in table.snapshots()[4:]:
        summary = snapshot.summary
        if summary is None or summary.operation.value != "replace" or summary["total-records"] != str(ROWS):
            raise AssertionError(f"a snapshot is no whole rewrite: {summary}")
    known = {local_path(path) for path in table.inspect.all_files()["file_path"].to_pylist()}
    missing = [path for path in known if not Path(path).exists()]
    if missing:
        raise AssertionError(f"{len(missing)} data files are missing, {missing[0]} among them")
    found = {str(path) for path in (directory / "warehouse").rglob("*.parquet")}
    return len(table.snapshots()), len(found - known)


def main() -> int:
    """Run all kills; 0 if the table was right after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        rewrite_for_ever(arguments.child)
        return 0
    moments = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-kills-") as name:
        directory = Path(name)
        make(directory)
        snapshots, orphans = check(directory)
        for number in range(1, arguments.kills + 1):
            after = moments.uniform(0, LONGEST)
            kill_once(directory, after)
            before = snapshots, orphans
            snapshots, orphans = check(directory)
            print(
                f"kill {number} of {arguments.kills}, after {after:.1f} s: {snapshots - before[0]} commits, "
                f"{orphans - before[1]} orphan files, table right",
                flush=True,
            )
    print(f"{arguments.kills} kills: nothing lost, doubled or half-committed; {snapshots} snapshots, {orphans} orphans")
    return 0


if __name__ == "__main__":
    sys.exit(main())
