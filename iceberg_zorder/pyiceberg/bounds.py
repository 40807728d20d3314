"""Metrics modes: which columns get lower/upper bounds, of which length, and whether bounds tell values apart."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table import Table
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import VALUE, Beginning, KeyColumn
from iceberg_zorder.pyiceberg.catalog import refresh, whole_number
from iceberg_zorder.pyiceberg.commit.replacement import change_properties
from iceberg_zorder.pyiceberg.files import display_name, sql_name
from iceberg_zorder.rewrite.metrics_check import COLUMN_MODE, KeyPool, WeakBounds, is_truncated, separation
from iceberg_zorder.rewrite.options import spelled_alike
from iceberg_zorder.rewrite.predicate import Name

_LOG = logging.getLogger(__name__)


def children(of: IcebergType) -> list[tuple[int, IcebergType]]:
    """Return a type's direct children with their field ids, in Parquet's order."""
    if isinstance(of, StructType):
        return [(field.field_id, field.field_type) for field in of.fields]
    if isinstance(of, ListType):
        return [(of.element_id, of.element_type)]
    if isinstance(of, MapType):
        return [(of.key_id, of.key_type), (of.value_id, of.value_type)]
    return []


def named_fields(struct: StructType, above: Name = ()) -> Iterator[tuple[Name, NestedField]]:
    """Yield a struct's fields and nested struct fields, each after its parent."""
    for field in struct.fields:
        name = (*above, field.name)
        yield name, field
        if isinstance(field.field_type, StructType):
            yield from named_fields(field.field_type, name)


def found_fields(table: Table, name: Name, *, case_sensitive: bool) -> list[NestedField]:
    """Return the fields from the top-level column down to a named one; the error's message is only the reason."""
    path: list[NestedField] = []
    struct = table.schema().as_struct()
    for part in name:
        if path:
            outer = path[-1]
            if not isinstance(outer.field_type, StructType):
                of = f"{outer.name} is of type {outer.field_type}"
                raise InvalidInputError(f"{of}: only structs have named fields")
            struct = outer.field_type
        known = [field.name for field in struct.fields]
        found = [
            field
            for field in struct.fields
            if (field.name == part if case_sensitive else field.name.lower() == part.lower())
        ]
        if len(found) != 1:
            of, has = display_name(table), f"has {', '.join(known)}"
            raise InvalidInputError(
                f"the name is ambiguous when case does not count: {of} {has}"
                if found
                else f"{of} has no such column{spelled_alike(part, known, f'it {has}')}"
            )
        path += found
    return path


_DEFAULT = "write.metadata.metrics.default"
_INFERRED = "write.metadata.metrics.max-inferred-column-defaults"
_TRUNCATE = re.compile(r"truncate\((\d+)\)", re.IGNORECASE)


@dataclass(frozen=True)
class MetricsMode:
    """A metrics mode: ``none``, ``counts``, ``truncate`` to a length, or ``full``."""

    kind: str
    length: int | None = None

    @property
    def keeps_bounds(self) -> bool:
        """Whether the mode keeps lower/upper bounds."""
        return self.kind in ("truncate", "full")

    @staticmethod
    def of(text: str) -> MetricsMode | None:
        """Parse a property's mode; None if it is not one."""
        if text.lower() in ("none", "counts", "full"):
            return MetricsMode(text.lower())
        truncate = _TRUNCATE.fullmatch(text)
        return MetricsMode("truncate", int(truncate[1])) if truncate and int(truncate[1]) > 0 else None

    def __str__(self) -> str:
        return self.kind if self.length is None else f"{self.kind}({self.length})"


_TRUNCATED = MetricsMode("truncate", 16)
_NONE = MetricsMode("none")


@dataclass(frozen=True)
class MetricsConfig:
    """The metrics modes of a table's columns by full name, with a default."""

    columns: dict[str, MetricsMode]
    default: MetricsMode

    def mode(self, name: str) -> MetricsMode:
        """Return the mode of a column, given its full name."""
        return self.columns.get(name, self.default)


