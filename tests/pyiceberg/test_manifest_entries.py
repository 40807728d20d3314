"""Entries of manifests are read as PyIceberg reads them, whatever they hold."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.typedef import Record

from iceberg_zorder.pyiceberg.compat import read_entries
from tests.pyiceberg.committing import commit_files, head_of
from tests.pyiceberg.lake import data_files, equality_delete, position_delete


def values(record: Any) -> Any:
    """A record with all that is in it, for PyIceberg's records of files are equal when their paths are."""
    if isinstance(record, Record):
        return [values(record[place]) for place in range(len(record))]
    return dict(record) if isinstance(record, Mapping) else record


@pytest.mark.parametrize("version", [1, 2])
def test_entries_are_those_that_pyiceberg_reads(catalog: SqlCatalog, version: int) -> None:
    rows = pa.table(
        {
            "id": pa.array([1, None, 3], pa.int64()),
            "day": pa.array([1, 2, None], pa.date32()),
            "s": pa.array(["a", "b", None]),
            "x": pa.array([1.5, float("nan"), None]),
        }
    )
    table = catalog.create_table("db.t", rows.schema, properties={"format-version": str(version)})
    table.update_spec().add_identity("day").add_identity("s").commit()
    table.append(rows)
    table.append(rows.slice(1))
    if version > 1:
        files = data_files(table)
        commit_files(table, equality_delete(table, [{"id": 7}], ["id"], files[0].partition))
        commit_files(table, position_delete(table, files[1], [0]))
    manifests = head_of(table.refresh()).manifests(table.io)
    assert len(manifests) == (2 if version == 1 else 4)
    for manifest in manifests:
        ours, theirs = read_entries(manifest, table.io), manifest.fetch_manifest_entry(table.io)
        assert len(ours) == len(theirs) > 0
        for mine, other in zip(ours, theirs, strict=True):
            # They leave the fields out that they do not know of this version.
            length = len(other.data_file)
            assert values(mine)[:4] == values(other)[:4]
            assert values(mine.data_file)[:length] == values(other.data_file)
            assert type(mine.data_file) is type(other.data_file)
            assert mine.data_file.spec_id == other.data_file.spec_id
