"""The summary of a workload: how much of it was understood, and how each column is filtered."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from iceberg_zorder.layout.columns import parse_name
from iceberg_zorder.rewrite.predicate import Name, parse_predicate
from iceberg_zorder.workload.filtered_columns import Kinds, filtered_columns, narrowest
from iceberg_zorder.workload.normal_form import normal_form
from iceberg_zorder.workload.predicate_text import column_text
from iceberg_zorder.workload.workload import FULL_SCAN, KINDS, Workload

SHOWN = 20
"""The maximum number of ``not_understood`` and of ``joins`` entries shown, the most frequent first."""


def summary(workload: Workload) -> dict[str, Any]:
    """Return the summary of a workload.

    Examples
    --------
    >>> from iceberg_zorder.workload.workload import Query
    >>> found = summary(Workload.of([Query("a = 1 AND b > 2", 3.0), Query("TRUE", 1.0)]))
    >>> found["scans"], found["full_scans"], found["columns"][0]
    (4.0, 1.0, {'name': 'a', 'weight': 3.0, 'how': {'=': 3.0}})
    """
    weaker = math.fsum(each.weaker for each in workload.queries)
    known = math.fsum(each.weight for each in workload.queries)
    missed = workload.not_understood
    return {
        "queries": len(workload.queries),
        "columns_only": len(workload.columns_only),
        "scans": workload.weight,
        "full_scans": math.fsum(each.weight for each in workload.queries if each.filter == FULL_SCAN),
        "understood": known - weaker,
        "partly_understood": weaker,
        "columns_only_scans": math.fsum(each.weight for each in workload.columns_only),
        "statements_not_understood": math.fsum(each.weight for each in missed if each.kind == "statement"),
        "statements_elsewhere": workload.elsewhere,
        "columns": _columns(workload),
        "not_understood": [
            {"kind": each.kind, "text": each.text, "reason": each.reason, "weight": each.weight}
            for each in missed[:SHOWN]
        ],
        "not_understood_count": len(missed),
        "joins": [asdict(each) for each in workload.joins[:SHOWN]],
        "joins_count": len(workload.joins),
    }


def _columns(workload: Workload) -> list[dict[str, Any]]:
    weights: dict[Name, dict[str, list[float]]] = {}
    for weight, kinds in _filtered(workload):
        for column, kind in kinds.items():
            weights.setdefault(column, {}).setdefault(kind, []).append(weight)
    found = [
        {
            "name": column_text(column),
            "weight": math.fsum(weight for each in how.values() for weight in each),
            "how": {kind: math.fsum(how[kind]) for kind in KINDS if kind in how},
        }
        for column, how in weights.items()
    ]
    return sorted(found, key=lambda each: (-each["weight"], each["name"]))


def _filtered(workload: Workload) -> Iterator[tuple[float, Kinds]]:
    for query in workload.queries:
        yield query.weight, _kinds(query.filter)
    for each in workload.columns_only:
        yield each.weight, narrowest([_kinds(each.filter), {parse_name(name): kind for name, kind in each.columns}])


def _kinds(text: str) -> Kinds:
    return filtered_columns(normal_form(parse_predicate(text)))
