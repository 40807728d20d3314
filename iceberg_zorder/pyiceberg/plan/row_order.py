"""Resolve the names of a sort order against a table, and refuse what cannot be clustered by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.layout.keys import domain
from iceberg_zorder.pyiceberg.display import display_name, type_text
from iceberg_zorder.pyiceberg.metrics_config import MetricsConfig, metrics_config
from iceberg_zorder.pyiceberg.partitions import identity_sources
from iceberg_zorder.request.arguments import spelled_alike
from iceberg_zorder.request.layout_options import ZOrderOptions
from iceberg_zorder.request.metrics_check import least_mode, set_mode
from iceberg_zorder.request.sort_order import PrefixColumn, SortOrder, parse_sort_order
from iceberg_zorder.request.table_defaults import COLUMNS_PROPERTY


@dataclass(frozen=True)
class RowOrder:
    """A sort order, resolved against a table.

    Parameters
    ----------
    prefix : tuple of ClusteringColumn
        The columns to sort by before the curve.
    prefix_orders : tuple of (bool, bool)
        For each of them whether larger values, and whether NULL, come first.
    columns : tuple of ClusteringColumn
        The clustering columns, at least one.
    weights : tuple of float
        Their weights, in the same order.
    curve : str
        The curve that was asked for.
    field_ids : tuple of int
        The fields of all columns, those of the prefix first.
    partition : tuple of ClusteringColumn
        The keys of the partition fields, to cut by before all else, where the partition spec of files changes.
    ignored : tuple of str
        Names of columns that do not count, because the table is partitioned by them.

    Examples
    --------
    >>> day, a = ClusteringColumn(("day",), "date"), ClusteringColumn(("a", "b c"), "long")
    >>> order = RowOrder((day,), ((True, False),), (a,), (1.0,), "zorder", (1, 3))
    >>> order.names(","), order.prefix_text, len(order.all)
    ('a.`b c`', 'day DESC NULLS LAST', 2)
    """

    prefix: tuple[ClusteringColumn, ...]
    prefix_orders: tuple[tuple[bool, bool], ...]
    columns: tuple[ClusteringColumn, ...]
    weights: tuple[float, ...]
    curve: str
    field_ids: tuple[int, ...]
    partition: tuple[ClusteringColumn, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[ClusteringColumn, ...]:
        """The partition fields, then the columns that were named: what a layout is fitted to."""
        return self.partition + self.named

    @property
    def named(self) -> tuple[ClusteringColumn, ...]:
        """The columns of the prefix, then the clustering columns."""
        return self.prefix + self.columns

    @property
    def leading_orders(self) -> tuple[tuple[bool, bool], ...]:
        """How the columns that a layout splits first are sorted: the partition fields, then the prefix."""
        return ((False, False),) * len(self.partition) + self.prefix_orders

    def layout_request(self, options: ZOrderOptions, files: int = 1) -> LayoutRequest:
        """Ask for a layout of so many files."""
        return LayoutRequest(
            files,
            options.cuts,
            self.curve,
            self.leading_orders,
            options.boundaries,
            options.size_tolerance,
            self.weights,
        )

    @property
    def named_weights(self) -> tuple[float, ...]:
        """What each of ``named`` counts in averages, those of the prefix 1."""
        return (1.0,) * len(self.prefix) + self.weights

    def mean(self, fractions: Mapping[str, float]) -> float | None:
        """Average over columns by their weights, 1 for the prefix; None without any.

        Examples
        --------
        >>> a, b = (ClusteringColumn((name,), "long") for name in "ab")
        >>> RowOrder((), (), (a, b), (3.0, 1.0), "zorder", (1, 2)).mean({"a": 0.5, "b": 0.1})
        0.4
        """
        found = [
            (weight, fractions[column.name])
            for column, weight in zip(self.named, self.named_weights, strict=True)
            if column.name in fractions
        ]
        total = sum(weight for weight, _ in found)
        return sum(weight * fraction for weight, fraction in found) / total if found else None

    def names(self, separator: str) -> str:
        """Join the names of the clustering columns."""
        return separator.join(column.name for column in self.columns)

    @property
    def sort_order(self) -> str:
        """The sort order in full."""
        prefix = f"{self.prefix_text}, " if self.prefix else ""
        return f"{prefix}{self.curve}({self.names(', ')})"

    @property
    def prefix_text(self) -> str:
        """The prefix as a sort order writes it, in full; empty without one."""
        return ", ".join(
            PrefixColumn(column.parts, *orders).text
            for column, orders in zip(self.prefix, self.prefix_orders, strict=True)
        )


def resolve(
    table: Table,
    sort_order: SortOrder,
    weights: Sequence[tuple[tuple[str, ...], float]] = (),
    *,
    output_spec: PartitionSpec | None = None,
    case_sensitive: bool = False,
    needs_bounds: bool = False,
) -> RowOrder:
    """Resolve a sort order."""
    resolver = _Resolver(table, table.spec() if output_spec is None else output_spec, case_sensitive, needs_bounds)
    prefix: list[tuple[ClusteringColumn, int, PrefixColumn]] = []
    for asked in sort_order.prefix:
        column = resolver.resolve(asked.parts)
        if column:
            prefix.append((column, resolver.find(asked.parts)[-1].field_id, asked))
    columns: list[tuple[ClusteringColumn, int]] = []
    ignored: list[str] = []
    place_of: dict[int, int | None] = {}
    for parts in sort_order.columns:
        field_id = resolver.find(parts)[-1].field_id
        column = resolver.resolve(parts)
        place_of[field_id] = len(columns) if column else None
        if column:
            columns.append((column, field_id))
        else:
            ignored.append(".".join(parts))
    if not columns:
        raise InvalidInputError(
            f"Cannot cluster by {', '.join('.'.join(parts) for parts in sort_order.columns)}, because "
            f"{display_name(table)} is partitioned by every one of these columns"
        )
    return RowOrder(
        tuple(column for column, _, _ in prefix),
        tuple((asked.descending, asked.nulls_first) for _, _, asked in prefix),
        tuple(column for column, _ in columns),
        resolver.weights(weights, place_of, len(columns)),
        sort_order.curve,
        tuple(field_id for _, field_id, _ in prefix) + tuple(field_id for _, field_id in columns),
        ignored=tuple(ignored),
    )


def remembered_sort_order(table: Table, *, case_sensitive: bool) -> str | None:
    """Read the sort order that a table remembers in its property ``zorder.columns``."""
    text = table.properties.get(COLUMNS_PROPERTY)
    if text is None:
        return None
    sort_order, resolver = parse_sort_order(text), _Resolver(table, table.spec(), case_sensitive, False)
    try:
        for parts in sort_order.names:
            resolver.find(parts)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{error}. The table's property {COLUMNS_PROPERTY} = '{text}' names it: set that anew, or name the columns"
        ) from error
    return text


class _Resolver:
    def __init__(self, table: Table, output_spec: PartitionSpec, case_sensitive: bool, needs_bounds: bool) -> None:
        self._table = table
        self._needs_bounds = needs_bounds
        self._case_sensitive = case_sensitive
        self._metrics: MetricsConfig = metrics_config(table)
        self._identity = identity_sources(output_spec)
        self._seen: set[int] = set()

    def resolve(self, parts: tuple[str, ...]) -> ClusteringColumn | None:
        """Find the column of a name, or nothing if files are partitioned by it."""
        path = self.find(parts)
        column = _column(path, parts)
        field_id = path[-1].field_id
        if field_id in self._seen:
            raise InvalidInputError(
                f"Cannot cluster by column {column.name} twice, because each clustering column counts once"
            )
        self._seen.add(field_id)
        if field_id in self._identity:
            return None
        if self._needs_bounds:
            self._check_keeps_bounds(column, field_id)
        return column

    def find(self, parts: tuple[str, ...]) -> list[NestedField]:
        """Find the fields from the top-level column down to the named one."""
        path: list[NestedField] = []
        struct = self._table.schema().as_struct()
        for part in parts:
            if path:
                parent = path[-1]
                if not isinstance(parent.field_type, StructType):
                    raise InvalidInputError(
                        f"Cannot cluster by column {_display(parts)}, because {parent.name} is of type "
                        f"{type_text(parent.field_type)}: only fields of structs can be named inside a column"
                    )
                struct = parent.field_type
            path.append(self._child(struct, part, parts))
        return path

    def _child(self, struct: StructType, part: str, parts: tuple[str, ...]) -> NestedField:
        found = [
            field
            for field in struct.fields
            if (field.name == part if self._case_sensitive else field.name.lower() == part.lower())
        ]
        if len(found) == 1:
            return found[0]
        names = [field.name for field in struct.fields]
        table, has = display_name(self._table), f"has {', '.join(names)}"
        raise InvalidInputError(
            f"Cannot cluster by column {_display(parts)}, because the name is ambiguous when case does not count: "
            f"{table} {has}"
            if found
            else f"Cannot cluster by column {_display(parts)}, because {table} has no such column"
            f"{spelled_alike(part, names, f'it {has}')}"
        )

    def _check_keeps_bounds(self, column: ClusteringColumn, field_id: int) -> None:
        name = self._table.schema().find_column_name(field_id) or ""
        mode = self._metrics.mode(name)
        if not mode.keeps_bounds:
            raise InvalidInputError(
                f"Cannot cluster by column {column.name}, because {display_name(self._table)} keeps no lower/upper "
                f"bounds for it (metrics mode {mode}), so no file could be skipped: "
                f"{set_mode('...', name, least_mode(column.type))} first"
            )

    def weights(
        self, given: Sequence[tuple[tuple[str, ...], float]], place_of: dict[int, int | None], columns: int
    ) -> tuple[float, ...]:
        weights = [1.0] * columns
        weighted: set[int] = set()
        for parts, weight in given:
            field_id = self.find(parts)[-1].field_id
            if field_id not in place_of or field_id in weighted:
                why = "is there twice" if field_id in place_of else "is not one of the clustering columns"
                raise InvalidInputError(f"Cannot set column-weights for column {_display(parts)}, because it {why}")
            weighted.add(field_id)
            place = place_of[field_id]
            if place is not None:
                weights[place] = weight
        return tuple(weights)


def _column(path: list[NestedField], parts: tuple[str, ...]) -> ClusteringColumn:
    kind = path[-1].field_type
    try:
        domain(str(kind))
    except InvalidInputError as error:
        hint = ": name one of its fields" if isinstance(kind, StructType) else ""
        raise InvalidInputError(
            f"Cannot cluster by column {_display(parts)}, because its type {_type_id(kind)} has no lower/upper bounds "
            f"to prune by{hint}"
        ) from error
    return ClusteringColumn(tuple(field.name for field in path), str(kind))


def _type_id(kind: IcebergType) -> str:
    for known, name in ((StructType, "struct"), (ListType, "list"), (MapType, "map")):
        if isinstance(kind, known):
            return name
    return str(kind)


def _display(parts: tuple[str, ...]) -> str:
    return "'" + ".".join(parts) + "'"
