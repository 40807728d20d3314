"""The systems that keep a table clustered while it grows, each with the calls that its users would make."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import DataFrame, SparkSession

from benchmarks.bounds import file_bounds
from benchmarks.layouts import ROW_GROUPS_PER_FILE
from benchmarks.scale import SHARED_CATALOG
from benchmarks.upkeep.delta_log import delta_files
from benchmarks.upkeep.figures import DELTA, ICEBERG, OURS, OURS_PYICEBERG, Files
from benchmarks.upkeep.rows import Growing
from iceberg_zorder.pyiceberg import plan_rewrite
from iceberg_zorder.pyiceberg import rewrite_data_files as rewrite_with_pyiceberg
from iceberg_zorder.rewrite.result import RewriteResult
from iceberg_zorder.spark import rewrite_data_files as rewrite_with_spark
from iceberg_zorder.spark.rewrite import describe_plan

APPENDED_FILES = 4
"""Files of an append, each with rows from all over it."""

MAX_SCAN_RATIO = "1.2"


class System(ABC):
    """A system, and the table that it keeps.

    Parameters
    ----------
    spark : SparkSession
        A session.
    of : Growing
        The table.
    target_bytes : int
        The size that its files are to have.
    """

    name: str
    shows_full: bool = True
    """Whether everything is rewritten now and then, to see what that leaves."""

    def __init__(self, spark: SparkSession, of: Growing, target_bytes: int) -> None:
        self.spark, self.of, self.target_bytes = spark, of, target_bytes
        # Writers count a row group before it is encoded and compressed, at about two and a half times its final size.
        self.row_group_bytes = max(1 << 16, int(2.5 * target_bytes / ROW_GROUPS_PER_FILE))

    @property
    @abstractmethod
    def sql_name(self) -> str:
        """Name the table in SQL."""

    @abstractmethod
    def create(self, rows: DataFrame) -> None:
        """Make the table anew, of these rows."""

    @abstractmethod
    def append(self, rows: DataFrame) -> None:
        """Append rows."""

    @abstractmethod
    def rewrite_all(self) -> None:
        """Rewrite everything."""

    @abstractmethod
    def upkeep(self) -> None:
        """Do what is done after each append."""

    @abstractmethod
    def files(self) -> Files:
        """List the data files."""

    @abstractmethod
    def state(self) -> str:
        """Name the table's state."""

    @abstractmethod
    def restore(self, state: str) -> None:
        """Go back to a state; fails where the table is not there any more."""

    @abstractmethod
    def clean_up(self) -> None:
        """Delete what only older states have."""

    @abstractmethod
    def drop(self) -> None:
        """Remove the table."""

    def predicted(self) -> dict[str, float] | None:
        """Predict what ``column = value`` reads if everything is rewritten."""
        return None

    def second_bytes(self) -> int | None:
        """Tell what another upkeep would rewrite."""
        return None

    def reason(self) -> str | None:
        """Tell why the upkeep will rewrite what it does."""
        return None

    def merge(self, rows: DataFrame, keys: Sequence[str]) -> None:
        """Update the rows that have these keys, and insert the others."""
        rows.createOrReplaceTempView("merged")
        on = " AND ".join(f"t.{key} = s.{key}" for key in keys)
        self.spark.sql(
            f"MERGE INTO {self.sql_name} t USING merged s ON {on} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )


class IcebergSystem(System):
    """A table of a catalog that both engines look at.

    Parameters
    ----------
    spark : SparkSession
        A session with the catalog.
    of : Growing
        The table.
    target_bytes : int
        The size that its files are to have.
    properties : dict of str to str
        The catalog, in PyIceberg's words.
    """

    identifier: str

    def __init__(self, spark: SparkSession, of: Growing, target_bytes: int, properties: dict[str, str]) -> None:
        super().__init__(spark, of, target_bytes)
        self.catalog = SqlCatalog(SHARED_CATALOG, **properties)
        self.table = f"db.{of.name}_{self.identifier}"

    @property
    def sql_name(self) -> str:
        """Name the table in SQL."""
        return f"{SHARED_CATALOG}.{self.table}"

    @property
    def options(self) -> dict[str, str]:
        """What upkeep and rewrites of everything are both told."""
        return {"remove-dangling-deletes": "true"} if self.of.merges else {}

    def given(self, **options: str) -> dict[str, str]:
        """Put these options, named as in Python, beside those of all rewrites."""
        return {**self.options, **{key.replace("_", "-"): value for key, value in options.items()}}

    def create(self, rows: DataFrame) -> None:
        """Make the table anew: format version 2, with merges on read."""
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {SHARED_CATALOG}.db")
        self.drop()
        writer = rows.writeTo(self.sql_name).using("iceberg").tableProperty("format-version", "2")
        for key, value in {
            "write.target-file-size-bytes": str(self.target_bytes),
            "write.parquet.row-group-size-bytes": str(self.row_group_bytes),
            "write.distribution-mode": "none",
            "write.merge.mode": "merge-on-read",
        }.items():
            writer = writer.tableProperty(key, value)
        writer.create()

    def append(self, rows: DataFrame) -> None:
        """Append rows, in a few files."""
        rows.repartition(APPENDED_FILES).writeTo(self.sql_name).append()

    def files(self) -> Files:
        """List the data files from the manifests."""
        table = self.catalog.load_table(self.table)
        found = file_bounds(table, list(self.of.columns))
        paths = [task.file.file_path for task in table.scan().plan_files()]
        snapshot = table.current_snapshot()
        summary = snapshot.summary if snapshot else None
        return Files(
            dict(zip(paths, found.sizes, strict=True)),
            {name: np.array(each) for name, each in found.lower.items()},
            {name: np.array(each) for name, each in found.upper.items()},
            int((summary["total-delete-files"] if summary else None) or 0),
        )

    def state(self) -> str:
        """Name the current snapshot."""
        snapshot = self.catalog.load_table(self.table).current_snapshot()
        return str(snapshot.snapshot_id if snapshot else 0)

    def restore(self, state: str) -> None:
        """Make a snapshot the current one."""
        self.spark.sql(f"CALL {SHARED_CATALOG}.system.set_current_snapshot('{self.table}', {state})")

    def clean_up(self) -> None:
        """Expire older snapshots."""
        self.spark.sql(
            f"CALL {SHARED_CATALOG}.system.expire_snapshots("
            f"table => '{self.table}', older_than => current_timestamp(), retain_last => 1)"
        )

    def drop(self) -> None:
        """Remove the table and its files."""
        self.spark.sql(f"DROP TABLE IF EXISTS {self.sql_name} PURGE")


class Ours(IcebergSystem):
    """iceberg-zorder on Spark: strategy zorder with max-scan-ratio."""

    name, identifier = OURS, "ours"

    def rewrite(self, **options: str) -> RewriteResult:
        """Call the rewrite."""
        given = self.given(**options)
        return rewrite_with_spark(self.spark, self.sql_name, list(self.of.columns), options=given)

    def plan(self) -> dict[str, Any]:
        """Plan the upkeep, as JSON has it."""
        options = self.given(max_scan_ratio=MAX_SCAN_RATIO)
        return describe_plan(self.spark, self.sql_name, list(self.of.columns), options=options)

    def rewrite_all(self) -> None:
        """Rewrite everything."""
        self.rewrite(rewrite_all="true")

    def upkeep(self) -> None:
        """Rewrite what pays."""
        self.rewrite(max_scan_ratio=MAX_SCAN_RATIO)

    def predicted(self) -> dict[str, float] | None:
        """Predict by a dry run of a rewrite of everything."""
        found = self.rewrite(rewrite_all="true", dry_run="true").scan_fractions
        return {each.column: each.predicted for each in found if each.predicted is not None}

    def reason(self) -> str | None:
        """Take the reason of the only file group, for the table has no partitions."""
        plan = self.plan()
        reasons = [group["reason"] for group in plan["file_groups"]]
        return "; ".join(reasons) or plan["message"]

    def second_bytes(self) -> int | None:
        """Ask a dry run of the upkeep."""
        return self.rewrite(max_scan_ratio=MAX_SCAN_RATIO, dry_run="true").rewritten_bytes_count


class OursPyIceberg(Ours):
    """The same by the engine without a JVM; Spark only appends."""

    name, identifier = OURS_PYICEBERG, "ours_pyiceberg"

    def rewrite(self, **options: str) -> RewriteResult:
        """Call the rewrite."""
        given = self.given(**options)
        return rewrite_with_pyiceberg(self.catalog.load_table(self.table), list(self.of.columns), options=given)

    def plan(self) -> dict[str, Any]:
        """Plan the upkeep, as JSON has it."""
        options = self.given(max_scan_ratio=MAX_SCAN_RATIO)
        return plan_rewrite(self.catalog.load_table(self.table), list(self.of.columns), options=options).to_dict()


class IcebergSort(IcebergSystem):
    """Iceberg's own z-order: of files whose sizes are not in order."""

    name, identifier = ICEBERG, "iceberg"

    def rewrite(self, **options: str) -> None:
        """Call the rewrite."""
        given = self.given(**options)
        pairs = ", ".join(f"'{key}', '{value}'" for key, value in given.items())
        self.spark.sql(
            f"CALL {SHARED_CATALOG}.system.rewrite_data_files(table => '{self.table}', strategy => 'sort', "
            f"sort_order => 'zorder({', '.join(self.of.columns)})'{f', options => map({pairs})' if pairs else ''})"
        ).collect()

    def rewrite_all(self) -> None:
        """Rewrite everything."""
        self.rewrite(rewrite_all="true")

    def upkeep(self) -> None:
        """Rewrite what sizes call for."""
        self.rewrite()


class DeltaLiquid(System):
    """Delta's liquid clustering: OPTIMIZE after each append.

    Parameters
    ----------
    spark : SparkSession
        A session with Delta.
    of : Growing
        The table.
    target_bytes : int
        The size that its files are to have.
    directory : Path
        Where the table goes.
    """

    name = DELTA
    # Its upkeep rewrites everything, as it is.
    shows_full = False

    def __init__(self, spark: SparkSession, of: Growing, target_bytes: int, directory: Path) -> None:
        super().__init__(spark, of, target_bytes)
        self.path = directory / f"{of.name}_delta"

    @property
    def sql_name(self) -> str:
        """Name the table in SQL."""
        return f"delta.`{self.path}`"

    def create(self, rows: DataFrame) -> None:
        """Make the table anew."""
        self.drop()
        rows.limit(0).createOrReplaceTempView("no_rows")
        self.spark.sql(
            f"CREATE TABLE {self.sql_name} USING delta CLUSTER BY ({', '.join(self.of.columns)}) "
            "TBLPROPERTIES ('delta.checkpointInterval' = '1000000') AS SELECT * FROM no_rows"
        )
        rows.write.format("delta").mode("append").save(str(self.path))

    def append(self, rows: DataFrame) -> None:
        """Append rows, in a few files."""
        rows.repartition(APPENDED_FILES).write.format("delta").mode("append").save(str(self.path))

    def rewrite_all(self) -> None:
        """Cluster everything."""
        with self._file_size():
            self.spark.sql(f"OPTIMIZE {self.sql_name} FULL").collect()

    def upkeep(self) -> None:
        """Cluster what Delta thinks needs it."""
        with self._file_size():
            self.spark.sql(f"OPTIMIZE {self.sql_name}").collect()

    def files(self) -> Files:
        """List the data files from the log."""
        return delta_files(self.path, self.of.columns)

    def state(self) -> str:
        """Name the newest version."""
        return str(max(int(each.stem) for each in (self.path / "_delta_log").glob("[0-9]*.json")))

    def restore(self, state: str) -> None:
        """Go back to a version."""
        if self.state() != state:
            self.spark.sql(f"RESTORE TABLE {self.sql_name} TO VERSION AS OF {state}").collect()

    def clean_up(self) -> None:
        """Delete the files of older versions; VACUUM lists the table in 10,000 tasks."""
        live = self.files().sizes
        for file in self.path.rglob("*.parquet"):
            if str(file.relative_to(self.path)) not in live:
                file.unlink()

    def drop(self) -> None:
        """Remove the table and its files."""
        shutil.rmtree(self.path, ignore_errors=True)

    @contextmanager
    def _file_size(self) -> Iterator[None]:
        # Delta writes with Spark's Parquet writer, which takes this from Hadoop's configuration.
        hadoop = self.spark.sparkContext._jsc.hadoopConfiguration()
        hadoop.set("parquet.block.size", str(self.row_group_bytes))
        key = "spark.databricks.delta.optimize.maxFileSize"
        self.spark.conf.set(key, str(self.target_bytes))
        try:
            yield
        finally:
            self.spark.conf.unset(key)
            hadoop.unset("parquet.block.size")
