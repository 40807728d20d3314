"""What the tests look at in a table: its rows, its files, its snapshots, and what lies beside them."""

import json
import os
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyiceberg.table import StaticTable
from pyiceberg.table.snapshots import Snapshot
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import StructField

from iceberg_zorder.spark.session import iceberg_runtime
from tests.stack.rest import RestServer

CATALOG = "lake"
LINEAGE = ("_row_id", "_last_updated_sequence_number")

SPARK = tuple(int(number) for number in pyspark.__version__.split(".")[:2])
"""The minor version of Spark, for what some lines do not have."""


_RUNTIME = os.environ.get("ICEBERG_RUNTIME") or iceberg_runtime(
    pyspark.__version__, "2.13" if SPARK >= (4, 0) else "2.12"
)
ICEBERG = tuple(int(number) for number in _RUNTIME.rpartition(":")[2].split(".")[:2])
"""The minor version of Iceberg."""

needs_branch_argument = pytest.mark.skipif(ICEBERG < (1, 11), reason="Iceberg 1.10 rewrites branch main only")


@dataclass(frozen=True)
class Fingerprint:
    """Rows of a table, whatever their order: how many, and sums over a hash of every row with its NULLs."""

    rows: int
    checksum: int
    xor: int


@dataclass(frozen=True)
class Table:
    """A table of the test catalog."""

    spark: SparkSession
    name: str

    @property
    def full_name(self) -> str:
        return f"{CATALOG}.{self.name}"

    def fingerprint(self, *, extra: tuple[str, ...] = (), version: str = "") -> Fingerprint:
        frame = self.spark.sql(f"SELECT *{''.join(', ' + column for column in extra)} FROM {self.full_name} {version}")
        columns = ", ".join(_hashable(field) for field in frame.schema)
        nulls = ", ".join(f"isnull({_quoted(column)})" for column in frame.columns)
        hashes = frame.selectExpr(f"xxhash64({columns}, {nulls}) AS h")
        row = hashes.selectExpr("count(*)", "sum(cast(h AS decimal(38, 0)))", "bit_xor(h)").collect()[0]
        return Fingerprint(row[0], int(row[1] or 0), row[2] or 0)

    def data_files(self) -> list[Row]:
        return self.spark.sql(
            f"SELECT file_path, record_count, file_size_in_bytes, readable_metrics FROM {self.full_name}.files "
            "WHERE content = 0 ORDER BY file_path"
        ).collect()

    def metadata_location(self) -> str:
        """Where the table's metadata file is, by the catalog's database."""
        database = self.spark.conf.get(f"spark.sql.catalog.{CATALOG}.uri") or ""
        namespace, _, name = self.name.rpartition(".")
        with closing(sqlite3.connect(database.removeprefix("jdbc:sqlite:"))) as connection:
            (location,) = connection.execute(
                "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?",
                (namespace, name.strip("`")),
            ).fetchone()
        return str(location)

    def metadata(self) -> dict[str, Any]:
        """The table's metadata file: no job of Spark for each look at it."""
        found: dict[str, Any] = json.loads(Path(local_path(self.metadata_location())).read_text(encoding="utf-8"))
        return found

    def snapshots(self) -> list[dict[str, Any]]:
        """The snapshots, the oldest first."""
        return sorted(self.metadata().get("snapshots", []), key=lambda each: int(each["timestamp-ms"]))

    def operations(self) -> list[str]:
        return [each["summary"]["operation"] for each in self.snapshots()]

    def summary(self) -> Mapping[str, str]:
        return {key: value for key, value in self.snapshots()[-1]["summary"].items() if key != "operation"}

    def orphans(self) -> set[str]:
        """Files in the data directory that no snapshot knows, once tasks that were told to stop have deleted theirs."""
        tracker = self.spark.sparkContext._jsc.sc().statusTracker()
        deadline = time.monotonic() + 30
        while any(each.numRunningTasks() for each in tracker.getExecutorInfos()) and time.monotonic() < deadline:
            time.sleep(0.05)
        table = StaticTable.from_metadata(self.metadata_location())
        known = self._paths(table, table.snapshots())
        data = Path(self.path()) / "data"
        found = {str(file) for file in data.rglob("*") if file.is_file() and file.suffix != ".crc"}
        return found - known

    def leaves_little(self) -> bool:
        """Whether a failed job left no more files than tasks may finish while it is being cancelled, one for each core."""
        return len(self.orphans()) <= self.spark.sparkContext.defaultParallelism

    def path(self) -> str:
        """Where the table is on this machine."""
        return local_path(self.metadata()["location"])

    def data_paths(self) -> list[str]:
        """Where the table's files are on this machine, those of deletes, too."""
        table = StaticTable.from_metadata(self.metadata_location())
        newest = table.current_snapshot()
        return sorted(self._paths(table, [newest] if newest else []))

    @staticmethod
    def _paths(table: StaticTable, snapshots: Iterable[Snapshot]) -> set[str]:
        manifests = {each.manifest_path: each for snapshot in snapshots for each in snapshot.manifests(table.io)}
        entries = (entry for each in manifests.values() for entry in each.fetch_manifest_entry(table.io))
        return {local_path(entry.data_file.file_path) for entry in entries}

    def bytes(self) -> int:
        """The size of all files of the current snapshot."""
        metadata = self.metadata()
        summaries = {each["snapshot-id"]: each["summary"] for each in metadata["snapshots"]}
        return int(summaries[metadata["current-snapshot-id"]]["total-files-size"])

    def call(
        self, sort_order: str, *, options: Mapping[str, str] | None = None, catalog: str = CATALOG, **arguments: str
    ) -> Row:
        """CALL rewrite_data_files with strategy zorder, and all files unless the options say otherwise."""
        given = {"rewrite-all": "true", **(options or {})}
        named = {"table": self.name, "strategy": "zorder", "sort_order": sort_order, **arguments}
        texts = ", ".join(f"{key} => {_literal(value)}" for key, value in named.items())
        pairs = ", ".join(f"{_literal(key)}, {_literal(value)}" for key, value in given.items())
        call = f"CALL {catalog}.system.rewrite_data_files({texts}, options => map({pairs}))"
        return self.spark.sql(call).collect()[0]

    def failure_by(
        self, server: RestServer, sort_order: str, options: Mapping[str, str] | None = None
    ) -> Exception | None:
        """CALL through a server, then look at the table anew; returns what the call failed with."""
        try:
            self.call(sort_order, options=options, catalog=f"rest_{server.server_port}")
        except Exception as error:
            return error
        finally:
            self.spark.sql(f"REFRESH TABLE {self.full_name}")
        return None

    def plan(self, sort_order: str, options: Mapping[str, str] | None = None, **others: str) -> Any:
        """The plan of a rewrite, by the Java API."""
        jvm: Any = self.spark.sparkContext._jvm
        builder = jvm.io.icebergzorder.spark.api.ZOrderRewrite.of(self.spark._jsparkSession, self.full_name)
        for name, value in (options or {}).items():
            builder.option(name, value)
        for name, value in others.items():
            getattr(builder, name)(value)
        return builder.sortOrder(sort_order).plan()

    def target_for(self, files: int) -> dict[str, str]:
        """The option that asks for so many files of this table."""
        return {"target-file-size-bytes": str(self.bytes() // files)}


@contextmanager
def unchanged(table: Table) -> Iterator[None]:
    """Holds a rewrite to its promise: the same rows, one replace snapshot more, and no orphan."""
    rows, operations = table.fingerprint(), table.operations()
    yield
    assert table.fingerprint() == rows
    assert table.operations() == [*operations, "replace"]
    assert table.orphans() == set()


@contextmanager
def untouched(table: Table) -> Iterator[None]:
    """Holds a refused or failed rewrite to its promise: the same rows and snapshots, and no orphan."""
    rows, operations = table.fingerprint(), table.operations()
    yield
    assert table.fingerprint() == rows
    assert table.operations() == operations
    assert table.orphans() == set()


@contextmanager
def rolled_back(table: Table) -> Iterator[Table]:
    """Lends a table of several tests to one of them, and takes back what that commits."""
    head = table.metadata()["current-snapshot-id"]
    yield table
    if table.metadata()["current-snapshot-id"] != head:
        table.spark.sql(f"CALL {CATALOG}.system.rollback_to_snapshot('{table.name}', {head})")


def create(
    spark: SparkSession, select: str, *, partitioned_by: str = "", properties: Mapping[str, str] | None = None
) -> Table:
    """Create a table under a fresh name from a SELECT."""
    table = Table(spark, f"db.t_{uuid.uuid4().hex[:12]}")
    partitions = f"PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
    pairs = ", ".join(f"{_literal(key)} = {_literal(value)}" for key, value in (properties or {}).items())
    tblproperties = f"TBLPROPERTIES ({pairs})" if pairs else ""
    spark.sql(f"CREATE TABLE {table.full_name} USING iceberg {partitions} {tblproperties} AS {select}")
    return table


def _hashable(field: StructField) -> str:
    name = _quoted(field.name)
    return f"to_json(struct({name}))" if "map<" in field.dataType.simpleString() else name


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def local_path(uri: str) -> str:
    """A path on this machine, as Spark, Iceberg or PyIceberg may write it."""
    return os.path.normpath(uri.removeprefix("file://").removeprefix("file:"))


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Set settings of a session for a while, and then as they were."""
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)
