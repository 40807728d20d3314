"""TPC-H lineitem as generated, and the Iceberg table it is loaded into."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from iceberg_zorder.spark.catalogs import SparkCatalog, file_uri, spark_catalog

CATALOG = "quickstart"
NAMESPACE = "tpch"
TABLE = f"{NAMESPACE}.lineitem"
FULL_NAME = f"{CATALOG}.{TABLE}"


@dataclass(frozen=True)
class Warehouse:
    """A directory with a SQLite catalog, the tables, and the generated data.

    Parameters
    ----------
    directory : Path
        The directory, absolute.
    """

    directory: Path

    @property
    def properties(self) -> dict[str, str]:
        """The catalog's properties, as PyIceberg is told of them."""
        return {"uri": f"sqlite:///{self.directory / 'catalog.db'}", "warehouse": file_uri(str(self.directory))}

    @property
    def for_spark(self) -> SparkCatalog:
        """The catalog as Spark is told of it."""
        return spark_catalog(CATALOG, {"type": "sql", **self.properties})

    def for_pyiceberg(self) -> SqlCatalog:
        """Open the catalog with PyIceberg."""
        return SqlCatalog(CATALOG, **self.properties)

    def generated(self, scale_factor: float, files: int) -> Path:
        """Name the directory of the generated Parquet files."""
        return self.directory / "generated" / f"sf{scale_factor:g}-{files}-parts"


def generate(directory: Path, *, scale_factor: float, files: int) -> bool:
    """Generate lineitem, unless it is there from an earlier run.

    Parameters
    ----------
    directory : Path
        Where the Parquet files go.
    scale_factor : float
        TPC-H's scale factor, above 0; 1 is 6 million rows.
    files : int
        How many files, at least 1, in the order of l_orderkey.

    Returns
    -------
    bool
        Whether it was generated now.

    Raises
    ------
    RuntimeError
        When the generator is missing or fails.
    """
    if directory.is_dir():
        return False
    # Only a complete directory gets its name, so that a run that was interrupted leaves nothing to be reused.
    unfinished = directory.with_name(f"{directory.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    command = [generator(), "parquet", "--scale-factor", f"{scale_factor:g}", "--tables", "lineitem"]
    command += ["--parts", str(files), "--output-dir", str(unfinished), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Cannot generate TPC-H data, because tpchgen-cli failed: {done.stderr.strip()}")
    (unfinished / "lineitem").rename(directory)
    shutil.rmtree(unfinished)
    return True


def load(spark: SparkSession, source: Path) -> None:
    """Create the table anew from generated files, one data file for each, as if they had come in one after another.

    Parameters
    ----------
    spark : SparkSession
        A session with the catalog.
    source : Path
        The directory of the generated files.
    """
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{NAMESPACE}")
    spark.sql(f"DROP TABLE IF EXISTS {FULL_NAME} PURGE")
    # Opening a file costs as much as a whole partition may hold, so no partition gets two; none is split either.
    whole_file = str(1 << 40)
    spark.conf.set("spark.sql.files.maxPartitionBytes", whole_file)
    spark.conf.set("spark.sql.files.openCostInBytes", whole_file)
    lineitem = spark.read.parquet(file_uri(str(source)))
    lineitem.writeTo(FULL_NAME).using("iceberg").tableProperty("write.distribution-mode", "none").create()


def generator() -> str:
    """Find the program that generates TPC-H's tables.

    Raises
    ------
    RuntimeError
        When it is missing.
    """
    beside_python = Path(sys.executable).with_name("tpchgen-cli")
    found = str(beside_python) if beside_python.is_file() else shutil.which("tpchgen-cli")
    if found is None:
        raise RuntimeError("Cannot generate TPC-H data, because tpchgen-cli is missing: pip install tpchgen-cli")
    return found