def metrics_config(table: Table) -> MetricsConfig:
    """Read the modes from a table's properties, schema and sort order."""
    properties, schema = table.properties, table.schema()
    columns: dict[str, MetricsMode] = {}
    if _DEFAULT in properties:
        default = _mode(properties[_DEFAULT], _TRUNCATED)
    else:
        most = whole_number(properties, _INFERRED, 100)
        default = _TRUNCATED
        if len(set(schema.field_ids)) > most:
            default = _NONE
            eligible = list(_eligible(schema.as_struct()))[:most]
            columns = {schema.find_column_name(each) or "": _TRUNCATED for each in eligible}
    promoted = default if default.keeps_bounds else _TRUNCATED
    for ordered in table.sort_order().fields:
        if ordered.transform.preserves_order and (name := schema.find_column_name(ordered.source_id)):
            columns[name] = promoted
    for key, text in properties.items():
        if key.startswith(COLUMN_MODE):
            columns[key[len(COLUMN_MODE) :]] = _mode(text, default)
    return MetricsConfig(columns, default)


def _mode(text: str, otherwise: MetricsMode) -> MetricsMode:
    if mode := MetricsMode.of(text):
        return mode
    _LOG.warning("Ignoring metrics mode %s, because it must be none, counts, truncate(n) or full", text)
    return otherwise


def _eligible(of: IcebergType) -> Iterator[int]:
    """Yield the ids of primitive fields in Iceberg's order: a struct's own fields first, then nested ones."""
    yield from (field_id for field_id, kind in children(of) if kind.is_primitive)
    for _, kind in children(of):
        yield from _eligible(kind)


_FULL = MetricsMode("full")


@dataclass(frozen=True)
class KeptBounds:
    """The bounds that a table keeps of some columns, by their metrics modes."""

    columns: tuple[ClusteringColumn, ...]
    modes: tuple[MetricsMode, ...]

    @staticmethod
    def of(table: Table, columns: Sequence[ClusteringColumn]) -> KeptBounds:
        """Read the modes from the table's current properties."""
        config = metrics_config(table)
        return KeptBounds(tuple(columns), tuple(config.mode(each.path) for each in columns))

    def fixed(self, weak: Sequence[WeakBounds]) -> KeptBounds:
        """Return the bounds after setting the wanted modes of some columns."""
        wanted = {each.field: MetricsMode.of(each.wanted or "") for each in weak}
        pairs = zip(self.columns, self.modes, strict=True)
        return replace(self, modes=tuple(wanted.get(column.path) or mode for column, mode in pairs))

    @property
    def mended(self) -> KeptBounds:
        """Return the bounds as if columns without bounds kept full ones."""
        return replace(self, modes=tuple(mode if mode.keeps_bounds else _FULL for mode in self.modes))

    @property
    def missing(self) -> dict[str, str]:
        """Modes of the columns without bounds, by name."""
        pairs = zip(self.columns, self.modes, strict=True)
        return {column.name: str(mode) for column, mode in pairs if not mode.keeps_bounds}

    @property
    def are_kept(self) -> tuple[bool, ...]:
        """For each column, whether bounds are kept."""
        return tuple(mode.keeps_bounds for mode in self.modes)

    @property
    def lengths(self) -> tuple[int | None, ...]:
        """For each column, the kept characters of strings or bytes of binaries; None without truncation."""
        pairs = zip(self.columns, self.modes, strict=True)
        return tuple(mode.length if is_truncated(column.type) else None for column, mode in pairs)

    @property
    def cuts(self) -> list[Beginning | None]:
        """For each column, what bounds keep of a key; None without truncation."""
        pairs = zip(self.columns, self.lengths, strict=True)
        return [None if length is None else Beginning(length, column.type == "string") for column, length in pairs]

    def weak(self, table: Table, pools: Callable[[int], Iterable[KeyPool]]) -> Iterator[WeakBounds]:
        """Yield the columns without bounds, and those whose bounds cannot tell the layout's buckets apart."""
        for place, (column, mode) in enumerate(zip(self.columns, self.modes, strict=True)):
            weak = WeakBounds(
                *(display_name(table), sql_name(table)),
                *(column.name, column.path, column.type, str(mode)),
                wanted=str(_FULL),
            )
            kept = mode.length if mode.keeps_bounds else 0
            if not is_truncated(column.type):
                if not mode.keeps_bounds:
                    yield weak
            elif kept is not None:
                found = separation(column.type, kept, pools(place))
                wanted = None if found.wanted is None else str(MetricsMode("truncate", found.wanted))
                if not kept:
                    yield replace(weak, wanted=wanted)
                elif not found.is_enough:
                    yield replace(weak, wanted=wanted, kept=kept, share=found.share)


