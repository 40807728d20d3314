"""Tables in a SQLite catalog, their files written and committed by hand."""

import itertools
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.snapshots import (
    Operation,
    Snapshot,
    Summary,
    UpdateMetrics,
    update_snapshot_summaries,
)
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from iceberg_zorder.pyiceberg.commit.replacement import Replacement, ReplacementCommit
from iceberg_zorder.pyiceberg.compat import read_entries, submit, write_entries, write_list
from tests.present import present

AnyCatalog = TypeVar("AnyCatalog", bound=SqlCatalog)
POSITION_DELETES = Schema(
    NestedField(2147483546, "file_path", StringType(), required=True),
    NestedField(2147483545, "pos", LongType(), required=True),
)
BY_BYTES = {"read.split.open-file-cost": "1"}
"""Properties of tables whose files are of kilobytes: filters cost the bytes that they read."""
BY_FILES = {"read.split.open-file-cost": "4194304"}
"""Iceberg's default: of files of kilobytes, filters cost the number that they open."""
_numbers = itertools.count()


def make_catalog(directory: Path, catalog_class: type[AnyCatalog]) -> AnyCatalog:
    catalog = catalog_class("lake", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}/warehouse")
    catalog.create_namespace_if_not_exists("db")
    return catalog


def rows_of(ids: Sequence[int], p: Sequence[str | None] | str = "a") -> pa.Table:
    values = [p] * len(ids) if isinstance(p, str) else list(p)
    return pa.table({"id": pa.array(ids, pa.int64()), "p": pa.array(values, pa.string())})


