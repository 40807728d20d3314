"""Resolve a sort order's names on a table, refuse unsuitable columns, and find the last rewrite's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import NestedField, StructType

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.layout.keys import domain
from iceberg_zorder.metrics.history import SnapshotFacts
from iceberg_zorder.pyiceberg.bounds import MetricsConfig, found_fields, metrics_config, named_fields
from iceberg_zorder.pyiceberg.files import display_name
from iceberg_zorder.pyiceberg.partitions import identity_sources
from iceberg_zorder.rewrite.metrics_check import least_mode, set_mode
from iceberg_zorder.rewrite.options import ZOrderOptions
from iceberg_zorder.rewrite.predicate import Name
from iceberg_zorder.rewrite.sort_order import PrefixColumn, SortOrder, parse_sort_order
from iceberg_zorder.rewrite.table_defaults import COLUMNS_PROPERTY


@dataclass(frozen=True)
class ResolvedSortOrder:
    """A sort order resolved on a table: prefix columns, curve and clustering columns.

    Examples
    --------
    >>> day, a = ClusteringColumn(("day",), "date"), ClusteringColumn(("a", "b c"), "long")
    >>> order = ResolvedSortOrder((day,), ((True, False),), (a,), (1.0,), "zorder", (1, 3))
    >>> order.sort_order, len(order.all)
    ('day DESC NULLS LAST, zorder(a.`b c`)', 2)
    """

    prefix: tuple[ClusteringColumn, ...]
    prefix_orders: tuple[tuple[bool, bool], ...]  # per prefix column: descending, NULLS FIRST
    columns: tuple[ClusteringColumn, ...]  # at least one
    weights: tuple[float, ...]
    curve: str  # as requested
    field_ids: tuple[int, ...]  # of all columns, prefix first
    partition: tuple[ClusteringColumn, ...] = ()  # new partition fields to cut by first, if files change their spec
    ignored: tuple[str, ...] = ()  # clustering columns that the table is partitioned by

    @property
    def all(self) -> tuple[ClusteringColumn, ...]:
        """All columns of a layout: the partition fields, then the named columns."""
        return self.partition + self.named

    @property
    def named(self) -> tuple[ClusteringColumn, ...]:
        """The prefix columns, then the clustering columns."""
        return self.prefix + self.columns

    def layout_request(
        self, options: ZOrderOptions, files: int = 1, extents: Mapping[str, int] | None = None
    ) -> LayoutRequest:
        """Return the request for a layout of ``files`` files, cut by partition fields, prefix, then the curve.

        ``extents`` are the shares of the partition that the files' group spans, by column, in thousandths; without them
        the group is not a part of its partition.
        """
        request = LayoutRequest(
            files,
            options.cuts,
            self.curve,
            ((False, False),) * len(self.partition) + self.prefix_orders,
            options.boundaries,
            options.size_tolerance,
            self.weights,
        )
        return request.spanning([extents.get(column.name, 1_000) for column in self.columns]) if extents else request

    @property
    def named_weights(self) -> tuple[float, ...]:
        """The weight of each of ``named``; prefix columns have weight 1."""
        return (1.0,) * len(self.prefix) + self.weights

    @property
    def sort_order(self) -> str:
        """The sort order in full."""
        prefix = (
            PrefixColumn(column.parts, *orders) for column, orders in zip(self.prefix, self.prefix_orders, strict=True)
        )
        return SortOrder(self.curve, tuple(column.parts for column in self.columns), tuple(prefix)).text


def resolve(
    table: Table,
    sort_order: SortOrder,
    weights: Sequence[tuple[tuple[str, ...], float]] = (),
    *,
    output_spec: PartitionSpec | None = None,
    case_sensitive: bool = False,
    needs_bounds: bool = False,
) -> ResolvedSortOrder:
    """Resolve a sort order on a table; raises InvalidInputError for unsuitable columns."""
    identity, config = identity_sources(table.spec() if output_spec is None else output_spec), metrics_config(table)
    columns_by_id: dict[int, ClusteringColumn] = {}
    for parts in sort_order.names:
        path = _found(table, parts, case_sensitive=case_sensitive)
        field_id, kind = path[-1].field_id, path[-1].field_type
        column = ClusteringColumn(tuple(field.name for field in path), str(kind))
        try:
            domain(column.type)
        except InvalidInputError as error:
            hint = ": name one of its fields" if isinstance(kind, StructType) else ""
            raise InvalidInputError(
                f"Cannot cluster by column {_display(parts)}, because its type {column.type.partition('<')[0]} has no "
                f"lower/upper bounds to prune by{hint}"
            ) from error
        if field_id in columns_by_id:
            raise InvalidInputError(
                f"Cannot cluster by column {column.name} twice, because each clustering column counts once"
            )
        if needs_bounds and field_id not in identity:
            _check_keeps_bounds(table, config, column, field_id)
        columns_by_id[field_id] = column
    first = len(sort_order.prefix)
    asked = [*columns_by_id][first:]
    prefix = [pair for pair in zip([*columns_by_id][:first], sort_order.prefix, strict=True) if pair[0] not in identity]
    columns = [field_id for field_id in asked if field_id not in identity]
    if not columns:
        raise InvalidInputError(
            f"Cannot cluster by {', '.join('.'.join(parts) for parts in sort_order.columns)}, because "
            f"{display_name(table)} is partitioned by every one of these columns"
        )
    weight_of: dict[int, float] = {}
    for parts, weight in weights:
        field_id = _found(table, parts, case_sensitive=case_sensitive)[-1].field_id
        if field_id not in asked or field_id in weight_of:
            why = "appears twice" if field_id in asked else "is not a clustering column"
            raise InvalidInputError(f"Cannot set column-weights for column {_display(parts)}, because it {why}")
        weight_of[field_id] = weight
    pairs = zip(sort_order.columns, asked, strict=True)
    return ResolvedSortOrder(
        tuple(columns_by_id[field_id] for field_id, _ in prefix),
        tuple((each.descending, each.nulls_first) for _, each in prefix),
        tuple(columns_by_id[field_id] for field_id in columns),
        tuple(weight_of.get(field_id, 1.0) for field_id in columns),
        sort_order.curve,
        (*(field_id for field_id, _ in prefix), *columns),
        ignored=tuple(".".join(parts) for parts, field_id in pairs if field_id in identity),
    )


def remembered_sort_order(table: Table, *, case_sensitive: bool) -> str | None:
    """Return the sort order in a table's property ``zorder.columns``; None without one."""
    text = table.properties.get(COLUMNS_PROPERTY)
    if text is None:
        return None
    sort_order = parse_sort_order(text)
    try:
        for parts in sort_order.names:
            _found(table, parts, case_sensitive=case_sensitive)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{error}. The table's property {COLUMNS_PROPERTY} = '{text}' names it: change it, or name the columns"
        ) from error
    return text


