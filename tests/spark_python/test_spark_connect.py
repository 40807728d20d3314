"""The same function through Spark Connect, where only SQL reaches the JVM."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# A process of its own: classic and Connect sessions cannot share one.
SCRIPT = r"""
import json, sys, warnings
from dataclasses import asdict
from pyspark.sql import SparkSession
from iceberg_zorder.spark import append, configure_spark, report, rewrite_data_files
from iceberg_zorder.spark.catalogs import spark_catalog

directory = sys.argv[1]
catalog = spark_catalog("lake", {"type": "sql", "uri": f"sqlite:///{directory}/c.db", "warehouse": directory})
builder = SparkSession.builder.remote("local[2]").config("spark.driver.host", "127.0.0.1")
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    spark = configure_spark(builder, extra_packages=catalog.packages).getOrCreate()
for key, value in catalog.settings.items():
    spark.conf.set(key, value)
spark.sql("CREATE NAMESPACE lake.db")
spark.sql("CREATE TABLE lake.db.t USING iceberg AS SELECT /*+ REPARTITION(4) */ id, concat('k', id % 7) AS k FROM range(1000)")
results = [
    asdict(rewrite_data_files(spark, "lake.db.t", ["id", "k"], where="k <> 'it\\'s'", options={"rewrite-all": True})),
    asdict(rewrite_data_files(spark, "lake.db.t", ["id", "k"])),
]
try:
    rewrite_data_files(spark, "lake.db.t", ["nope"])
except Exception as error:
    refusal, kind = str(error), type(error).__name__
count = spark.table("lake.db.t").count()
first = spark.sql("SELECT snapshot_id FROM lake.db.t.snapshots ORDER BY committed_at").first()[0]
found = report(spark, "lake.db.t", ["id", "k"], where="k <> 'it\\'s'", snapshot_id=first, predicates=["id < 5"])
reported = [found.snapshot_id == first, found.total_rows, found.predicates[0].predicate, len(found.boxes.axes)]
rows = spark.range(3000).selectExpr("id", "concat('k', id % 7) AS k")
appended = append(rows, "lake.db.t", ["id", "k"], file_bytes=2_000)
appended = [appended.added_data_files_count > 1, appended.added_records_count, spark.table("lake.db.t").count()]
spark.sql("CREATE TABLE lake.db.fact USING iceberg AS SELECT id FROM range(0, 8000, 1, 8)")
spark.sql("CREATE TABLE lake.db.dim USING iceberg AS SELECT id AS k, id DIV 1000 AS g FROM range(8000)")
# Tables that Spark may broadcast take no keys.
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "1000")
join = "SELECT /*+ BROADCAST(dim) */ count(*) FROM lake.db.fact JOIN lake.db.dim ON id = k WHERE g = 3"
plans, counts = [], []
for value in ("auto", "off"):
    spark.conf.set("spark.iceberg-zorder.join-pruning", value)
    plans.append("dynamicpruning" in spark.sql("EXPLAIN " + join).first()[0])
    counts.append(spark.sql(join).first()[0])
module = type(spark).__module__
print(json.dumps({"results": results, "refusal": refusal, "count": count, "reported": reported, "appended": appended, "module": module, "plans": plans, "counts": counts, "kind": kind, "warned": [str(each.message) for each in warned]}))
spark.stop()
"""


@pytest.mark.way
def test_over_spark_connect(tmp_path: Path) -> None:
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert "connect" in said["module"]
    first, second = said["results"]
    assert first["rewritten_data_files_count"] >= 2
    assert second["rewritten_data_files_count"] == 0
    assert second["message"].startswith("Nothing to rewrite in ")
    assert "Cannot cluster by column 'nope', because" in said["refusal"]
    assert said["kind"] == "InvalidInputError"
    assert said["count"] == 1000
    assert said["reported"] == [True, 1000, "id < 5", 2]
    assert said["appended"] == [True, 3000, 4000]
    assert (said["plans"], said["counts"]) == ([True, False], [1000, 1000]), "joins skip files, unless switched off"
    # What the caller has set is still told of.
    assert {text.split()[3] for text in said["warned"]} == {"spark.driver.host"}
