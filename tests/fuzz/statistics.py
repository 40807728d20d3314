"""Manifest statistics beside the contents of the files: value by value, and none left out that could be told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow.parquet as pq

from tests.fuzz.model import DATA, DELETED, EXISTING, Entry, Manifest, Metadata, Model, Row, local
from tests.fuzz.transforms import apply
from tests.fuzz.types import (
    Leaf,
    Struct,
    field_id,
    from_bytes,
    identity,
    is_floating,
    is_nan,
    leaves,
    to_bytes,
    total_order,
)
from tests.fuzz.writing import lower_bound, upper_bound


def check_file(model: Model, metadata: Metadata, entry: Entry, schema: Struct, *, exact: bool = True) -> Iterator[str]:
    """Find what is wrong with the statistics of a data file that a rewrite has written by a schema.

    Parameters
    ----------
    model : Model
        Reads the file.
    metadata : Metadata
        The table's.
    entry : Entry
        The data file.
    schema : Struct
        The columns.
    exact : bool
        Whether bounds must be as tight as they can be, and not only right.

    Yields
    ------
    str
        An account of each difference.
    """
    path = local(entry.path)
    rows = model.all_rows(metadata, entry, schema)
    footer = pq.read_metadata(path)
    groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
    facts = {
        "record_count": len(rows),
        "file_size_in_bytes": path.stat().st_size,
        "split_offsets": [_start(group) for group in groups],
        "file_format": "PARQUET",
    }
    for name, fact in facts.items():
        if entry.file.get(name) != fact:
            yield f"{name} is {entry.file.get(name)} and not {fact}"
    if entry.file.get("sort_order_id") not in (None, 0):
        yield f"sort_order_id is {entry.file.get('sort_order_id')}"
    yield from _check_partition(metadata, entry, schema, rows)
    ids = _leaf_ids(pq.read_schema(path))
    properties = metadata.json.get("properties", {})
    for leaf in leaves(schema):
        sizes = [
            group.column(place).total_compressed_size
            for group in groups
            for place, each in enumerate(ids)
            if each == leaf.id
        ]
        mode = _mode(properties, leaf.name)
        if mode != "none" and entry.numbers("column_sizes").get(leaf.id) != sum(sizes):
            yield f"{leaf.name}: column_sizes is {entry.numbers('column_sizes').get(leaf.id)} and not {sum(sizes)}"
        for complaint in _check_leaf(entry, leaf, [leaf.of(row) for row in rows], mode, exact=exact):
            yield f"{leaf.name}: {complaint}"


def _start(group: Any) -> int:
    column = group.column(0)
    return min(int(each) for each in (column.dictionary_page_offset, column.data_page_offset) if each)


def _leaf_ids(schema: Any) -> list[int | None]:
    def visit(field: Any) -> Iterator[int | None]:
        kind = field.type
        if kind.num_fields == 0:
            yield field_id(field)
        elif hasattr(kind, "key_field"):
            yield from visit(kind.key_field)
            yield from visit(kind.item_field)
        else:
            for place in range(kind.num_fields):
                yield from visit(kind.field(place))

    return [each for field in schema for each in visit(field)]


def _check_partition(metadata: Metadata, entry: Entry, schema: Struct, rows: Sequence[Row]) -> Iterator[str]:
    by_id = {leaf.id: leaf for leaf in leaves(schema)}
    for field, value in zip(metadata.specs[entry.spec_id], entry.partition, strict=True):
        leaf = by_id.get(field["source-id"])
        if leaf is None:
            continue
        found = {identity(apply(field["transform"], leaf.type, leaf.of(row))) for row in rows}
        if found - {identity(value)}:
            yield f"partition {field['name']} is {value!r}, and its rows have {sorted(map(repr, found))}"


def _check_leaf(entry: Entry, leaf: Leaf, values: Sequence[Any], mode: str, *, exact: bool) -> Iterator[str]:
    known = [value for value in values if value is not None and not is_nan(value)]
    counts = {"value_counts": len(values), "null_value_counts": values.count(None)}
    if is_floating(leaf.type):
        counts["nan_value_counts"] = sum(map(is_nan, values))
    for name, count in counts.items():
        found = entry.numbers(name).get(leaf.id)
        if found != (None if mode == "none" else count):
            yield f"{name} is {found} and not {count}"
    lower, upper = entry.numbers("lower_bounds").get(leaf.id), entry.numbers("upper_bounds").get(leaf.id)
    if not known or mode in ("none", "counts"):
        if lower is not None or upper is not None:
            yield f"there are bounds {lower!r} and {upper!r}"
        return
    low, high = min(known, key=total_order), max(known, key=total_order)
    if lower is not None and total_order(from_bytes(lower, leaf.type)) > total_order(low):
        yield f"lower bound {_short(lower)} is above {_short(low)}"
    if upper is not None and total_order(from_bytes(upper, leaf.type)) < total_order(high):
        yield f"upper bound {_short(upper)} is below {_short(high)}"
    if not exact:
        return
    length = None if mode == "full" else int(re.findall(r"\d+", mode)[0])
    wanted_low, wanted_high = lower_bound(low, length, leaf.type), upper_bound(high, length, leaf.type)
    yield from _check_bound("lower", lower, wanted_low, leaf.type)
    yield from _check_bound("upper", upper, wanted_high, leaf.type)


def _check_bound(which: str, found: bytes | None, wanted: Any, of: str) -> Iterator[str]:
    encoded = None if wanted is None else to_bytes(wanted, of)
    # Parquet keeps no sign of zero: its smallest is -0.0, its largest 0.0.
    if found != encoded and not (isinstance(wanted, float) and found and from_bytes(found, of) == wanted == 0):
        yield f"{which} bound is {_short(found)} and not {_short(encoded)}"


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) < 80 else f"{shown[:60]}... ({len(value)} long)"


def _mode(properties: Mapping[str, str], name: str) -> str:
    default = properties.get("write.metadata.metrics.default", "truncate(16)")
    return properties.get(f"write.metadata.metrics.column.{name}", default)


def check_manifest(metadata: Metadata, manifest: Manifest, *, exact: bool) -> Iterator[str]:
    """Find what is wrong with what a manifest list says of a manifest.

    All that Iceberg's Java code (1.12) writes has UUIDs in the order of signed numbers: ``exact`` tells that they must not be.
    """
    listed, entries = manifest.listed, manifest.entries
    kinds = {"added": 1, "existing": EXISTING, "deleted": DELETED}
    for kind, status in kinds.items():
        of_kind = [entry for entry in entries if entry.status == status]
        files = listed.get(f"{kind}_files_count", listed.get(f"{kind}_data_files_count"))
        rows = listed[f"{kind}_rows_count"]
        if files != len(of_kind) or rows != sum(entry.file["record_count"] for entry in of_kind):
            yield f"{manifest.path} has {len(of_kind)} {kind} files, and the list says {files} of {rows} rows"
    live = [entry for entry in entries if entry.status != DELETED]
    if "min_sequence_number" in listed and live:
        lowest = min(entry.sequence_number for entry in live)
        if listed["min_sequence_number"] > lowest:
            yield f"{manifest.path}: min_sequence_number is {listed['min_sequence_number']} and not {lowest}"
    if local(manifest.path).stat().st_size != listed["manifest_length"]:
        yield f"{manifest.path}: manifest_length is {listed['manifest_length']}"
    for place, (told, of) in enumerate(
        zip(listed.get("partitions") or [], metadata.partition_types(manifest.spec_id), strict=False)
    ):
        if of == "uuid" and not exact:
            continue
        values = [entry.partition[place] for entry in entries]
        for complaint in _check_summary(told, values, of):
            yield f"{manifest.path}: partition field {place}: {complaint}"


def _check_summary(told: dict[str, Any], values: Sequence[Any], of: str) -> Iterator[str]:
    if None in values and not told["contains_null"]:
        yield "contains_null is false"
    if any(map(is_nan, values)) and told.get("contains_nan") is False:
        yield "contains_nan is false"
    known = [value for value in values if value is not None and not is_nan(value)]
    lower, upper = told.get("lower_bound"), told.get("upper_bound")
    for bound in (lower, upper):
        if bound is not None and is_nan(from_bytes(bound, of)):
            yield "NaN is a bound"
            return
    if not known:
        return
    if lower is not None and total_order(from_bytes(lower, of)) > min(map(total_order, known)):
        yield f"lower bound {from_bytes(lower, of)!r} is above {min(known)!r}"
    if upper is not None and total_order(from_bytes(upper, of)) < max(map(total_order, known)):
        yield f"upper bound {from_bytes(upper, of)!r} is below {max(known)!r}"


def check_totals(entries: Sequence[Entry], summary: Mapping[str, str]) -> Iterator[str]:
    """Find totals in a snapshot's summary that its files do not have."""
    data = [entry for entry in entries if entry.content == DATA]
    deletes = [entry for entry in entries if entry.content != DATA]
    facts = {
        "total-data-files": len(data),
        "total-delete-files": len(deletes),
        "total-records": sum(entry.file["record_count"] for entry in data),
        "total-files-size": sum(entry.file["file_size_in_bytes"] for entry in entries),
        "total-position-deletes": sum(e.file["record_count"] for e in deletes if e.content == 1),
        "total-equality-deletes": sum(e.file["record_count"] for e in deletes if e.content == 2),
    }
    for name, fact in facts.items():
        if name in summary and int(summary[name]) != fact:
            yield f"the summary says {name} {summary[name]}, and it is {fact}"
