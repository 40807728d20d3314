"""Rewrites of a table from which a writer deletes rows meanwhile: ``make test-races``.

A process deletes some random rows every few seconds, through Spark and merge-on-read, and counts how often it has to begin again.
Another rewrites the whole table again and again: through Spark, through PyIceberg, or by Iceberg's own z-order. Both share a
catalog in PostgreSQL. In the end the rows of every snapshot are compared with what the writer remembers.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import xor
from pathlib import Path
from statistics import median
from typing import Any

from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from iceberg_zorder import pyiceberg as pyiceberg_engine
from iceberg_zorder.errors import RewriteConflictError
from iceberg_zorder.spark import configure_spark, rewrite_data_files
from iceberg_zorder.spark.catalogs import spark_catalog
from tests.stack.servers import postgresql

RACES = [(engine, version) for version in (2, 3) for engine in ("spark", "iceberg", "pyiceberg")]
COLUMNS = "zorder(a, b)"
OPTIONS = {"rewrite-all": "true", "target-file-size-bytes": str(64 << 20)}
FILES = 16
STOP = "stop"
LINEAGE = ", _row_id, _last_updated_sequence_number"
_ATTEMPTS = 20


@dataclass(frozen=True)
class Race:
    """A table in a directory of its own, and who rewrites it."""

    directory: Path
    database: str
    engine: str
    version: int

    @property
    def properties(self) -> dict[str, str]:
        """The catalog's, for PyIceberg."""
        uri = f"postgresql+psycopg://postgres@{self.database}"
        return {"type": "sql", "uri": uri, "warehouse": f"file://{self.directory}/warehouse"}

    @property
    def row_hash(self) -> str:
        """Of all that must stay of a row, in SQL."""
        return f"xxhash64(*{LINEAGE if self.version == 3 else ''})"

    @property
    def table(self) -> str:
        return f"db.{self.engine}_{self.version}"

    def session(self, threads: int, memory: str) -> SparkSession:
        catalog = spark_catalog("lake", self.properties)
        builder = SparkSession.builder.master(f"local[{threads}]").config("spark.driver.memory", memory)
        builder = (
            builder.config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
        )
        builder = builder.config("spark.local.dir", str(self.directory / "spark")).config("spark.log.level", "ERROR")
        for key, value in {**catalog.settings, "spark.sql.catalog.lake.cache-enabled": "false"}.items():
            builder = builder.config(key, value)
        return configure_spark(builder, extra_packages=catalog.packages).getOrCreate()

    def child(self, role: str, *arguments: object) -> subprocess.Popen[bytes]:
        """Start a process with a role; what it prints is in a file of the role's name."""
        command = [sys.executable, "-m", "tests.soak.races", "--child", role, "--directory", self.directory]
        command += ["--database", self.database, "--engine", self.engine, "--version", self.version, *arguments]
        with (self.directory / role).open("w") as out, (self.directory / f"{role}.log").open("w") as log:
            return subprocess.Popen([str(each) for each in command], stdout=out, stderr=log, start_new_session=True)

    def translations(self) -> set[Path]:
        """The delete files that rewrites have written, as far as they are named by Spark's driver, which is task 0."""
        return set((self.directory / "warehouse").rglob("00000-0-*-deletes.*"))

    def said(self, role: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.directory / role).read_text(encoding="utf-8").splitlines()]


def make(race: Race, rows: int) -> None:
    """Create the table; its files have all values of the clustering columns."""
    spark = race.session(2, "4g")
    modes = ", ".join(f"'write.{kind}.mode' = 'merge-on-read'" for kind in ("delete", "update", "merge"))
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
    spark.sql(
        f"CREATE TABLE lake.{race.table} USING iceberg TBLPROPERTIES ('format-version' = '{race.version}', {modes}, "
        f"'write.distribution-mode' = 'none') AS SELECT id, hash(id) % 100000 AS a, hash(id, 1) AS b, id % 7 AS c, "
        f"sha2(cast(id AS string), 256) AS d, hash(id, 2) * 0.001D AS e, concat('row ', id) AS f "
        f"FROM range(0, {rows}, 1, {FILES})"
    )
    spark.stop()


