"""Manifest statistics beside the contents of the files: value by value, and none left out that could be told."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyiceberg.manifest import PartitionFieldSummary

from tests.fuzz import types as ty
from tests.fuzz.model import ADDED, DATA, DELETED, EXISTING, Entry, Manifest, Metadata, Model, Row, local
from tests.fuzz.transforms import apply


def check_file(model: Model, metadata: Metadata, entry: Entry, schema: ty.Struct) -> Iterator[str]:
    """Find what is wrong with the statistics of a data file that a rewrite has written by a schema."""
    rows = model.all_rows(metadata, entry, schema)
    facts = {"record_count": len(rows), "file_size_in_bytes": local(entry.path).stat().st_size}
    for name, fact in facts.items():
        if entry.file.get(name) != fact:
            yield f"{name} is {entry.file.get(name)} and not {fact}"
    yield from _check_partition(metadata, entry, schema, rows)
    properties = metadata.json.get("properties", {})
    for leaf in ty.leaves(schema):
        for complaint in _check_leaf(entry, leaf, [leaf.of(row) for row in rows], _mode(properties, leaf.name)):
            yield f"{leaf.name}: {complaint}"


def _check_partition(metadata: Metadata, entry: Entry, schema: ty.Struct, rows: Sequence[Row]) -> Iterator[str]:
    by_id = {leaf.id: leaf for leaf in ty.leaves(schema)}
    for field, value in zip(metadata.specs[entry.spec_id], entry.partition, strict=True):
        leaf = by_id.get(field["source-id"])
        if leaf is None:
            continue
        found = {ty.identity(apply(field["transform"], leaf.type, leaf.of(row))) for row in rows}
        if found - {ty.identity(value)}:
            yield f"partition {field['name']} is {value!r}, and its rows have {sorted(map(repr, found))}"


def _check_leaf(entry: Entry, leaf: ty.Leaf, values: Sequence[Any], mode: str) -> Iterator[str]:
    known = [value for value in values if value is not None and not ty.is_nan(value)]
    counts = {"value_counts": len(values), "null_value_counts": values.count(None)}
    if ty.is_floating(leaf.type):
        counts["nan_value_counts"] = sum(map(ty.is_nan, values))
    for name, count in counts.items():
        found = entry.numbers(name).get(leaf.id)
        if found != (None if mode == "none" else count):
            yield f"{name} is {found} and not {count}"
    lower, upper = entry.numbers("lower_bounds").get(leaf.id), entry.numbers("upper_bounds").get(leaf.id)
    if not known or mode in ("none", "counts"):
        if lower is not None or upper is not None:
            yield f"there are bounds {lower!r} and {upper!r}"
        return
    low, high = min(known, key=ty.total_order), max(known, key=ty.total_order)
    if lower is not None and ty.total_order(ty.from_bytes(lower, leaf.type)) > ty.total_order(low):
        yield f"lower bound {_short(lower)} is above {_short(low)}"
    if upper is not None and ty.total_order(ty.from_bytes(upper, leaf.type)) < ty.total_order(high):
        yield f"upper bound {_short(upper)} is below {_short(high)}"


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) < 80 else f"{shown[:60]}... ({len(value)} long)"


def _mode(properties: Mapping[str, str], name: str) -> str:
    default = properties.get("write.metadata.metrics.default", "truncate(16)")
    return properties.get(f"write.metadata.metrics.column.{name}", default)


def check_manifest(metadata: Metadata, manifest: Manifest, *, has_signed_uuids: bool) -> Iterator[str]:
    """Find what is wrong with what a manifest list says of a manifest.

    All that Iceberg's Java code (1.12) writes has UUIDs in the order of signed numbers.
    """
    listed, entries = manifest.listed, manifest.entries
    for kind, status in {"added": ADDED, "existing": EXISTING, "deleted": DELETED}.items():
        of_kind = [entry for entry in entries if entry.status == status]
        files, rows = (getattr(listed, f"{kind}_{counted}_count") for counted in ("files", "rows"))
        if files != len(of_kind) or rows != sum(entry.file["record_count"] for entry in of_kind):
            yield f"{manifest.path} has {len(of_kind)} {kind} files, and the list says {files} of {rows} rows"
    types = metadata.partition_types(manifest.spec_id)
    for place, (told, of) in enumerate(zip(listed.partitions or [], types, strict=False)):
        if of == "uuid" and has_signed_uuids:
            continue
        live = [entry.partition[place] for entry in entries if entry.status != DELETED]
        for complaint in _check_summary(told, live, of):
            yield f"{manifest.path}: partition field {place}: {complaint}"


def _check_summary(told: PartitionFieldSummary, values: Sequence[Any], of: str) -> Iterator[str]:
    if None in values and not told.contains_null:
        yield "contains_null is false"
    if any(map(ty.is_nan, values)) and told.contains_nan is False:
        yield "contains_nan is false"
    known = [value for value in values if value is not None and not ty.is_nan(value)]
    lower, upper = told.lower_bound, told.upper_bound
    for bound in (lower, upper):
        if bound is not None and ty.is_nan(ty.from_bytes(bound, of)):
            yield "NaN is a bound"
            return
    if not known:
        return
    if lower is not None and ty.total_order(ty.from_bytes(lower, of)) > min(map(ty.total_order, known)):
        yield f"lower bound {ty.from_bytes(lower, of)!r} is above {min(known)!r}"
    if upper is not None and ty.total_order(ty.from_bytes(upper, of)) < max(map(ty.total_order, known)):
        yield f"upper bound {ty.from_bytes(upper, of)!r} is below {max(known)!r}"


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
