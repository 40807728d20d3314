"""The same condition chooses the same data files in both engines."""

import random
from collections.abc import Iterator

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.spark.call import failure_message
from tests.pyiceberg.lake import planned
from tests.spark.tables import CATALOG, settings
from tests.spark_python.where import condition, create

CONDITIONS = 100
SPECS = {
    "whole": PartitionSpec(),
    "parts": PartitionSpec(
        PartitionField(9, 1000, DayTransform(), "at_day"),
        PartitionField(11, 1001, TruncateTransform(3), "s_trunc"),
        PartitionField(2, 1002, IdentityTransform(), "i"),
        PartitionField(3, 1003, BucketTransform(3), "l_bucket"),
    ),
}


@pytest.fixture(scope="module", params=list(SPECS))
def table(request: pytest.FixtureRequest, catalog: Catalog) -> Iterator[Table]:
    name = f"db.where_{request.param}"
    yield create(catalog, name, SPECS[request.param], random.Random(1), 24 if request.param == "whole" else 8)
    catalog.drop_table(name)


def chosen_by_pyiceberg(table: Table, where: str) -> set[str]:
    plan = planned(table, {"rewrite-all": "true"}, where)
    return {task.data_file.file_path for group in plan.groups for task in group.tasks}


def chosen_by_spark(spark: SparkSession, name: str, where: str) -> set[str]:
    """As the plugin chooses: by Spark's parser and optimizer, its own translation, and Iceberg's scan."""
    jvm, session = spark._jvm, spark._jsparkSession
    assert jvm is not None
    expression = jvm.io.icebergzorder.spark.internals.SparkInternals.icebergExpression(session, name, where)
    scan = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session, name).newScan()
    tasks = scan.caseSensitive(False).filter(expression).ignoreResiduals().planFiles().iterator()
    found = set()
    while tasks.hasNext():
        found.add(tasks.next().file().location())
    return found


def holding(spark: SparkSession, name: str, conditions: list[str]) -> list[set[str]]:
    """For each condition, the files with rows for which it is true, as Spark evaluates it."""
    # Out of a cache: Spark 4.1 fails where it would have the table evaluate some of them.
    spark.sql(f"SELECT *, _file AS path FROM {name}").cache().createOrReplaceTempView("where_rows")
    found: list[set[str]] = [set() for _ in conditions]
    several = ", ".join(f"({each}) AS c{place}" for place, each in enumerate(conditions))
    # To compile them all takes minutes.
    with settings(spark, {"spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.codegen.wholeStage": "false"}):
        for file, *holds in spark.sql(f"SELECT path, {several} FROM where_rows").collect():
            for place, is_true in enumerate(holds):
                if is_true:
                    found[place].add(file)
    return found


def test_random_conditions(spark: SparkSession, table: Table) -> None:
    name, rng = f"{CATALOG}.{'.'.join(table.name())}", random.Random(7)
    conditions = [condition(rng) for _ in range(CONDITIONS)]
    sizes: set[int] = set()
    wrong: list[str] = []
    for where, matching in zip(conditions, holding(spark, name, conditions), strict=True):
        try:
            ours, theirs = chosen_by_pyiceberg(table, where), chosen_by_spark(spark, name, where)
        except (InvalidInputError, PySparkException) as error:
            wrong.append(f"{where}: {failure_message(error)}")
            continue
        sizes.add(len(ours))
        if ours != theirs or not matching <= ours:
            wrong.append(f"{where}: {len(ours)} files without Spark, {len(theirs)} with it, {len(matching)} with rows")
    assert wrong == []
    assert len(sizes) > 8


def test_only_nan_is_nan(spark: SparkSession, catalog: Catalog) -> None:
    name = f"{CATALOG}.db.where_nan"
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    # Each of four tasks writes a file of its row.
    spark.sql(
        f"CREATE TABLE {name} USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none') AS "
        "SELECT what, d, float(d) AS f, named_struct('a b', d) AS s FROM (SELECT "
        "element_at(array('nan', 'null', 'one', 'infinity'), int(id) + 1) AS what, "
        "element_at(array(double('NaN'), NULL, 1D, double('Infinity')), int(id) + 1) AS d FROM range(0, 4, 1, 4))"
    )
    files = {row.what: row.path for row in spark.sql(f"SELECT what, _file AS path FROM {name}").collect()}
    table = catalog.load_table("db.where_nan")
    for condition_, kinds in (
        ("isnan({0})", {"nan"}),
        ("NOT isnan({0})", {"null", "one", "infinity"}),
        ("isnan({0}) OR {0} > 5", {"nan", "infinity"}),
        ("isnan({0}) IS FALSE AND {0} IS NOT NULL", {"one", "infinity"}),
        ("NOT (isnan({0}) OR {0} IS NULL)", {"one", "infinity"}),
    ):
        for column in ("d", "f", "s.`a b`"):
            where = condition_.format(column)
            assert chosen_by_spark(spark, name, where) == {files[kind] for kind in kinds}, where
            if "FALSE" not in where:
                assert chosen_by_pyiceberg(table, where) == {files[kind] for kind in kinds}, where
    for where in ("isnan(d + 1)", "isnan(length(what))"):
        with pytest.raises(PySparkException, match="Cannot use the filter 'isnan.*, because Cannot"):
            spark.sql(f"CALL {CATALOG}.system.zorder_report('{name}', 'd', where => '{where}')")