def known_sort_order(table: Table, snapshots: Sequence[SnapshotFacts], *, case_sensitive: bool) -> str | None:
    """Return the sort order in a table's property, else of our newest rewrite; None without either."""
    text = remembered_sort_order(table, case_sensitive=case_sensitive)
    layout = next((each for each in reversed(snapshots) if each.is_layout), None)
    return text if text is not None or layout is None else last_sort_order(table, layout)


def last_sort_order(table: Table, layout: SnapshotFacts, purpose: str = "report on") -> str:
    """Return the sort order of one of our rewrites, with its columns' current names."""
    today = names_of_today(table, layout)

    def name_of_today(parts: Name) -> Name:
        name = today.get(parts, parts)
        if name is None:
            raise InvalidInputError(
                f"Cannot {purpose} {display_name(table)}, because column '{'.'.join(parts)}' of the last rewrite "
                f"(snapshot {layout.snapshot_id}) was dropped: name the columns that queries filter on"
            )
        return name

    return parse_sort_order(layout.sort_order).renamed(name_of_today).text


def names_of_today(table: Table, layout: SnapshotFacts) -> dict[Name, Name | None]:
    """Return the current name of each column of one of our rewrites, by its name then; None for dropped columns."""
    schema, today = _schema_of(table, layout), _names(table.schema())
    return {} if schema is None else {name: today.get(field_id) for field_id, name in _names(schema).items()}


def _schema_of(table: Table, layout: SnapshotFacts) -> Schema | None:
    """Return the schema of a table at a snapshot, if known."""
    snapshot = table.snapshot_by_id(layout.snapshot_id)
    return None if snapshot is None or snapshot.schema_id is None else table.schemas().get(snapshot.schema_id)


def _names(schema: Schema) -> dict[int, Name]:
    return {field.field_id: name for name, field in named_fields(schema.as_struct())}


def _found(table: Table, parts: Name, *, case_sensitive: bool) -> list[NestedField]:
    """Return the fields from the top-level column down to the named one."""
    try:
        return found_fields(table, parts, case_sensitive=case_sensitive)
    except InvalidInputError as error:
        raise InvalidInputError(f"Cannot cluster by column {_display(parts)}, because {error}") from error


def _check_keeps_bounds(table: Table, config: MetricsConfig, column: ClusteringColumn, field_id: int) -> None:
    name = table.schema().find_column_name(field_id) or ""
    mode = config.mode(name)
    if not mode.keeps_bounds:
        raise InvalidInputError(
            f"Cannot cluster by column {column.name}, because {display_name(table)} keeps no lower/upper bounds for it "
            f"(metrics mode {mode}), so no file could be skipped: "
            f"{set_mode('...', name, least_mode(column.type))} first"
        )


def _display(parts: tuple[str, ...]) -> str:
    return "'" + ".".join(parts) + "'"