def delete_for_ever(race: Race, rows: int, every: float, count: int) -> None:
    """Delete rows until somebody asks for an end; prints what was deleted by each commit."""
    spark = race.session(1, "2g")
    live = random.Random(race.version).sample(range(rows), min(rows, 200_000))
    while not (race.directory / STOP).exists():
        begun, attempts = time.monotonic(), 0
        ids = [live.pop() for _ in range(count)]
        while True:
            attempts += 1
            try:
                spark.sql(f"DELETE FROM lake.{race.table} WHERE id IN ({', '.join(map(str, ids))})")
                break
            except Exception as error:
                if attempts == _ATTEMPTS or not any(text in str(error) for text in ("onflict", "Cannot commit")):
                    raise
                print(str(error)[:300], file=sys.stderr)
        took = time.monotonic() - begun
        print(json.dumps({"ids": ids, "attempts": attempts, "seconds": took}), flush=True)
        time.sleep(max(0.0, every - took))
    spark.stop()


def rewrite_many(race: Race, times: int) -> None:
    """Rewrite the table so many times, and print what came of each."""
    spark = None if race.engine == "pyiceberg" else race.session(2, "4g")
    for _ in range(times):
        begun = time.monotonic()
        try:
            found = _rewritten(race, spark)
        except Exception as error:
            if not isinstance(error, RewriteConflictError) and "ValidationException" not in str(error):
                raise
            found = {"conflict": str(error).partition("\tat ")[0][-600:]}
        print(json.dumps({"seconds": time.monotonic() - begun, **found}), flush=True)
    if spark:
        spark.stop()


def _rewritten(race: Race, spark: SparkSession | None) -> dict[str, Any]:
    if race.engine == "iceberg":
        assert spark is not None
        options = ", ".join(f"'{key}', '{value}'" for key, value in OPTIONS.items())
        spark.sql(
            f"CALL lake.system.rewrite_data_files(table => '{race.table}', strategy => 'sort', sort_order => '{COLUMNS}', "
            f"options => map({options}))"
        ).collect()
        return {"translated": 0}
    if spark:
        result = rewrite_data_files(spark, f"lake.{race.table}", COLUMNS, options=OPTIONS)
    else:
        table = load_catalog("lake", **race.properties).load_table(race.table)
        result = pyiceberg_engine.rewrite_data_files(table, COLUMNS, options=OPTIONS)
    if result.failed_data_files_count:
        return {"conflict": result.message}
    return {"translated": result.translated_deletes, "message": result.message}


def fingerprints(spark: SparkSession, race: Race) -> Iterator[tuple[str, Sequence[Any]]]:
    """For each snapshot, oldest first: its operation, and count, sum of ids and xor of their hashes; of the first and of rewrites, of whole rows."""
    name = f"lake.{race.table}"
    for number, (snapshot, operation) in enumerate(
        spark.sql(f"SELECT snapshot_id, operation FROM {name}.snapshots ORDER BY committed_at").collect()
    ):
        sums = ["sum(id)", "bit_xor(xxhash64(id))"]
        sums += [f"bit_xor({race.row_hash})"] if operation == "replace" or number == 0 else []
        yield (
            operation,
            spark.sql(f"SELECT count(*), {', '.join(sums)} FROM {name} VERSION AS OF {snapshot}").collect()[0],
        )


def check(race: Race, deletes: Sequence[Mapping[str, Any]]) -> int:
    """Compare the rows of every snapshot with the writer's deletes before it; returns the number of snapshots."""
    spark = race.session(2, "4g")
    first, *later = fingerprints(spark, race)
    name = f"lake.{race.table}"
    start = spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").first()[0]  # type: ignore[index]
    ids = [id_ for each in deletes for id_ in each["ids"]]
    spark.createDataFrame([(id_,) for id_ in ids], "k bigint").createOrReplaceTempView("deleted")
    hashes = {
        row[0]: row
        for row in spark.sql(
            f"SELECT id, xxhash64(id), {race.row_hash} FROM {name} VERSION AS OF {start} LEFT SEMI JOIN deleted ON id = k"
        ).collect()
    }
    assert len(hashes) == len(ids), "a row was to be deleted twice"
    waiting, expected = list(deletes), list(first[1])
    for number, (operation, found) in enumerate(later):
        if operation != "replace":
            gone = [hashes[id_] for id_ in waiting.pop(0)["ids"]]
            for id_, *hashed in gone:
                expected = [expected[0] - 1, expected[1] - id_, *map(xor, expected[2:], hashed)]
        if list(found) != expected[: len(found)]:
            raise AssertionError(
                f"snapshot {number + 2}, {operation}, has {list(found)}, and {expected[: len(found)]} was expected"
            )
    assert not waiting, f"{len(waiting)} deletes have no snapshot"
    spark.stop()
    return len(later) + 1


