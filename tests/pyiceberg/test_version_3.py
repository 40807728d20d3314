"""Tables of format version 3, as far as no other engine is needed; ``tests/spark_python/test_random_version_3.py`` has Spark."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataV3
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.typedef import IcebergBaseModel, Record
from pyiceberg.types import (
    GeographyType,
    GeometryType,
    IcebergType,
    LongType,
    NestedField,
    StructType,
    TimestampNanoType,
    TimestamptzNanoType,
    UnknownType,
)

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg import rewrite_data_files
from iceberg_zorder.pyiceberg.commit.replacement import change_properties
from iceberg_zorder.pyiceberg.compat import (
    arrow_transform,
    first_row_id,
    manifest_key,
    manifests_of,
    new_file,
    read_entries,
    submit,
    with_own_size,
    write_entries,
    write_list,
)
from iceberg_zorder.pyiceberg.deletion_vectors import decoded, encoded


def created(catalog: SqlCatalog, *fields: NestedField, spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC) -> Table:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableMetadataV3, "model_dump_json", IcebergBaseModel.model_dump_json)
        return catalog.create_table("db.t", Schema(*fields), partition_spec=spec, properties={"format-version": "3"})


def make(catalog: SqlCatalog, *more: IcebergType) -> Table:
    """A table of version 3 without rows, with a long column and others."""
    return created(catalog, *(NestedField(n, f"c{n}", kind) for n, kind in enumerate([LongType(), *more], start=1)))


def entry(rows: int, status: ManifestEntryStatus, **more: Any) -> ManifestEntry:
    file = new_file(
        content=DataFileContent.DATA,
        file_path=f"file:///{rows}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows,
        file_size_in_bytes=rows,
        **more,
    )
    file.spec_id = 0
    return ManifestEntry.from_args(
        status=status, snapshot_id=1, sequence_number=1, file_sequence_number=1, data_file=file
    )


def manifest(table: Table, *entries: ManifestEntry, content: ManifestContent = ManifestContent.DATA) -> Any:
    output = table.io.new_output(f"{table.location()}/metadata/{len(entries)}-{content}-{entries[0].status}.avro")
    return write_entries(entries, output, metadata=table.metadata, spec_id=0, snapshot_id=1, content=content)


def listed(table: Table, first: int, *manifests: Any, name: str = "list") -> Snapshot:
    """A snapshot of these manifests, on top of metadata whose next row id is ``first``."""
    path = f"{table.location()}/metadata/{name}.avro"
    snapshot = Snapshot.model_validate({"snapshot-id": 1, "sequence-number": 1, "manifest-list": path, "schema-id": 0})
    metadata = table.metadata.model_copy(update={"next_row_id": first})
    return write_list(manifests, table.io.new_output(snapshot.manifest_list), metadata=metadata, snapshot=snapshot)


def ids(table: Table, snapshot: Snapshot) -> list[tuple[int, int | None]]:
    """The rows of each live data file, and the id of its first one."""
    found: list[DataFile] = []
    for each in manifests_of(snapshot, table.io):
        if each.content == ManifestContent.DATA:
            found += [entry.data_file for entry in read_entries(each, table.io)]
    return [(file.record_count, first_row_id(file)) for file in found]


ADDED, EXISTING, DELETED = ManifestEntryStatus.ADDED, ManifestEntryStatus.EXISTING, ManifestEntryStatus.DELETED


def test_files_without_an_id_share_those_of_their_manifest(catalog: SqlCatalog) -> None:
    table = make(catalog)
    mixed = manifest(
        table, entry(100, DELETED), entry(10, EXISTING), entry(7, EXISTING, first_row_id=3), entry(5, ADDED)
    )
    plain = manifest(table, entry(9, ADDED))
    snapshot = listed(table, 1000, mixed, plain)
    assert ids(table, snapshot) == [(10, 1000), (7, 3), (5, 1010), (9, 1022)]
    assert (snapshot.first_row_id, snapshot.added_rows) == (1000, 31)
    # Manifests that have ids keep them in later snapshots.
    again = listed(table, 5000, *manifests_of(snapshot, table.io), name="again")
    assert ids(table, again) == ids(table, snapshot)
    assert (again.first_row_id, again.added_rows) == (5000, 0)


def test_a_manifest_that_was_given_ids_has_other_entries(catalog: SqlCatalog) -> None:
    table = make(catalog)
    before = manifest(table, entry(9, ADDED))
    (after,) = manifests_of(listed(table, 50, before), table.io)
    assert before.manifest_path == after.manifest_path
    assert manifest_key(before) != manifest_key(after)
    assert [first_row_id(read_entries(each, table.io)[0].data_file) for each in (before, after)] == [None, 50]


def test_a_table_that_was_upgraded_meanwhile(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", Schema(NestedField(1, "c1", LongType())))
    same, start = catalog.load_table("db.t"), Snapshot.model_validate({"snapshot-id": 1, "manifest-list": "x"})
    location = Path(table.metadata_location.removeprefix("file://"))
    refs = {"main": {"snapshot-id": 1, "type": "branch"}}
    snapshot = {"snapshot-id": 1, "sequence-number": 1, "timestamp-ms": 1, "manifest-list": "x"}
    metadata = json.loads(location.read_text()) | {"snapshots": [snapshot], "current-snapshot-id": 1, "refs": refs}
    location.write_text(json.dumps(metadata))
    same.refresh()
    location.write_text(json.dumps(metadata | {"format-version": 3, "next-row-id": 0}))
    new = start.model_copy(update={"snapshot_id": 2, "parent_snapshot_id": 1, "sequence_number": 2})
    with pytest.raises(CommitFailedException, match="another format version"):
        submit(same, new, "main")


def test_delete_manifests_use_up_no_ids(catalog: SqlCatalog) -> None:
    table = make(catalog)
    vector = entry(4, ADDED)
    vector.data_file[0] = DataFileContent.POSITION_DELETES
    snapshot = listed(
        table, 50, manifest(table, vector, content=ManifestContent.DELETES), manifest(table, entry(9, ADDED))
    )
    assert ids(table, snapshot) == [(9, 50)]
    assert snapshot.added_rows == 9


def test_vectors_count_by_their_own_size(catalog: SqlCatalog) -> None:
    vector = entry(4000, ADDED, content_offset=4, content_size_in_bytes=40).data_file
    counted = with_own_size(vector)
    assert (counted.file_size_in_bytes, counted.record_count, vector.file_size_in_bytes) == (40, 4000, 4000)
    plain = entry(4, ADDED).data_file
    assert with_own_size(plain) is plain


def test_a_snapshot_of_another_branch_takes_the_sequence_number(catalog: SqlCatalog) -> None:
    """PyIceberg looks at row ids alone, and a snapshot that only deletes takes none."""
    table = make(catalog)
    refs = {"snapshot-id": 1, "type": "branch"}
    location = Path(table.metadata_location.removeprefix("file://"))
    metadata = json.loads(location.read_text())
    first = listed(table, 0, manifest(table, entry(9, ADDED))).model_dump(mode="json", by_alias=True, exclude_none=True)
    metadata |= {"snapshots": [first], "current-snapshot-id": 1, "last-sequence-number": 1, "next-row-id": 9}
    metadata["refs"] = {"main": refs, "other": refs}
    location.write_text(json.dumps(metadata))
    table, same = catalog.load_table("db.t"), catalog.load_table("db.t")

    def add(to: Table, snapshot_id: int, branch: str) -> None:
        new = Snapshot.model_validate(
            first | {"snapshot-id": snapshot_id, "parent-snapshot-id": 1, "sequence-number": 2}
        )
        submit(to, new.model_copy(update={"first_row_id": 9, "added_rows": 0}), branch)

    add(table, 2, "other")
    with pytest.raises(Exception, match="another branch has a new snapshot"):
        add(same, 3, "main")
    assert catalog.load_table("db.t").metadata.next_sequence_number() == 3


@pytest.mark.parametrize(
    "kind", [GeometryType(), GeographyType(), StructType(NestedField(9, "u", UnknownType()))], ids=str
)
def test_types_that_arrow_does_not_store(catalog: SqlCatalog, kind: IcebergType) -> None:
    table = make(catalog, kind)
    with pytest.raises(InvalidInputError, match=r"does not write type \w+.* of column c2.*: use the Spark engine"):
        rewrite_data_files(table, ["c1"])


def test_columns_that_are_named_like_lineage(catalog: SqlCatalog) -> None:
    table = created(catalog, NestedField(1, "_row_id", LongType()))
    with pytest.raises(InvalidInputError, match="does not write a column named _row_id"):
        rewrite_data_files(table, ["_row_id"])


def test_partitions_by_nanoseconds(catalog: SqlCatalog) -> None:
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "t"))
    table = created(catalog, NestedField(1, "t", TimestampNanoType()), NestedField(2, "a", LongType()), spec=spec)
    with pytest.raises(InvalidInputError, match="does not write partitions by a column of type timestamp_ns"):
        rewrite_data_files(table, ["a"])


@pytest.mark.parametrize("kind", [TimestampNanoType(), TimestamptzNanoType()], ids=str)
def test_transforms_of_nanoseconds_before_1970_round_down(kind: IcebergType) -> None:
    assert arrow_transform(BucketTransform(4), kind) is None
    assert arrow_transform(BucketTransform(4), LongType()) is not None


def test_metadata_that_pyiceberg_would_drop(catalog: SqlCatalog) -> None:
    table = make(catalog)
    change_properties(table, {"a": "1"})
    location = Path(table.metadata_location.removeprefix("file://"))
    keys = [{"key-id": "k", "encrypted-key-metadata": "eA=="}]
    location.write_text(json.dumps(json.loads(location.read_text()) | {"encryption-keys": keys}))
    with pytest.raises(InvalidInputError, match="would drop encryption-keys from its metadata: use the Spark engine"):
        change_properties(table, {"a": "2"})
    with pytest.raises(InvalidInputError, match="would drop encryption-keys"):
        rewrite_data_files(table, ["c1"])
    assert catalog.load_table("db.t").properties["a"] == "1"


def test_other_commits_through_pyiceberg_still_do_not_write_version_3(catalog: SqlCatalog) -> None:
    table = make(catalog)
    with pytest.raises(NotImplementedError), table.transaction() as change:
        change.set_properties({"a": "1"})


@pytest.mark.parametrize("positions", [[0], [5, 7, 1 << 32, (1 << 33) + 1], list(range(70_000)), []], ids=len)
def test_deletion_vectors(positions: list[int]) -> None:
    assert decoded(encoded(positions)).tolist() == positions
    assert decoded(encoded(np.array(positions, np.int64))).tolist() == positions


@pytest.mark.parametrize("place", [0, 5, 20, -1])
def test_damaged_deletion_vectors(place: int) -> None:
    blob = bytearray(encoded([1, 2, 3]))
    blob[place] ^= 1
    with pytest.raises(ValueError, match="deletion vector"):
        decoded(bytes(blob))
