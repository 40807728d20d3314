"""Both engines cut the same file groups, lay them out alike, and say the same of them."""

from __future__ import annotations

import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import plan_rewrite
from iceberg_zorder.pyiceberg import rewrite_data_files as rewrite_without_spark
from iceberg_zorder.spark import rewrite_data_files
from tests.conftest import CATALOG
from tests.spark_python.test_same_layout import counts, outcome, size

TABLES = {
    "boxes": (
        "1000 * (id div 8000) + abs(hash(id)) % 1000 AS a, "
        "concat('x', 1000 + 100 * (id div 1000 % 8) + abs(hash(id, 1)) % 100) AS b"
    ),
    "days": "IF(id % 9 = 0, NULL, abs(hash(id)) % 64000) AS a, concat('2026-', 100000 + id) AS b",
    "across": "abs(hash(id)) AS a, sha2(cast(id AS string), 256) AS b",
}
BOUNDS = {"a half": 2, "a fifth": 5}


FEW = {("days", "a fifth"), ("across", "a half")}
CASES = [
    pytest.param(kind, bound, marks=() if (kind, bound) in FEW else pytest.mark.full)
    for kind in TABLES
    for bound in BOUNDS
]


@pytest.mark.parametrize(("kind", "bound"), CASES)
def test_both_engines_cut_alike(spark: SparkSession, catalog: Catalog, kind: str, bound: str) -> None:
    full = f"{CATALOG}.db.same_group_cuts"
    spark.sql(f"DROP TABLE IF EXISTS {full}")
    spark.sql(
        f"CREATE TABLE {full} USING iceberg TBLPROPERTIES ('format-version' = '2', 'write.distribution-mode' = 'none') "
        f"AS SELECT id, {TABLES[kind]} FROM range(0, 64000, 1, 64)"
    )
    options = {"rewrite-all": "true", "target-file-size-bytes": str(size(spark, full) // 80)}
    options["max-file-group-size-bytes"] = str(size(spark, full) // BOUNDS[bound])
    options["max-file-group-input-files"] = "20"
    table = catalog.load_table("db.same_group_cuts")
    before = table.current_snapshot()
    assert before is not None
    plan = plan_rewrite(table, "a, b", options=dict(options))
    pairs = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
    row = spark.sql(
        f"CALL {CATALOG}.system.zorder_plan(table => 'db.same_group_cuts', sort_order => 'a, b', options => map({pairs}))"
    ).collect()[0]
    assert str(plan) == row["plan"]
    assert len(plan.groups) > 1
    result = rewrite_without_spark(table, "a, b", options=dict(options))
    spark.sql(f"REFRESH TABLE {full}")
    ours = outcome(table, 1)
    spark.sql(f"CALL {CATALOG}.system.rollback_to_snapshot('db.same_group_cuts', {before.snapshot_id})")
    assert counts(rewrite_data_files(spark, full, "a, b", options=options)) == counts(result)
    assert outcome(table, 1) == ours
