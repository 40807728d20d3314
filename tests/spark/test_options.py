"""Options of ``rewrite_data_files``, each for what it changes; those of the layout are tested with the layout."""

import pytest
from pyspark.sql import SparkSession

from tests.spark.tables import ICEBERG, Table, create, rolled_back, unchanged

ROWS = "SELECT id, cast(id % 4 AS int) AS p, hash(id) AS a, hash(id, 1) AS b FROM range(0, 8000, 1, {files})"
NO_REWRITE_ALL = {"rewrite-all": "false"}


@pytest.fixture(scope="module")
def with_deletes(spark: SparkSession) -> Table:
    """Files of 1,000 rows: a delete of one in a file, two of 250 in another, one of 300 in a third."""
    properties = {
        "format-version": "2",
        "write.delete.mode": "merge-on-read",
        "write.delete.granularity": "partition",
        "read.split.open-file-cost": "1",
    }
    table = create(spark, ROWS.format(files=8), properties=properties)
    for where in ("id = 5", "id BETWEEN 1000 AND 1249", "id BETWEEN 1500 AND 1749", "id BETWEEN 2000 AND 2299"):
        spark.sql(f"DELETE FROM {table.full_name} WHERE {where}")
    return table


@pytest.mark.parametrize(
    ("options", "rewritten"),
    [
        ({"delete-ratio-threshold": "0.2"}, 2),
        ({"delete-ratio-threshold": "0.9"}, 0),
        ({"delete-ratio-threshold": "1", "delete-file-threshold": "1"}, 3),
        ({"delete-ratio-threshold": "1", "delete-file-threshold": "2"}, 1),
    ],
)
def test_thresholds_of_deletes(with_deletes: Table, options: dict[str, str], rewritten: int) -> None:
    in_order = {"min-file-size-bytes": "1", "max-file-size-bytes": "536870912", "target-file-size-bytes": "1048576"}
    with rolled_back(with_deletes) as table:
        rows = table.fingerprint()
        row = table.call("a, b", options={**NO_REWRITE_ALL, **in_order, **options})
        assert row.rewritten_data_files_count == rewritten
        assert table.fingerprint() == rows


@pytest.mark.parametrize("starting", [True, False])
def test_use_starting_sequence_number(spark: SparkSession, starting: bool) -> None:
    table = create(spark, ROWS.format(files=8), properties={"format-version": "2"})
    with unchanged(table):
        table.call("a, b", options={"use-starting-sequence-number": str(starting).lower()})
    numbers = spark.sql(f"SELECT DISTINCT sequence_number FROM {table.full_name}.entries WHERE status = 1").collect()
    assert [row[0] for row in numbers] == [1 if starting else 2]


@pytest.mark.parametrize(
    ("remove", "branch"),
    [
        (True, "main"),
        (False, "main"),
        pytest.param(
            *(True, "audit"),
            marks=pytest.mark.skipif(ICEBERG < (1, 12), reason="older actions of Iceberg know branch main only"),
        ),
    ],
)
def test_remove_dangling_deletes(spark: SparkSession, remove: bool, branch: str) -> None:
    properties = {"format-version": "2", "write.delete.mode": "merge-on-read"}
    table = create(spark, ROWS.format(files=8), partitioned_by="p", properties=properties)
    spark.sql(f"DELETE FROM {table.full_name} WHERE id % 10 = 0")
    if branch != "main":
        spark.sql(f"ALTER TABLE {table.full_name} CREATE BRANCH {branch}")

    def deletes(of: str) -> int:
        found = spark.sql(f"SELECT count(*) FROM {table.full_name}.delete_files VERSION AS OF '{of}'").collect()
        return int(found[0][0])

    before, rows = deletes("main"), table.fingerprint()
    assert before > 0
    options = {"remove-dangling-deletes": str(remove).lower(), "use-starting-sequence-number": "false"}
    row = table.call("a, b", options=options, **({} if branch == "main" else {"branch": branch}))
    assert row.removed_delete_files_count == (before if remove else 0)
    assert deletes(branch) == (0 if remove else before)
    assert branch == "main" or deletes("main") == before, "main keeps its deletes"
    assert table.fingerprint(version=f"VERSION AS OF '{branch}'") == rows
    written = f"SELECT summary['zorder.rewrite-id'] FROM {table.full_name}.snapshots WHERE operation = 'replace'"
    ids = [row[0] for row in spark.sql(written).collect()]
    assert (len(ids), len(set(ids)), None in ids) == (2 if remove else 1, 1, False)


@pytest.mark.parametrize(
    ("order", "partitions"),
    [
        ("bytes-asc", [3, 0, 2, 1]),
        ("bytes-desc", [1, 2, 0, 3]),
        ("files-asc", [1, 0, 2, 3]),
        ("files-desc", [3, 2, 0, 1]),
    ],
)
def test_rewrite_job_order_and_one_group_at_a_time(spark: SparkSession, order: str, partitions: list[int]) -> None:
    table = create(
        spark,
        "SELECT id, hash(id) AS a, 0 AS p FROM range(0)",
        partitioned_by="p",
        properties={"write.distribution-mode": "none"},
    )
    for partition, (files, number) in enumerate([(3, 2000), (2, 9000), (4, 5000), (5, 500)]):
        select = f"SELECT /*+ REPARTITION({files}) */ id, hash(id), {partition} FROM range({number})"
        spark.sql(f"INSERT INTO {table.full_name} {select}")
    options = {
        "rewrite-job-order": order,
        "max-concurrent-file-group-rewrites": "1",
        "partial-progress.enabled": "true",
        "partial-progress.max-commits": "4",
    }
    rows = table.fingerprint()
    table.call("a", options=options)
    entries = spark.sql(
        f"SELECT e.data_file.partition.p FROM {table.full_name}.entries e JOIN {table.full_name}.snapshots s"
        " ON e.snapshot_id = s.snapshot_id WHERE s.operation = 'replace' AND e.status < 2 ORDER BY s.committed_at"
    ).collect()
    assert [row[0] for row in entries] == partitions
    assert table.fingerprint() == rows
