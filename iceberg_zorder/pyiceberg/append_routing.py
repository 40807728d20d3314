"""Where rows of an append go, for an engine that reads and writes them itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IcebergType, NestedField

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import encode, key_at
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.append import measured_row_bytes, projected
from iceberg_zorder.pyiceberg.bounds import named_fields
from iceberg_zorder.pyiceberg.listing.listing import arrow_type
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_fields
from iceberg_zorder.pyiceberg.plan.append_plan import AppendSpec, append_layouts, row_bytes
from iceberg_zorder.pyiceberg.plan.rewrite_spec import branch_snapshot


@dataclass(frozen=True)
class RoutedField:
    """A partition field: the transform of a column, with the type of its values."""

    transform: str  # as Iceberg writes it, such as bucket[16]
    column: ClusteringColumn
    type: str


@dataclass(frozen=True, eq=False)
class RoutedPartition:
    """A partition whose rows are worth several files: its keys by partition field, and the layout of its new rows."""

    keys: tuple[int | bytes | None, ...]
    layout: Layout


def routed_fields(table: Table) -> list[RoutedField]:
    """Return the partition fields that can differ between rows."""
    columns = _columns(table)
    return [
        RoutedField(
            str(each.transform), columns[each.source_id][0], str(each.transform.result_type(columns[each.source_id][1]))
        )
        for each in partition_fields(table.schema(), table.spec())
    ]


def routed_partitions(
    table: Table, spec: AppendSpec, sample: pa.Table, rows: int, some_rows: Callable[[], pa.Table]
) -> list[RoutedPartition]:
    """Return the partitions of an append whose rows are worth several files.

    Parameters
    ----------
    table : Table
        The table.
    spec : AppendSpec
        What to append by.
    sample : pyarrow.Table
        Some rows, each as likely as any other: first the columns of ``spec.order``, then those of
        :func:`routed_fields`, under any names. UUIDs are bytes.
    rows : int
        The number of all rows.
    some_rows : function
        Returns some whole rows, by which bytes are estimated in a table without rows.
    """
    columns, fields = _columns(table), partition_fields(table.schema(), table.spec())
    ids = [*spec.order.field_ids, *(each.source_id for each in fields)]
    # A column of both is there twice.
    by_id = dict(zip(ids, sample.columns, strict=True))
    flat = Schema(*(NestedField(each, f"c{each}", columns[each][1], required=False) for each in by_id))
    batch = projected(table, flat, pa.table({f"c{each}": column for each, column in by_id.items()}))
    size = row_bytes(branch_snapshot(table, spec.branch, "append rows"))
    partitions = Partitions(table.spec(), table.schema(), batch.schema)
    layouts = append_layouts(
        table, spec, batch, partitions, rows, measured_row_bytes(table, some_rows()) if size is None else size
    )
    places = [
        (table.spec().fields.index(each), each.transform.result_type(columns[each.source_id][1])) for each in fields
    ]
    return [
        RoutedPartition(tuple(_key(partitions.records[number][place], kind) for place, kind in places), layout)
        for number, layout in layouts.items()
    ]


def _columns(table: Table) -> dict[int, tuple[ClusteringColumn, IcebergType]]:
    return {
        field.field_id: (ClusteringColumn(name, str(field.field_type)), field.field_type)
        for name, field in named_fields(table.schema().as_struct())
    }


def _key(value: object, kind: IcebergType) -> int | bytes | None:
    if value is None:
        return None
    stored = value.bytes if isinstance(value, UUID) else value
    return key_at(encode(pa.array([stored], arrow_type(kind)), str(kind)).keys, 0)
