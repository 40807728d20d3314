"""How the golden files write values, and what comes of a sample, of texts of requests and of row groups.

NULL is None; integers are days, micro- or nanoseconds for dates and times; floats and decimals are texts; binary, fixed
and UUID are hexadecimal digits.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.boundaries import find_boundaries
from iceberg_zorder.layout.box_tree import Split
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit, grow
from iceberg_zorder.layout.keys import VALUE, KeyColumn, encode
from iceberg_zorder.layout.layout import layout_hash, to_json
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.layout.split_costs import QueryBoxes
from iceberg_zorder.rewrite.metrics_check import KeyPool, separation
from iceberg_zorder.rewrite.sort_order import parse_column_weights, parse_sort_order
from iceberg_zorder.sample.sampled_row_groups import ManifestFile, sampled_row_groups

ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
    "uuid": pa.binary(16),
}


def golden(name: str) -> Any:
    """Read a golden file."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Column:
    """A clustering column and its values."""

    name: tuple[str, ...]
    type: str
    values: list[Any]

    @classmethod
    def from_golden(cls, golden: dict[str, Any]) -> Column:
        return cls(tuple(golden["name"]), golden["type"], golden["values"])

    def clustering_column(self) -> ClusteringColumn:
        return ClusteringColumn(self.name, self.type)

    def keys(self) -> KeyColumn:
        return encode(arrow(self.type, self.values), self.type)


def arrow(type_name: str, values: list[Any]) -> pa.Array:
    """The values of a case as Arrow holds them."""
    if type_name.startswith("decimal"):
        precision, scale = (int(part) for part in type_name[8:-1].split(","))
        return pa.array([None if v is None else Decimal(v) for v in values], pa.decimal128(precision, scale))
    if type_name.startswith("fixed"):
        return pa.array([None if v is None else bytes.fromhex(v) for v in values], pa.binary(int(type_name[6:-1])))
    if type_name in ("binary", "uuid"):
        return pa.array([None if v is None else bytes.fromhex(v) for v in values], ARROW[type_name])
    if type_name in ("float", "double"):
        return pa.array([None if v is None else float(v) for v in values], ARROW[type_name])
    if type_name in ("string", "boolean", "int", "long"):
        return pa.array(values, ARROW[type_name])
    integers = pa.array(values, pa.int32() if type_name == "date" else pa.int64())
    return integers.cast(ARROW[type_name]) if type_name == "date" else integers.view(ARROW[type_name])


def layout(golden: dict[str, Any]) -> dict[str, Any]:
    """A sample, and the layout that is fitted to it."""
    columns = [Column.from_golden(each) for each in golden["columns"]]
    sample = Sample(tuple(column.keys() for column in columns))
    request = LayoutRequest(
        golden["files"],
        golden["cuts"],
        golden["curve"],
        tuple((descending, nulls_first) for descending, nulls_first in golden["prefix"]),
        golden["boundaries"],
        golden["size_tolerance"],
        tuple(golden["weights"]),
    )
    fitted = fit([column.clustering_column() for column in columns], sample, request)
    buckets = [find_boundaries(keys, request.boundaries).bucket_of(keys) for keys in sample.columns]
    expected = {
        "keys": [keys_as_json(keys) for keys in sample.columns],
        "states": [keys.states.tolist() for keys in sample.columns],
        "buckets": [rows.tolist() for rows in buckets],
        "positions": [column.positions[buckets[column.ordinal]].tolist() for column in fitted.columns],
        "index": fitted.index(sample).tolist(),
        "file": fitted.file(sample, np.arange(sample.rows)).tolist(),
        "layout": to_json(fitted),
        "hash": layout_hash(fitted),
    }
    return {**golden, "expected": expected}


def keys_as_json(column: KeyColumn) -> list[int | str | None]:
    """Keys of values, bytes as hexadecimal digits."""
    keys = [key.hex() if isinstance(key, bytes) else key for key in column.keys.tolist()]
    return [key if state == VALUE else None for key, state in zip(keys, column.states.tolist(), strict=True)]


def cuts_from_a_workload(golden: dict[str, Any]) -> dict[str, Any]:
    """Sampled positions and the boxes of queries, and the tree that is grown."""
    lower, upper, query = (np.array(golden[name], np.int64) for name in ("lower", "upper", "query"))
    tree = grow(
        [np.array(column, np.int64) for column in golden["positions"]],
        golden["bits"],
        golden["files"],
        tolerance=golden["tolerance"],
        weights=golden["weights"],
        leading=golden["leading"],
        workload=QueryBoxes(lower, upper, query, np.array(golden["asked"], np.float64)),
        workload_share=golden["share"],
    )
    nodes = [
        [node.column, node.start] if isinstance(node, Split) else [node.files, [*node.lower], [*node.upper]]
        for node in tree.nodes
    ]
    return {**golden, "nodes": nodes}


def sort_order(golden: dict[str, Any]) -> dict[str, Any]:
    """A sort order, and what it says or its error."""
    order = _parsed(parse_sort_order, text := golden["text"])
    if isinstance(order, str):
        return {"text": text, "error": order}
    prefix = [{"parts": list(c.parts), "descending": c.descending, "nulls_first": c.nulls_first} for c in order.prefix]
    return {"text": text, "curve": order.curve, "columns": [list(column) for column in order.columns], "prefix": prefix}


def column_weights(golden: dict[str, Any]) -> dict[str, Any]:
    """Column weights, and what they say or their error."""
    weights = _parsed(parse_column_weights, text := golden["text"])
    if isinstance(weights, str):
        return {"text": text, "error": weights}
    return {"text": text, "weights": [{"parts": list(parts), "weight": weight} for parts, weight in weights]}


def _parsed(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except InvalidInputError as error:
        return str(error)


def row_groups(golden: dict[str, Any]) -> dict[str, Any]:
    """A file group by what manifests say of it, and which row groups its samples are read from."""
    files = [
        ManifestFile(path, commit, rows, size, tuple(offsets)) for path, commit, rows, size, offsets in golden["files"]
    ]
    asked = []
    for each in golden["asked"]:
        found = sampled_row_groups(files, **{key: value for key, value in each.items() if key != "read"})
        read = None if found is None else [[list(astuple(one)) for one in file] for file in found]
        asked.append({**each, "read": read})
    return {**golden, "asked": asked}


def metrics_check(golden: dict[str, Any]) -> dict[str, Any]:
    """The keys of a column by file group, and how many rows its bounds tell apart."""
    pools = [KeyPool([bytes.fromhex(key) for key in of["keys"]], of["rows"], of["unseen"]) for of in golden["groups"]]
    found = separation(golden["type"], golden["kept"], pools)
    return {**golden, "rows": found.rows, "apart": found.apart, "wanted": found.wanted}
