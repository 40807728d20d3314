"""Tell what a rewrite of ours was by, though columns may have been renamed since."""

from __future__ import annotations

from dataclasses import replace

from pyiceberg.schema import Schema
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.nested_fields import named_fields
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.report.history import SnapshotFacts
from iceberg_zorder.request.predicate import Name
from iceberg_zorder.request.sort_order import parse_sort_order


def last_sort_order(table: Table, layout: SnapshotFacts, purpose: str = "report on") -> str:
    """Write the sort order of a rewrite of ours, whose summary has the names that its columns had then."""
    ids, today = _ids(_schema_of(table, layout)), _names(table.schema())

    def name_of_today(parts: Name) -> Name:
        if parts not in ids:
            return parts
        if ids[parts] not in today:
            raise InvalidInputError(
                f"Cannot {purpose} {display_name(table)}, because column '{'.'.join(parts)}' of the last rewrite "
                f"(snapshot {layout.snapshot_id}) was dropped: name the columns that queries filter on"
            )
        return today[ids[parts]]

    return parse_sort_order(layout.sort_order).renamed(name_of_today).text


def is_by_order(table: Table, order: RowOrder, cuts: str, layout: SnapshotFacts) -> bool:
    """Tell whether a rewrite of ours was by the columns, prefix and curve of a sort order, and cut its files alike."""
    schema = _schema_of(table, layout)
    if layout.cuts != cuts:
        return False
    if schema is not None:
        then = _names(schema)
        if not all(each in then for each in order.field_ids):
            return False
        named = [replace(column, parts=then[each]) for column, each in zip(order.named, order.field_ids, strict=True)]
        first = len(order.prefix)
        order = replace(order, prefix=tuple(named[:first]), columns=tuple(named[first:]))
    return layout.is_by(order.names(","), order.prefix_text, order.curve)


def _schema_of(table: Table, layout: SnapshotFacts) -> Schema | None:
    """Find the schema that a table had when a snapshot was made, where that is known."""
    snapshot = table.snapshot_by_id(layout.snapshot_id)
    return None if snapshot is None or snapshot.schema_id is None else table.schemas().get(snapshot.schema_id)


def _ids(schema: Schema | None) -> dict[Name, int]:
    return {} if schema is None else {name: field.field_id for name, field in named_fields(schema.as_struct())}


def _names(schema: Schema) -> dict[int, Name]:
    return {field.field_id: name for name, field in named_fields(schema.as_struct())}
