"""Write the golden files: ``make golden``, a deliberate act. Tests only read them.

The files hold what the Python core computes. They are worth something because the Java core must compute the same, and
because the Python core is tested against a naive reference.
"""

from __future__ import annotations

import json
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.boundaries import find_boundaries
from iceberg_zorder.layout.fit import fit
from iceberg_zorder.layout.keys import VALUE, KeyColumn
from iceberg_zorder.layout.layout_json import layout_hash, to_json
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.request.sort_order import parse_column_weights, parse_sort_order
from iceberg_zorder.sample.sampled_row_groups import ManifestFile, sampled_row_groups
from tests.golden.cases import COLUMN_WEIGHTS, SORT_ORDERS, Case, cases, row_group_cases
from tests.golden.group_cuts_cases import group_cuts_cases, group_cuts_document
from tests.golden.metrics_check_cases import metrics_cases, metrics_document
from tests.golden.position_box_cases import position_box_document, position_cases
from tests.golden.query_cases import query_cases, query_document
from tests.golden.report_cases import report_cases, report_document
from tests.golden.settled_cases import settled_document
from tests.golden.upkeep_cases import upkeep_cases, upkeep_document
from tests.golden.upkeep_query_cases import queries_cases, queries_document

DIRECTORY = Path(__file__).parent


def document(case: Case) -> dict[str, Any]:
    """A case, and what must come of it."""
    sample = Sample(tuple(column.keys() for column in case.columns))
    layout = fit([column.clustering_column() for column in case.columns], sample, case.request())
    buckets = [find_boundaries(keys, case.boundaries).bucket_of(keys) for keys in sample.columns]
    return {
        "name": case.name,
        "files": case.files,
        "boundaries": case.boundaries,
        "cuts": case.cuts,
        "curve": case.curve,
        "prefix": [list(orders) for orders in case.prefix],
        "size_tolerance": case.size_tolerance,
        "weights": list(case.weights),
        "columns": [{"name": list(c.name), "type": c.type, "values": c.values} for c in case.columns],
        "expected": {
            "keys": [_keys(keys) for keys in sample.columns],
            "states": [keys.states.tolist() for keys in sample.columns],
            "buckets": [rows.tolist() for rows in buckets],
            "positions": [column.positions[buckets[column.ordinal]].tolist() for column in layout.columns],
            "index": layout.index(sample).tolist(),
            "file": layout.file(sample, np.arange(sample.rows)).tolist(),
            "layout": to_json(layout),
            "hash": layout_hash(layout),
        },
    }


def sort_order_document(text: str) -> dict[str, Any]:
    """A sort order, and what it says or its error."""
    try:
        order = parse_sort_order(text)
    except InvalidInputError as error:
        return {"text": text, "error": str(error)}
    prefix = [{"parts": list(c.parts), "descending": c.descending, "nulls_first": c.nulls_first} for c in order.prefix]
    return {"text": text, "curve": order.curve, "columns": [list(column) for column in order.columns], "prefix": prefix}


def column_weights_document(text: str) -> dict[str, Any]:
    """Column weights, and what they say or their error."""
    try:
        weights = parse_column_weights(text)
    except InvalidInputError as error:
        return {"text": text, "error": str(error)}
    return {"text": text, "weights": [{"parts": list(parts), "weight": weight} for parts, weight in weights]}


def row_groups_document(case: dict[str, Any]) -> dict[str, Any]:
    """A file group, and which row groups its samples are read from."""
    files = [
        ManifestFile(path, commit, rows, size, tuple(offsets)) for path, commit, rows, size, offsets in case["files"]
    ]
    asked = []
    for each in case["asked"]:
        found = sampled_row_groups(files, **each)
        read = None if found is None else [[list(astuple(one)) for one in file] for file in found]
        asked.append({**each, "read": read})
    return {"files": case["files"], "asked": asked}


def _keys(column: KeyColumn) -> list[int | str | None]:
    keys = [key.hex() if isinstance(key, bytes) else key for key in column.keys.tolist()]
    return [key if state == VALUE else None for key, state in zip(keys, column.states.tolist(), strict=True)]


def main() -> None:
    """Replace every golden file."""
    for old in DIRECTORY.glob("*.json"):
        old.unlink()
    documents: dict[str, Any] = {case.name: document(case) for case in cases()}
    documents["sort_order"] = [sort_order_document(text) for text in SORT_ORDERS]
    documents["column_weights"] = [column_weights_document(text) for text in COLUMN_WEIGHTS]
    documents["sampled_row_groups"] = [row_groups_document(case) for case in row_group_cases()]
    documents["metrics_check"] = {"cases": [metrics_document(case) for case in metrics_cases()]}
    documents["settled"] = settled_document()
    documents["upkeep"] = {"cases": [upkeep_document(case) for case in upkeep_cases()]}
    documents["upkeep_queries"] = {"cases": [queries_document(case) for case in queries_cases()]}
    documents["queries"] = {"cases": [query_document(case) for case in query_cases()]}
    documents["position_boxes"] = {"cases": [position_box_document(case) for case in position_cases()]}
    documents["group_cuts"] = {"cases": [group_cuts_document(*case) for case in group_cuts_cases()]}
    documents.update((case.name, report_document(case)) for case in report_cases())
    for name, content in documents.items():
        text = json.dumps(content, ensure_ascii=True, indent=None, separators=(",", ":"))
        (DIRECTORY / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