def kill_after_translation(race: Race, rewriter: subprocess.Popen[bytes]) -> None:
    """Kill a rewrite that has translated deletes, and may have committed them or not."""
    before = race.translations()
    while race.translations() == before:
        assert rewriter.poll() is None, (race.directory / "rewrite.log").read_text()[-3000:]
        time.sleep(0.005)
    time.sleep(random.choice([0, 0.02, 0.1]))
    os.killpg(rewriter.pid, signal.SIGKILL)
    rewriter.wait()


def run(race: Race, rows: int, times: int, every: float, count: int, kills: int) -> None:
    """Run one race, check it, and say what came of it."""
    make(race, rows)
    writer = race.child("delete", "--rows", rows, "--every", every, "--count", count)
    rewriter = race.child("rewrite", "--times", times)
    try:
        for _ in range(kills):
            kill_after_translation(race, rewriter)
            rewriter = race.child("rewrite", "--times", times)
        while rewriter.poll() is None:
            time.sleep(1)
            assert writer.poll() is None, (race.directory / "delete.log").read_text()[-3000:]
        assert rewriter.returncode == 0, (race.directory / "rewrite.log").read_text()[-3000:]
        (race.directory / STOP).touch()
        assert writer.wait(timeout=600) == 0, (race.directory / "delete.log").read_text()[-3000:]
    finally:
        for each in (writer, rewriter):
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()
    rewrites, deletes = race.said("rewrite"), race.said("delete")
    done = [each for each in rewrites if "conflict" not in each]
    snapshots = check(race, deletes)
    print(
        f"{race.engine}, version {race.version}: {f'after {kills} kills, ' if kills else ''}"
        f"{len(done)} of {len(rewrites)} rewrites committed; each took "
        f"{min(each['seconds'] for each in rewrites):.0f} to {max(each['seconds'] for each in rewrites):.0f} s; "
        f"{sum(each['translated'] for each in done)} rows translated; {len(deletes)} deletes of {count} rows, each in "
        f"{median(each['seconds'] for each in deletes):.1f} s (at most {max(each['seconds'] for each in deletes):.1f}), "
        f"{sum(each['attempts'] for each in deletes) - len(deletes)} retries; rows right in {snapshots} snapshots",
        flush=True,
    )
    for message in sorted({each["conflict"][:300] for each in rewrites if "conflict" in each}):
        print(f"  {message}")


def main() -> int:
    """Run races; 0 if all rows were right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", default=",".join(f"{engine}-{version}" for engine, version in RACES))
    parser.add_argument("--rows", type=int, default=12_000_000)
    parser.add_argument("--times", type=int, default=20, help="rewrites of each race")
    parser.add_argument("--every", type=float, default=5, help="seconds from a delete to the next")
    parser.add_argument("--count", type=int, default=20, help="rows of each delete")
    parser.add_argument(
        "--kills", type=int, default=0, help="of Spark, as it has translated deletes; then come the rewrites"
    )
    for hidden, kind in (("child", str), ("directory", Path), ("database", str), ("engine", str), ("version", int)):
        parser.add_argument(f"--{hidden}", type=kind, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        race = Race(given.directory, given.database, given.engine, given.version)
        if given.child == "delete":
            delete_for_ever(race, given.rows, given.every, given.count)
        else:
            rewrite_many(race, given.times)
        return 0
    for each in given.races.split(","):
        engine, _, version = each.partition("-")
        with tempfile.TemporaryDirectory(prefix="iceberg-zorder-races-") as name, postgresql() as database:
            run(
                Race(Path(name), database, engine, int(version)),
                given.rows,
                given.times,
                given.every,
                given.count,
                given.kills,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
