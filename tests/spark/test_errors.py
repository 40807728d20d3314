"""Errors that no code expects, on Spark's driver, in each phase of a rewrite: nothing is left behind, and nothing false is told.

A class on the driver is what can raise them: ``java/Faults.java``, compiled here, a plug-in's optimizer rule and a catalog.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import Row, SparkSession

from tests.spark.tables import Table, create, local_path, untouched

SOURCE = Path(__file__).parent / "java" / "Faults.java"
PACKAGE = "io.icebergzorder.faults"


@pytest.fixture(scope="module")
def faults(spark: SparkSession, lake_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The class of the faults, with its rule in the session and its catalog under the name ``faulty``."""
    home = os.environ.get("JAVA_HOME")
    classes = tmp_path_factory.mktemp("faults")
    runtime = next(
        jar for jar in str(spark.conf.get("spark.repl.local.jars")).split(",") if "iceberg-spark-runtime" in jar
    )
    class_path = f"{Path(pyspark.__file__).parent / 'jars'}/*:{local_path(runtime)}"
    javac = f"{home}/bin/javac" if home else "javac"
    subprocess.run([javac, "-nowarn", "-cp", class_path, "-d", classes, SOURCE], check=True, capture_output=True)
    jar = shutil.make_archive(str(classes), "zip", classes)
    spark.sql(f"ADD JAR {Path(jar).rename(Path(jar).with_suffix('.jar'))}")
    spark.conf.set("spark.sql.catalog.faulty", f"{PACKAGE}.Faults$FaultyCatalog")
    for key in ("uri", "warehouse", "jdbc.schema-version"):
        spark.conf.set(f"spark.sql.catalog.faulty.{key}", str(spark.conf.get(f"spark.sql.catalog.lake.{key}")))

    jvm: Any = spark.sparkContext._jvm
    loader = jvm.Thread.currentThread().getContextClassLoader()
    rule = loader.loadClass(f"{PACKAGE}.Faults$OptimizerRule").newInstance()
    experimental = spark._jsparkSession.experimental()
    set_rules = getattr(experimental, "extraOptimizations_$eq")
    set_rules(jvm.PythonUtils.toSeq([rule]))
    yield loader.loadClass(f"{PACKAGE}.Faults")
    set_rules(jvm.PythonUtils.toSeq([]))


@pytest.fixture
def staged(spark: SparkSession, faults: Any) -> Callable[[Table], int]:
    """Count the file groups of which Iceberg's registries have something."""
    count = faults.getClassLoader().loadClass(f"{PACKAGE}.Faults$Staged").newInstance()

    def staged(table: Table) -> int:
        jvm: Any = spark.sparkContext._jvm
        java = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table.full_name)
        number: int = count.applyAsInt(java)
        return number

    return staged


@pytest.fixture
def set_fault(faults: Any) -> Iterator[Callable[[str], None]]:
    def set_fault(name: str) -> None:
        faults.getDeclaredField("writes").setInt(None, 0)
        faults.getDeclaredField("fault").set(None, name)

    yield set_fault
    set_fault("")


@pytest.fixture
def table(spark: SparkSession) -> Table:
    """Three partitions, so as many file groups."""
    return create(
        spark, "SELECT id, cast(id % 3 AS int) AS p, hash(id) AS a FROM range(0, 1500, 1, 1)", partitioned_by="p"
    )


def call(table: Table, *, partial: bool = False, target: int = 1 << 29) -> Row:
    options = {
        "max-concurrent-file-group-rewrites": "1",
        "partial-progress.max-commits": "3",
        "partial-progress.enabled": str(partial).lower(),
        "target-file-size-bytes": str(target),
    }
    return table.call("a", options=options, catalog="faulty")


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("sampling", "StackOverflowError"),
        ("commit", "because java.lang.StackOverflowError. The catalog was not asked to commit, and the new files were deleted"),
        ("filter", "the new files should have 500 rows by the manifests of"),
        ("union", "because this Iceberg does not read staged file groups as expected"),
    ],
    ids=["sampling", "commit", "filter", "union"],
)  # fmt: skip
def test_nothing_is_left(
    table: Table,
    set_fault: Callable[[str], None],
    staged: Callable[[Table], int],
    fault: str,
    message: str,
    partial: bool,
) -> None:
    with untouched(table):
        # What is asked of the table before and after is planned by the same rules.
        set_fault(fault)
        with pytest.raises(Exception, match=".") as failure:
            call(table, partial=partial)
        set_fault("")
    assert message in str(failure.value)
    assert staged(table) == 0


def test_an_error_in_a_file_group_stops_a_rewrite_of_one_commit(
    spark: SparkSession, set_fault: Callable[[str], None], staged: Callable[[Table], int]
) -> None:
    # Partition 1 becomes two files, in a job of its own; the others share one.
    select = "SELECT id, cast(greatest(id % 4, 1) AS int) AS p, hash(id) AS a FROM range(0, 60000, 1, 1)"
    table = create(spark, select, partitioned_by="p")
    set_fault("second write")
    with untouched(table), pytest.raises(Exception, match="StackOverflowError. Nothing was committed"):
        call(table, target=table.bytes() // 3)
    assert staged(table) == 0
