"""The tables that readers read, and the same rows in plain Parquet files, by which their answers are judged.

``python -m benchmarks.readers.tables DIRECTORY`` makes them, and ``tables.json``: the metadata file of each table.
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg import rewrite_data_files
from iceberg_zorder.spark.catalogs import file_uri, spark_catalog
from iceberg_zorder.spark.local import local_session
from quickstart.data import generate
from tests.pyiceberg.committing import commit_files, new_file

FILES = 64
SCALE_FACTOR = 0.07
COLUMNS = ["l_orderkey", "l_linenumber", "l_shipdate", "l_partkey", "l_comment"]
DATE_AND_PART = ["l_shipdate", "l_partkey"]
CLUSTERED_BY = {
    "ingested": [],
    "lineitem": DATE_AND_PART,
    "comments": ["l_partkey", "l_comment"],
    "position_deletes": DATE_AND_PART,
    "equality_deletes": DATE_AND_PART,
    "deletion_vectors": DATE_AND_PART,
}
"""The tables with lineitem's rows, and what each is clustered by. Half of the parts in ``comments`` are NULL."""
LIST = "tables.json"
_CATALOG = "readers"


def make_tables(directory: Path) -> None:
    """Make all tables under an empty directory."""
    source = directory / "source"
    generate(source, scale_factor=SCALE_FACTOR, files=FILES)
    properties = {"uri": f"sqlite:///{directory / 'catalog.db'}", "warehouse": file_uri(str(directory / "warehouse"))}
    catalog = SqlCatalog(_CATALOG, **properties)
    catalog.create_namespace("db")
    rows = [_read(path) for path in sorted(source.iterdir())]
    with_nulls = [_with_nulls(each) for each in rows]
    for name, columns in CLUSTERED_BY.items():
        _make(catalog, name, with_nulls if name == "comments" else rows, columns)
    _delete_by_equality(catalog.load_table("db.equality_deletes"))
    _delete_by_spark(properties, directory)
    _make(catalog, "days", [_days()], [])
    _write_plain(directory / "plain", rows, with_nulls)
    names = [name for _, name in catalog.list_tables("db")]
    found = {name: catalog.load_table(f"db.{name}").metadata_location for name in names}
    (directory / LIST).write_text(json.dumps(found, indent=1), encoding="utf-8")


def _make(catalog: SqlCatalog, name: str, parts: list[pa.Table], columns: list[str]) -> None:
    """Make a table of a data file for each part, and rewrite it into as many."""
    table = catalog.create_table(f"db.{name}", parts[0].schema)
    commit_files(table, *(new_file(table, each) for each in parts), one_manifest=True)
    if columns:
        table.refresh()
        size = sum(task.file.file_size_in_bytes for task in table.scan().plan_files())
        rewrite_data_files(table, columns, options={"rewrite-all": True, "target-file-size-bytes": size // len(parts)})


def _read(path: Path) -> pa.Table:
    rows = pq.read_table(path, columns=COLUMNS)
    return rows.set_column(COLUMNS.index("l_comment"), "l_comment", rows["l_comment"].cast(pa.string()))


def _with_nulls(rows: pa.Table) -> pa.Table:
    """Take the parts of half of the orders away: of fewer NULLs only some layouts have files that hold nothing else."""
    place = rows.column_names.index("l_partkey")
    is_second = pc.equal(pc.bit_wise_and(rows["l_orderkey"], 2), 2)
    parts = pc.if_else(is_second, pa.scalar(None, pa.int64()), rows["l_partkey"])
    return rows.set_column(place, "l_partkey", parts)


def _is_every_eighth(rows: pa.Table, remainder: int) -> pa.ChunkedArray:
    """Mark the rows of every eighth order: TPC-H uses eight of 32 numbers."""
    keys = rows["l_orderkey"]
    return pc.equal(pc.subtract(keys, pc.multiply(pc.divide(keys, 32), 32)), remainder)


def _delete_by_spark(properties: dict[str, str], directory: Path) -> None:
    """Delete every eighth order as Spark does: by position, and by deletion vectors, which PyIceberg does not write."""
    catalog = spark_catalog(_CATALOG, {"type": "sql", **properties})
    settings = {"spark.master": "local[1]", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    with local_session(
        settings, session_settings=catalog.settings, packages=catalog.packages, directory=directory
    ) as spark:
        for name, version in (("position_deletes", 2), ("deletion_vectors", 3)):
            table = f"{_CATALOG}.db.{name}"
            kept = f"'format-version' = {version}, 'write.delete.mode' = 'merge-on-read'"
            spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({kept})")
            spark.sql(f"DELETE FROM {table} WHERE l_orderkey % 32 = 1")


def _delete_by_equality(table: Table) -> None:
    keys = table.schema().select("l_orderkey")
    rows = table.scan(selected_fields=("l_orderkey",)).to_arrow()
    deleted = rows.filter(_is_every_eighth(rows, 1)).group_by("l_orderkey").aggregate([])
    ids = [field.field_id for field in keys.fields]
    commit_files(table, new_file(table, deleted, keys, content=DataFileContent.EQUALITY_DELETES, equality_ids=ids))


def _days() -> pa.Table:
    """Every day that lineitem may have, with its month: what lineitem is joined with."""
    first = datetime.date(1992, 1, 1)
    days = [first + datetime.timedelta(days=day) for day in range(7 * 365 + 2)]
    return pa.table({"d_date": days, "d_month": [f"{day:%Y-%m}" for day in days]})


def _write_plain(directory: Path, rows: list[pa.Table], with_nulls: list[pa.Table]) -> None:
    """Write each table's rows as they should be read."""
    directory.mkdir()
    plain = pa.concat_tables(rows)
    left = plain.filter(pc.invert(_is_every_eighth(plain, 1)))
    for name in CLUSTERED_BY:
        of_table = pa.concat_tables(with_nulls) if name == "comments" else left if "delet" in name else plain
        pq.write_table(of_table, directory / f"{name}.parquet")
    pq.write_table(_days(), directory / "days.parquet")


if __name__ == "__main__":
    make_tables(Path(sys.argv[1]).resolve())
