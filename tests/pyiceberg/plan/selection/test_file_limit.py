"""Option ``max-files-to-rewrite`` takes first what is due, then what saves most for its bytes, and tells what waits."""

import numpy as np
import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PARTITION_FIELD_ID_START
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from iceberg_zorder.pyiceberg import plan_rewrite, rewrite_data_files
from tests.pyiceberg.lake import data_files
from tests.pyiceberg.plan.selection.test_gains import mean, measured, values_of

TARGET = {"target-file-size-bytes": "20000"}
SCHEMA = pa.schema([("p", pa.int64()), ("a", pa.int64()), ("b", pa.int64())])


def rows(part: int, count: int, seed: int, least: int = 0, most: int = 1_000) -> pa.Table:
    """Rows of a partition, with values between bounds."""
    draw = np.random.default_rng(seed)
    columns = [np.full(count, part), draw.integers(least, most, count), draw.integers(least, most, count)]
    return pa.table(columns, schema=SCHEMA)


def boxes(part: int, files: int = 6, count: int = 300) -> list[pa.Table]:
    """Small files of a partition that lie apart: one of them all is read more."""
    return [rows(part, count, each, 100 * each, 100 * each + 100) for each in range(files)]


def of_one_value(part: int, files: int = 6) -> list[pa.Table]:
    """Files whose bounds span everything, and hide that nearly all rows have one value: by bounds they gain most."""
    column = [0, *[500] * 3_000, 1_000]
    return [pa.table([[part] * len(column), column, column], schema=SCHEMA)] * files


def across(part: int, files: int = 6) -> list[pa.Table]:
    """Files of a partition that lie across each other."""
    return [rows(part, 3_000, 10 + each) for each in range(files)]


def made(catalog: Catalog, *files: pa.Table, name: str = "db.t", partitioned: bool = True) -> Table:
    """A table with these files; the last one is listed first."""
    table = catalog.create_table(name, SCHEMA)
    if partitioned:
        table.update_spec().add_field("p", IdentityTransform(), "p").commit()
    for each in files:
        table.append(each)
    return table


def scanned(table: Table) -> float:
    """What filters on a, or on b, read on average."""
    values = {name: each[::20] for name, each in values_of(table, "a", "b").items()}
    return mean(measured(data_files(table.refresh()), table, values))


def until_nothing_is_left(table: Table, options: dict[str, str], most: int = 12) -> str:
    """Rewrite until there is nothing to do; returns why."""
    for _ in range(most):
        result = rewrite_data_files(table, "a, b", options=options)
        if not result.rewritten_data_files_count:
            return str(result.message)
    raise AssertionError("it does not end")


def paths_of(table: Table, part: int) -> set[str]:
    return {file.file_path for file in data_files(table.refresh()) if file.partition[0] == part}


def test_what_gains_nothing_is_left_and_what_waits_is_told(catalog: SqlCatalog) -> None:
    ordered = (rows(1, 100, each, 100 * each, 100 * each + 400) for each in range(6))
    table = made(catalog, *ordered, *of_one_value(0))
    size = data_files(table)[-1].file_size_in_bytes
    options = {"target-file-size-bytes": str(size), "max-files-to-rewrite": "6"}
    [first] = plan_rewrite(table, "a, b", options=options).groups
    assert first.partition_path == "p=0", "it stands in the way"
    result = rewrite_data_files(table, "a, b", options=options)
    assert result.rewritten_data_files_count == 0
    assert (result.message or "").endswith(
        " 6 more data files wait behind max-files-to-rewrite 6: raise it to reach them."
    )
    as_it_was = paths_of(table, 0)
    assert (
        rewrite_data_files(table, "a, b", options={**options, "max-files-to-rewrite": "12"}).rewritten_data_files_count
        == 6
    )
    assert paths_of(table, 0) == as_it_was


def test_old_specs_end_a_part_at_a_time(catalog: SqlCatalog) -> None:
    ordered = [rows(each % 3, 2_000, each, 100 * each, 100 * each + 100) for each in range(8)]
    table = made(catalog, *ordered, partitioned=False)
    table.update_spec().add_field("p", IdentityTransform(), "p").commit()
    assert table.spec().fields[0].field_id >= PARTITION_FIELD_ID_START
    options = {**TARGET, "rewrite-old-specs": "true", "max-files-to-rewrite": "2"}
    [group] = plan_rewrite(table, "a, b", options=options).groups
    assert group.reason == (
        "8 files of partition spec 0; new files are of 1; 2 of its 8 files, because max-files-to-rewrite is 2"
    )
    until_nothing_is_left(table, options)
    assert {file.spec_id for file in data_files(table.refresh())} == {1}


def test_parts_end_at_the_layout_of_the_whole(catalog: SqlCatalog) -> None:
    files = [*across(1, 8), *boxes(0), *across(2, 5)]
    whole, parts = (made(catalog, *files, name=f"db.{name}") for name in ("whole", "parts"))
    until_nothing_is_left(whole, TARGET)
    until_nothing_is_left(parts, {**TARGET, "max-files-to-rewrite": "6"})
    assert scanned(parts) <= 1.2 * scanned(whole)
