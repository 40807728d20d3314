"""Rows are hashed as Spark hashes them, so that both engines sample the same rows."""

import numpy as np
from pyspark.sql import SparkSession

from iceberg_zorder.sample.sampled_row_groups import row_hashes


def test_spark_hashes_the_same(spark: SparkSession) -> None:
    paths = ["", "b", "file:/lake/data/x.parquet", "s3a://é/" + "y" * 63]
    rows = [(path, position, seed) for path in paths for position in (0, 1, 2**62) for seed in (0, -1, 2**63 - 1)]
    frame = spark.createDataFrame(rows, "path string, pos bigint, seed bigint")
    for row in frame.selectExpr("*", "xxhash64(path, pos, seed) AS seeded", "xxhash64(path, pos) AS hashed").collect():
        position = np.array([row["pos"]])
        assert row_hashes(row["path"], position, row["seed"]).tolist() == [row["seeded"]]
        assert row_hashes(row["path"], position).tolist() == [row["hashed"]]