def make_table(
    catalog: Catalog, *appends: pa.Table, version: int = 2, partitioned: bool = False, name: str = "db.t"
) -> Table:
    waits = {"commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "2"}
    properties = {**BY_BYTES, **waits, "format-version": str(version)}
    table = catalog.create_table(name, rows_of([]).schema, properties=properties)
    if partitioned:
        table.update_spec().add_identity("p").commit()
    for append in appends:
        table.append(append)
    return table


def files_of(table: Table, snapshot_id: int | None = None) -> tuple[DataFile, ...]:
    """The live data files, in the order of the snapshots that added them."""
    return tuple(entry.data_file for entry in entries_of(table, ManifestContent.DATA, snapshot_id))


def entries_of(table: Table, content: ManifestContent, snapshot_id: int | None = None) -> list[ManifestEntry]:
    found = table.snapshot_by_id(snapshot_id) if snapshot_id else table.current_snapshot()
    if found is None:
        return []
    manifests = [manifest for manifest in found.manifests(table.io) if manifest.content == content]
    entries = [entry for manifest in manifests for entry in read_entries(manifest, table.io)]
    order = {snapshot.snapshot_id: number for number, snapshot in enumerate(table.metadata.snapshots)}
    return sorted(entries, key=lambda entry: (order.get(entry.snapshot_id or 0, -1), entry.data_file.file_path))


def new_file(
    table: Table,
    rows: pa.Table,
    schema: Schema | None = None,
    *,
    spec_id: int = 0,
    partition: Sequence[Any] = (),
    content: DataFileContent = DataFileContent.DATA,
    equality_ids: list[int] | None = None,
    has_statistics: bool = True,
) -> DataFile:
    """Write a Parquet file that no snapshot has yet."""
    schema = schema or table.schema()
    path = f"{table.location()}/data/{content.name.lower()}-{next(_numbers)}-{table.metadata.new_snapshot_id()}.parquet"
    output = table.io.new_output(path)
    with output.create() as stream:
        pq.write_table(rows.cast(schema_to_pyarrow(schema)), stream)
    with output.to_input_file().open() as stream:
        footer = pq.read_metadata(stream)
    known: dict[str, Any] = {"record_count": rows.num_rows, "lower_bounds": {}, "upper_bounds": {}}
    if has_statistics:
        plan = compute_statistics_plan(schema, {"write.metadata.metrics.default": "full"})
        known = data_file_statistics_from_parquet_metadata(
            footer, plan, parquet_path_to_id_mapping(schema)
        ).to_serialized_dict()
    file = DataFile.from_args(
        _table_format_version=3,  # has all fields that a delete file may have
        content=content,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(*partition),
        file_size_in_bytes=len(output),
        equality_ids=equality_ids,
        sort_order_id=None,
        key_metadata=None,
        **known,
    )
    file.spec_id = spec_id
    return file


def position_deletes(table: Table, deletes: Sequence[tuple[str, int]], **where: Any) -> DataFile:
    """Write a position delete file."""
    paths, positions = zip(*sorted(deletes), strict=True)
    rows = pa.table({"file_path": list(paths), "pos": list(positions)})
    return new_file(table, rows, POSITION_DELETES, content=DataFileContent.POSITION_DELETES, **where)


def equality_deletes(table: Table, ids: Sequence[int], **where: Any) -> DataFile:
    """Write an equality delete file by the column id."""
    schema = table.schema().select("id")
    rows = pa.table({"id": pa.array(ids, pa.int64())})
    content = DataFileContent.EQUALITY_DELETES
    return new_file(table, rows, schema, content=content, equality_ids=[schema.find_field("id").field_id], **where)


def commit_files(
    table: Table,
    *files: DataFile,
    one_manifest: bool = False,
    refresh: bool = True,
    age_ms: int = 0,
    branch: str = "main",
    without: ManifestContent | None = None,
    removed: Collection[str] = (),
) -> int:
    """Commit data and delete files as another engine would; on top of the known head if not to refresh.

    All manifests of one content may go, and single files by their paths.

    Each file has a manifest of its own, or each spec and content one. A snapshot of some age is one as if the clock had
    been behind.
    """
    if refresh:
        table.refresh()
    if table.current_snapshot() is None:
        table.append(schema_to_pyarrow(table.schema()).empty_table())
    metadata, id_ = table.metadata, table.metadata.new_snapshot_id()
    parent = present(table.snapshot_by_name(branch))
    manifests = [each for each in parent.manifests(table.io) if each.content != without]
    metrics = UpdateMetrics()
    if removed:
        manifests = [_without(table, each, id_, removed, metrics) for each in manifests]
    groups: dict[object, list[DataFile]] = {}
    for place, file in enumerate(files):
        is_data = file.content == DataFileContent.DATA
        groups.setdefault((file.spec_id, is_data) if one_manifest else place, []).append(file)
        metrics.add_file(file)
    for group in groups.values():
        entries = [
            ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=id_, data_file=file) for file in group
        ]
        is_data = group[0].content == DataFileContent.DATA
        manifest = write_entries(
            entries,
            table.io.new_output(f"{table.location()}/metadata/other-{next(_numbers)}-{id_}.avro"),
            metadata=metadata,
            spec_id=group[0].spec_id,
            snapshot_id=id_,
            content=ManifestContent.DATA if is_data else ManifestContent.DELETES,
        )
        manifests.append(manifest)
    is_append = all(file.content == DataFileContent.DATA for file in files)
    summary = Summary(Operation.APPEND if is_append else Operation.OVERWRITE, **metrics.to_dict())
    summary = update_snapshot_summaries(summary, parent.summary)
    snapshot = Snapshot.model_validate(
        {
            "snapshot-id": id_,
            "parent-snapshot-id": parent.snapshot_id,
            "manifest-list": f"{table.location()}/metadata/snap-{id_}.avro",
            "sequence-number": metadata.next_sequence_number(),
            "timestamp-ms": time.time_ns() // 1_000_000 - age_ms,
            "summary": summary,
            "schema-id": metadata.current_schema_id,
        }
    )
    write_list(manifests, table.io.new_output(snapshot.manifest_list), metadata=metadata, snapshot=snapshot)
    submit(table, snapshot, branch)
    return id_


def _without(
    table: Table, manifest: ManifestFile, snapshot_id: int, removed: Collection[str], metrics: UpdateMetrics
) -> ManifestFile:
    """Write a manifest again whose entries of some files are deleted."""
    entries = read_entries(manifest, table.io)
    gone = [entry for entry in entries if entry.data_file.file_path in removed]
    if not gone:
        return manifest
    for entry in gone:
        metrics.remove_file(entry.data_file)
    again = [
        ManifestEntry.from_args(
            status=ManifestEntryStatus.DELETED if entry in gone else ManifestEntryStatus.EXISTING,
            snapshot_id=snapshot_id if entry in gone else entry.snapshot_id,
            sequence_number=entry.sequence_number,
            file_sequence_number=entry.file_sequence_number,
            data_file=entry.data_file,
        )
        for entry in entries
    ]
    return write_entries(
        again,
        table.io.new_output(f"{table.location()}/metadata/other-{next(_numbers)}-{snapshot_id}.avro"),
        metadata=table.metadata,
        spec_id=manifest.partition_spec_id,
        snapshot_id=snapshot_id,
        content=manifest.content,
    )


