"""Spark and PyIceberg see the same tables in one SQLite catalog, told of once in PyIceberg's words: each reads what the other wrote."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg import undo
from iceberg_zorder.pyiceberg.commit.replacement import Replacement
from iceberg_zorder.spark import rewrite_data_files
from iceberg_zorder.spark.catalogs import spark_catalog
from tests.pyiceberg.committing import (
    commit,
    files_of,
    head_id,
    ids,
    make_table,
    new_file,
    rows_of,
)


@pytest.fixture
def catalog(spark: SparkSession, tmp_path: Path) -> Iterator[SqlCatalog]:
    name = f"of_{tmp_path.name}"
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(tmp_path / "my warehouse")}
    for key, value in spark_catalog(name, properties).settings.items():
        spark.conf.set(key, value)
    # Spark's own cache of tables would hide what is committed beside it.
    spark.conf.set(f"spark.sql.catalog.{name}.cache-enabled", "false")
    catalog = SqlCatalog(name, **properties)
    catalog.create_namespace("db")
    yield catalog
    catalog.close()


def spark_ids(spark: SparkSession, catalog: SqlCatalog, where: str = "true") -> list[int]:
    rows = spark.sql(f"SELECT id FROM {catalog.name}.db.t WHERE {where}").collect()
    return sorted(row.id for row in rows)


@pytest.mark.parametrize("version", [1, 2])
def test_spark_reads_a_rewritten_table(spark: SparkSession, catalog: SqlCatalog, version: int) -> None:
    rows = rows_of([1, 2, 3, 4, 5], ["a", "a", "b", "b", None])
    table = make_table(catalog, rows, rows_of([6]), version=version, partitioned=True)
    table.update_spec().remove_field("p").add_field("id", transform="truncate[10]", partition_field_name="ten").commit()
    old = [file for file in files_of(table) if file.partition[0] == "a"]
    spec = table.spec()
    ten = [0 if field.name == "ten" else None for field in spec.fields]
    replacement = Replacement(
        tuple(old),
        (
            new_file(table, rows_of([1, 6]), spec_id=1, partition=["a"]),
            new_file(table, rows_of([2]), spec_id=spec.spec_id, partition=ten),
        ),
    )
    commit(table, replacement, head_id(table))
    assert spark_ids(spark, catalog) == ids(table) == [1, 2, 3, 4, 5, 6]
    assert spark_ids(spark, catalog, "p = 'b'") == [3, 4]
    assert spark_ids(spark, catalog, "p IS NULL") == [5]
    name = f"{catalog.name}.db.t"
    told = spark.sql(f"SELECT operation FROM {name}.snapshots ORDER BY committed_at").collect()
    assert [row.operation for row in told] == ["append", "append", "replace"]
    entries = spark.sql(f"SELECT status, count(*) AS n FROM {name}.all_entries GROUP BY status").collect()
    assert {row.status: row.n for row in entries}[2] == 2
    # Spark goes on from there.
    spark.sql(f"INSERT INTO {name} VALUES (7, 'a')")
    spark.sql(f"DELETE FROM {name} WHERE id = 3")
    spark.sql(f"CALL {catalog.name}.system.rewrite_manifests('db.t')")
    assert spark_ids(spark, catalog) == ids(table) == [1, 2, 4, 5, 6, 7]


@pytest.mark.parametrize("version", [2, 3])
def test_a_rewrite_by_spark_is_undone(
    spark: SparkSession, catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    name = f"{catalog.name}.db.t"
    spark.sql(
        f"CREATE TABLE {name} USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '{version}') AS "
        "SELECT id, id % 4 AS p FROM range(0, 400, 1, 4)"
    )
    spark.sql(f"DELETE FROM {name} WHERE id = 7")
    table = catalog.load_table("db.t")
    before, rows = head_id(table), spark_ids(spark, catalog)
    options = {"rewrite-all": True, "partial-progress.enabled": True, "partial-progress.max-commits": 4}
    rewrite_data_files(spark, name, ["id"], options=options)
    assert len(table.refresh().snapshots()) == 6, "there is a commit for each partition"
    if version == 2:
        assert len(undo(table).undone) == 4
    else:
        # Of metadata that PyIceberg would not write whole; the statement that is given instead does the same.
        with monkeypatch.context() as patch:
            patch.setattr(
                import_module("iceberg_zorder.pyiceberg.undo"), "dropped_metadata", lambda _: "encryption-keys"
            )
            with pytest.raises(InvalidInputError, match="PyIceberg would drop encryption-keys") as no:
                undo(table)
        assert len(undo(table).undone) == 4
        head = table.refresh().metadata.snapshots[-1].snapshot_id
        spark.sql(f"CALL {catalog.name}.system.set_current_snapshot('db.t', {head})")
        spark.sql(str(no.value).rpartition(": ")[2])
    assert head_id(table) == before
    assert spark_ids(spark, catalog) == rows
    spark.sql(f"INSERT INTO {name} VALUES (400, 0)")
    assert spark_ids(spark, catalog) == [*rows, 400]
