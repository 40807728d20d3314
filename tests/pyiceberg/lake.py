"""Data and delete files written by hand, of any schema, and a rewrite without its commit."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import _dataframe_to_data_files, schema_to_pyarrow
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    ManifestContent,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.group_rewrite import RewriteContext, rewrite_group
from iceberg_zorder.pyiceberg.plan.layouts import fit_layouts
from iceberg_zorder.pyiceberg.plan.planner import select
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.plan.rewrite_spec import RewriteSpec, unordered_spec
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder, resolve
from iceberg_zorder.rewrite.options import rewrite_options
from iceberg_zorder.rewrite.sort_order import parse_sort_order
from iceberg_zorder.sort.memory_budget import MemoryBudget
from tests.pyiceberg.committing import POSITION_DELETES, head_of, new_file


@dataclass(frozen=True)
class Rewritten:
    """What came of a rewrite."""

    plan: RewritePlan
    layouts: list[Layout]
    files: list[DataFile]
    budget: MemoryBudget

    @property
    def paths(self) -> list[str]:
        return [local(file) for file in self.files]

    def rows(self) -> list[dict[str, Any]]:
        """All rows of the new files, in their order."""
        return [row for path in self.paths for row in pq.read_table(path).to_pylist()]


class Commit:
    """Data files that one snapshot is to add."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.files: list[DataFile] = []

    def append(self, rows: pa.Table) -> None:
        """Write rows to a file of their own, or one in each partition."""
        self.files += _dataframe_to_data_files(self._table.metadata, rows, self._table.io)


@contextmanager
def one_commit(table: Table) -> Iterator[Commit]:
    """Append files by one snapshot, which takes a tenth of the time that a snapshot for each takes."""
    commit = Commit(table)
    yield commit
    with table.transaction() as change, change.update_snapshot().fast_append() as snapshot:
        for file in commit.files:
            snapshot.append_data_file(file)


def table_of(
    catalog: Catalog,
    rows: pa.Table,
    files: int,
    *,
    by: str = "",
    name: str = "db.t",
    properties: Mapping[str, str] | None = None,
) -> Table:
    """A table of these rows in so many files of one commit, or as many in each partition by a column."""
    table = catalog.create_table(name, rows.schema, properties=dict(properties or {}))
    if by:
        table.update_spec().add_identity(by).commit()
    size = -(-rows.num_rows // files)
    with one_commit(table) as commit:
        for start in range(0, rows.num_rows, size):
            commit.append(rows.slice(start, size))
    return table


def local(file: DataFile) -> str:
    return file.file_path.removeprefix("file://")


def rewrite(
    table: Table, by: str, options: Mapping[str, str] | None = None, where: str | None = None, **arguments: Any
) -> Rewritten:
    """Rewrite the files of a table's current snapshot, all of them unless the options say otherwise."""
    read = rewrite_options({"rewrite-all": "true", **(options or {})})
    plan = planned(table, {"rewrite-all": "true", **(options or {})}, where)
    order = row_order(table, by, output_spec=read.output_spec_id)
    found = fit_layouts(SampleContext(table, order, read.layout), plan.groups)[0] if plan.groups else []
    fitted = [(each.group, each.layout) for each in found]
    budget = MemoryBudget(arguments.pop("limit", read.memory_limit))
    context = RewriteContext(table, order, budget, threads=arguments.pop("threads", 2), **arguments)
    files = [file for group, layout in fitted for file in rewrite_group(context, group, layout)]
    return Rewritten(plan, [layout for _, layout in fitted], files, budget)


def planned(table: Table, options: Mapping[str, str], where: Any = None) -> RewritePlan:
    """Plan by sizes and deletes alone."""
    return select(table, unordered_spec(table, RewriteSpec(None, where, options)))


def row_order(table: Table, by: str, *, output_spec: int | None = None) -> ResolvedSortOrder:
    spec = table.spec() if output_spec is None else table.specs()[output_spec]
    return resolve(table, parse_sort_order(by), output_spec=spec)


def data_files(table: Table) -> list[DataFile]:
    """The data files of the current snapshot, in the order of their manifests, the oldest first."""
    snapshot = head_of(table)
    found = [
        entry
        for manifest in snapshot.manifests(table.io)
        if manifest.content == ManifestContent.DATA
        for entry in manifest.fetch_manifest_entry(table.io)
    ]
    return [entry.data_file for entry in sorted(found, key=lambda entry: entry.sequence_number or 0)]


def data_file(
    table: Table, rows: Sequence[Mapping[str, Any]], partition: Record | None = None, spec_id: int | None = None
) -> DataFile:
    """Write a data file with Arrow alone: PyIceberg's writer makes NULL lists and maps of structs empty ones."""
    return _file(table, rows, table.schema(), partition, spec_id)


def position_delete(
    table: Table,
    data: DataFile,
    positions: Sequence[int],
    *,
    bounds: bool = True,
    also: Mapping[str, Sequence[int]] | None = None,
) -> DataFile:
    """Write a position delete file of one data file, which its bounds name or not, or of others too."""
    deleted = {data.file_path: positions, **(also or {})}
    rows = [{"file_path": path, "pos": each} for path, found in deleted.items() for each in found]
    content = DataFileContent.POSITION_DELETES
    file = _file(table, rows, POSITION_DELETES, data.partition, data.spec_id, content=content)
    if bounds and not also:
        for each in (file.lower_bounds, file.upper_bounds):
            each[2147483546] = data.file_path.encode()
    return file


def equality_delete(
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    fields: Sequence[str],
    partition: Record | None = None,
    spec_id: int | None = None,
    *,
    schema: Schema | None = None,
) -> DataFile:
    """Write an equality delete file."""
    of = schema or table.schema()
    kept = of.select(*dict.fromkeys(field.split(".")[0] for field in fields))
    ids = [of.find_field(field).field_id for field in fields]
    content = DataFileContent.EQUALITY_DELETES
    return _file(table, rows, kept, partition, spec_id, content=content, equality_ids=ids)


def _file(
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    schema: Schema,
    partition: Record | None,
    spec_id: int | None,
    **what: Any,
) -> DataFile:
    """Write a file without statistics, of the table's spec unless another is named."""
    return new_file(
        table,
        pa.Table.from_pylist([dict(row) for row in rows], schema_to_pyarrow(schema)),
        schema,
        spec_id=table.spec().spec_id if spec_id is None else spec_id,
        partition=() if partition is None else partition._data,
        has_statistics=False,
        **what,
    )