def rewritten(table: Table, files: Sequence[DataFile], rows: pa.Table | None = None, **where: Any) -> Replacement:
    """Write the rows of some data files, or the given ones, into one new file."""
    rows = read(files, table) if rows is None else rows
    return Replacement(tuple(files), (new_file(table, rows, **where),))


def read(files: Sequence[DataFile], table: Table) -> pa.Table:
    """All rows of data files, without any deletes."""
    tables = [pq.read_table(urlparse(file.file_path).path, partitioning=None) for file in files]
    return pa.concat_tables(tables, promote_options="permissive").cast(schema_to_pyarrow(table.schema()))


def commit(table: Table, replacement: Replacement, start: int | Snapshot, **options: Any) -> int:
    known: Snapshot | None = None if isinstance(start, int) else start
    if isinstance(start, int):
        known = table.snapshot_by_id(start) or table.catalog.load_table(table.name()).snapshot_by_id(start)
    assert known is not None
    properties = {"snapshot_properties": {"zorder.columns": "id"}}
    return present(ReplacementCommit(table, replacement, start=known, **{**properties, **options}).run()).snapshot_id


def ids(table: Table, **scan: Any) -> list[int]:
    return sorted(table.refresh().scan(**scan).to_arrow()["id"].to_pylist())


def head_of(table: Table) -> Snapshot:
    return present(table.current_snapshot())


def head_id(table: Table) -> int:
    return head_of(table.refresh()).snapshot_id


def paths_on_disk(table: Table) -> Iterator[str]:
    """Every file below the table's location."""
    root = Path(urlparse(table.location()).path)
    return (f"file://{path}" for path in root.rglob("*") if path.is_file())


def on_disk(table: Table) -> set[str]:
    """The data files below the table's location."""
    return {path.removeprefix("file://") for path in paths_on_disk(table) if path.endswith(".parquet")}


def avro_files(table: Table) -> set[str]:
    return {path for path in paths_on_disk(table) if path.endswith(".avro")}


def known_avro_files(table: Table) -> set[str]:
    """The manifest lists and manifests of all snapshots."""
    lists = {snapshot.manifest_list for snapshot in table.refresh().metadata.snapshots}
    manifests = {file.manifest_path for snapshot in table.metadata.snapshots for file in snapshot.manifests(table.io)}
    return lists | manifests


def exists(file: DataFile) -> bool:
    return Path(urlparse(file.file_path).path).is_file()


def operations(table: Table) -> list[str]:
    return [each.summary.operation.value for each in table.refresh().snapshots() if each.summary]


def summary_of(table: Table, snapshot_id: int | None = None) -> dict[str, str]:
    snapshot = present(head_of(table) if snapshot_id is None else table.snapshot_by_id(snapshot_id))
    assert snapshot.summary is not None
    return {"operation": snapshot.summary.operation.value, **snapshot.summary.additional_properties}


class Interrupted(SqlCatalog):
    """A catalog in which something else happens right before a commit, or right after it.

    What raises before a commit keeps it from being made, and what raises after it keeps its answer.
    """

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self.first: list[Callable[[], object]] = []
        self.then: list[Callable[[], object]] = []
        self.commits: list[list[str]] = []
        self.is_down = False

    def fail(self, error: BaseException, *, committed: bool = False, times: int = 100, down: bool = False) -> None:
        """Have the next commits fail, once they are made or before; the catalog may not be reached from then on."""

        def failing() -> None:
            self.is_down = down
            raise error

        (self.then if committed else self.first)[:] = [failing] * times

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        self.commits.append([update.action for update in updates])
        if self.first:
            self.first.pop(0)()
        response = super().commit_table(table, requirements, updates)
        if self.then:
            self.then.pop(0)()
        return response

    def load_table(self, identifier: Any) -> Table:
        if self.is_down:
            raise ConnectionRefusedError("the catalog is down")
        return super().load_table(identifier)
