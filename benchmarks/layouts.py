"""The layouts that are compared: how each tool lays out a table that was ingested in its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyspark.sql import SparkSession

ICEBERG_CATALOG = "lake"
INPUT_FILES = 40
PAGE_ROWS = 5_000
ROW_GROUPS_PER_FILE = 4


@dataclass(frozen=True)
class Shape:
    """What all output files are to be like.

    Parameters
    ----------
    files : int
        Wanted number of files.
    row_group_bytes : int
        Row group size, as the writers count it.
    page_rows : int
        Rows per page at most.
    """

    files: int
    row_group_bytes: int
    page_rows: int = PAGE_ROWS


class Format(ABC):
    """A table format: ingests rows once, and goes back to that state before every layout."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    @abstractmethod
    def ingest(self, name: str, view: str, columns: tuple[str, ...], shape: Shape) -> None:
        """Write the rows of a view as they come; a format looks at what it has settings for."""

    @abstractmethod
    def restore(self, name: str) -> None:
        """Go back to the ingested files."""

    @abstractmethod
    def files(self, name: str) -> list[Path]:
        """List the table's data files."""

    def drop(self, name: str) -> None:
        """Remove the table and its files."""
        files = self.files(name)
        self.spark.sql(f"DROP TABLE {self.full_name(name)}")
        for file in files:
            file.unlink(missing_ok=True)

    @abstractmethod
    def full_name(self, name: str) -> str:
        """Name the table in SQL."""

    def bytes(self, name: str) -> int:
        """Sum the sizes of the data files."""
        return sum(file.stat().st_size for file in self.files(name))


class Iceberg(Format):
    """Iceberg tables, of a catalog in a directory."""

    def full_name(self, name: str) -> str:
        """Name the table in SQL."""
        return f"{ICEBERG_CATALOG}.db.{name}"

    def ingest(self, name: str, view: str, columns: tuple[str, ...], shape: Shape) -> None:  # noqa: ARG002
        """Write the rows of a view as they come, and keep whole bounds of every column."""
        self.spark.sql(
            f"CREATE TABLE {self.full_name(name)} USING iceberg TBLPROPERTIES ("
            f"'write.parquet.page-row-limit' = '{shape.page_rows}', "
            f"'write.parquet.row-group-size-bytes' = '{shape.row_group_bytes}', "
            "'write.distribution-mode' = 'none', 'write.metadata.metrics.default' = 'full') "
            f"AS SELECT * FROM {view}"
        )

    def restore(self, name: str) -> None:
        """Roll back to the first snapshot."""
        first = self.spark.sql(
            f"SELECT snapshot_id FROM {self.full_name(name)}.snapshots ORDER BY committed_at LIMIT 1"
        ).collect()[0][0]
        self.spark.sql(f"CALL {ICEBERG_CATALOG}.system.set_current_snapshot('db.{name}', {first})")

    def files(self, name: str) -> list[Path]:
        """List the table's data files."""
        return [
            local_path(row[0])
            for row in self.spark.sql(f"SELECT file_path FROM {self.full_name(name)}.files").collect()
        ]

    def bytes(self, name: str) -> int:
        """Sum the sizes of the data files, wherever they are."""
        return int(self.spark.sql(f"SELECT sum(file_size_in_bytes) FROM {self.full_name(name)}.files").collect()[0][0])


class Delta(Format):
    """Delta tables of the session catalog; ``clustered`` ones are laid out by liquid clustering."""

    def __init__(self, spark: SparkSession, *, clustered: bool) -> None:
        super().__init__(spark)
        self._clustered = clustered

    def full_name(self, name: str) -> str:
        """Name the table in SQL."""
        return f"default.{name}_{'liquid' if self._clustered else 'delta'}"

    def ingest(self, name: str, view: str, columns: tuple[str, ...], shape: Shape) -> None:  # noqa: ARG002
        """Write the rows of a view as they come."""
        self.spark.sql(
            f"CREATE TABLE {self.full_name(name)} USING delta "
            f"{'CLUSTER BY (' + ', '.join(columns) + ')' if self._clustered else ''} "
            "TBLPROPERTIES ('delta.enableDeletionVectors' = 'false') "
            f"AS SELECT * FROM {view} LIMIT 0"
        )
        self.spark.sql(f"INSERT INTO {self.full_name(name)} SELECT * FROM {view}")

    def restore(self, name: str) -> None:
        """Go back to the version after the insert."""
        self.spark.sql(f"RESTORE TABLE {self.full_name(name)} TO VERSION AS OF 1").collect()

    def files(self, name: str) -> list[Path]:
        """List the table's data files."""
        return [local_path(uri) for uri in self.spark.table(self.full_name(name)).inputFiles()]