def fix_metrics(table: Table, weak: Sequence[WeakBounds]) -> list[WeakBounds]:
    """Set the wanted metrics modes in one commit; returns the columns that still needed it."""
    now = copy(table)
    refresh(now)
    config = metrics_config(now)
    missing = [each for each in weak if not serves(config.mode(each.field), each)]
    if missing:
        change_properties(now, {each.key: each.wanted for each in missing if each.wanted})
    # The commit of the files checks concurrent schema changes.
    table.metadata = table.metadata.model_copy(update={"properties": dict(now.metadata.properties)})
    return missing


def serves(mode: MetricsMode, weak: WeakBounds) -> bool:
    """Return whether a mode keeps at least the wanted length of a column."""
    if not mode.keeps_bounds or mode.length is None or not is_truncated(weak.type):
        return mode.keeps_bounds
    wanted = MetricsMode.of(weak.wanted or "")
    return wanted is not None and wanted.length is not None and mode.length >= wanted.length


def key_pool(column: KeyColumn, tails: npt.NDArray[np.int64], boundaries: Boundaries | None) -> KeyPool:
    """Count the sampled rows of a file group in each bucket of a string or binary column.

    If several values are cut to the same key, and that key has its own bucket, the bucket counts the most frequent
    value; rows of the other values count as unseen.

    Examples
    --------
    >>> from iceberg_zorder.layout.boundaries import find_boundaries
    >>> from iceberg_zorder.layout.keys import encode
    >>> from iceberg_zorder.layout.sample import cut, tails
    >>> values = pa.array(["a", "b", "long 1", "long 1", "long 2", None])
    >>> column = encode(cut(values, 4), "string")
    >>> key_pool(column, tails(values, 4), find_boundaries(column, 9))
    KeyPool(keys=[b'a', b'b', b'long'], rows=[1, 1, 2], unseen=1)
    """
    present = column.states == VALUE
    keys = pc.filter(column.keys, pa.array(present))
    smallest = pc.min(keys).as_py()
    if smallest is None:
        return KeyPool([], [])
    begins, buckets = [smallest], np.zeros(len(keys), np.int64)
    if boundaries is not None:
        begins += boundaries.keys.tolist()
        buckets = boundaries.bucket_of(column)[present]
    rows = np.bincount(buckets, minlength=len(begins))
    seen = _seen(begins, rows, buckets, keys, tails[present])
    return KeyPool(begins, seen.tolist(), int((rows - seen).sum()))


def _seen(
    begins: Sequence[bytes],
    rows: npt.NDArray[np.int64],
    buckets: npt.NDArray[np.int64],
    keys: pa.LargeBinaryArray,
    tails: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Count the rows of each bucket; a bucket of a single cut key counts only its most frequent value."""
    of_cut = np.bincount(buckets[tails != 0], minlength=len(begins)) > 0
    same = np.flatnonzero(of_cut[buckets])
    first = np.array(begins, dtype=object)[buckets[same]]
    same = same[first == keys.take(pa.array(same)).to_numpy(zero_copy_only=False)]
    # A value exactly as long as the cut has no tail, and counts as a value of its own.
    same = same[np.lexsort((tails[same], buckets[same]))]
    starts = np.flatnonzero((np.diff(buckets[same], prepend=-1) != 0) | (np.diff(tails[same], prepend=0) != 0))
    most = np.zeros(len(begins), np.int64)
    np.maximum.at(most, buckets[same[starts]], np.diff(starts, append=len(same)))
    return np.where(of_cut & (np.bincount(buckets[same], minlength=len(begins)) == rows), most, rows)
