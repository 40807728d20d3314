"""Tell what a rewrite of ours was by, though columns may have been renamed since."""

from __future__ import annotations

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import StructType

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.report.history import SnapshotFacts
from iceberg_zorder.request.sort_order import parse_sort_order


def last_sort_order(table: Table, layout: SnapshotFacts, purpose: str = "report on") -> str:
    """Write the sort order of a rewrite of ours, whose summary has the names that its columns had then."""
    schema = _schema_of(table, layout)

    def name_of_today(parts: tuple[str, ...]) -> tuple[str, ...]:
        field_id = None if schema is None else _field_id(schema.as_struct(), parts)
        if field_id is None:
            return parts
        found = _parts(table.schema().as_struct(), field_id)
        if not found:
            raise InvalidInputError(
                f"Cannot {purpose} {display_name(table)}, because column '{'.'.join(parts)}' of the last rewrite "
                f"(snapshot {layout.snapshot_id}) was dropped: name the columns that queries filter on"
            )
        return found

    return parse_sort_order(layout.sort_order).renamed(name_of_today).text


def is_by_order(table: Table, order: RowOrder, cuts: str, layout: SnapshotFacts) -> bool:
    """Tell whether a rewrite of ours was by the columns, prefix and curve of a sort order, and cut its files alike."""
    schema = _schema_of(table, layout)
    if layout.cuts != cuts:
        return False
    if schema is None:
        return layout.is_by(order.sort_order)
    then = [_parts(schema.as_struct(), field_id) for field_id in order.field_ids]
    if not all(then):
        return False
    names = iter(then)
    return layout.is_by(parse_sort_order(order.sort_order).renamed(lambda _: next(names)).text)


def _schema_of(table: Table, layout: SnapshotFacts) -> Schema | None:
    """Find the schema that a table had when a snapshot was made, where that is known."""
    snapshot = table.snapshot_by_id(layout.snapshot_id)
    return None if snapshot is None or snapshot.schema_id is None else table.schemas().get(snapshot.schema_id)


def _field_id(struct: StructType, parts: tuple[str, ...]) -> int | None:
    """Find the field of a name; names differ by case, for summaries have them as the schema does."""
    for field in struct.fields:
        if field.name == parts[0]:
            if len(parts) == 1:
                return field.field_id
            return _field_id(field.field_type, parts[1:]) if isinstance(field.field_type, StructType) else None
    return None


def _parts(struct: StructType, field_id: int) -> tuple[str, ...]:
    """Find the names on the way down to a field; none if it is not there."""
    for field in struct.fields:
        if field.field_id == field_id:
            return (field.name,)
        inside = _parts(field.field_type, field_id) if isinstance(field.field_type, StructType) else ()
        if inside:
            return (field.name, *inside)
    return ()