@dataclass(frozen=True)
class Layout:
    """One way to lay out a table.

    Parameters
    ----------
    name : str
        Its name in tables.
    format : str
        ``"iceberg"``, ``"delta"`` or ``"liquid"``.
    call : str
        The statement; ``{table}``, ``{columns}``, ``{target}`` are filled in.
    settings : mapping of str to str
        Settings of the session while it runs; ``{target}`` is filled in.
    """

    name: str
    format: str
    call: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def ours(self) -> bool:
        """Whether it is iceberg-zorder's."""
        return self.name.startswith("ours")

    def run(self, spark: SparkSession, table: str, columns: tuple[str, ...], target: int) -> None:
        """Lay out a table that is as it was ingested."""
        filled = {"table": table, "columns": ", ".join(columns), "target": target}
        with _set(spark, {key: value.format(**filled) for key, value in self.settings.items()}):
            spark.sql(self.call.format(**filled)).collect()


def _iceberg(name: str, strategy: str, sort_order: str | None, **options: str) -> Layout:
    # A writer that rolls at the target doubles the files of Iceberg's own strategies at sizes as small as here.
    given = {
        "rewrite-all": "true",
        "target-file-size-bytes": "{target}",
        "max-file-size-bytes": "999999999999",
        **options,
    }
    pairs = ", ".join(f"'{key}', '{value}'" for key, value in given.items())
    order = f", sort_order => '{sort_order}'" if sort_order else ""
    return Layout(
        name,
        "iceberg",
        f"CALL {ICEBERG_CATALOG}.system.rewrite_data_files(table => '{{table}}', strategy => '{strategy}'{order}, "
        f"options => map({pairs}))",
    )


_DELTA = {
    "spark.databricks.delta.optimize.maxFileSize": "{target}",
    "spark.databricks.delta.optimize.minFileSize": "999999999999",
}
_IN_FILE_SORT = {"spark.databricks.io.skipping.mdc.sortWithinFiles": "true"}

OURS = "ours"
EVEN = "ours, even zorder"
ICEBERG_ZORDER = "Iceberg zorder"
ICEBERG_SORT = "Iceberg sort"
ICEBERG_HILBERT = "Iceberg hilbert"
BIN_PACK = "Iceberg bin-pack"
DELTA_ZORDER = "Delta zorder"
LIQUID = "Delta liquid"
LIQUID_SORTED = "Delta liquid, sorted files"
KD_TREE = "k-d tree of all rows"

LAYOUTS = (
    _iceberg(OURS, "zorder", "zorder({columns})"),
    _iceberg("ours, hilbert", "zorder", "hilbert({columns})"),
    _iceberg(EVEN, "zorder", "zorder({columns})", cuts="even"),
    _iceberg("ours, even hilbert", "zorder", "hilbert({columns})", cuts="even"),
    _iceberg(BIN_PACK, "binpack", None),
    _iceberg(ICEBERG_SORT, "sort", "{columns}"),
    _iceberg(ICEBERG_ZORDER, "sort", "zorder({columns})"),
    _iceberg(ICEBERG_HILBERT, "sort", "hilbert({columns})"),
    Layout(DELTA_ZORDER, "delta", "OPTIMIZE {table} ZORDER BY ({columns})", _DELTA),
    Layout(LIQUID, "liquid", "OPTIMIZE {table} FULL", _DELTA),
    Layout(LIQUID_SORTED, "liquid", "OPTIMIZE {table} FULL", {**_DELTA, **_IN_FILE_SORT}),
)


def formats(spark: SparkSession) -> dict[str, Format]:
    """Make the formats, by name."""
    return {"iceberg": Iceberg(spark), "delta": Delta(spark, clustered=False), "liquid": Delta(spark, clustered=True)}


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            spark.conf.unset(key)


def local_path(uri: str) -> Path:
    """Make a path of a file's URI."""
    return Path(unquote(urlparse(uri).path))
