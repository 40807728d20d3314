"""Golden cases of cuts from a workload: sampled positions, what queries want of them, and the trees that are grown."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from iceberg_zorder.layout.box_tree import Split
from iceberg_zorder.layout.grow import grow
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes


@dataclass(frozen=True)
class QueryCase:
    """A sample by its positions, and the boxes of queries."""

    name: str
    bits: int
    positions: list[list[int]]
    lower: list[list[int]]
    upper: list[list[int]]
    query: list[int]
    asked: list[float]
    files: int
    tolerance: float = 0.5
    share: float = 0.95
    weights: tuple[float, ...] = ()
    leading: int = 0


def query_document(case: QueryCase) -> dict[str, Any]:
    """A case, and the tree that comes of it."""
    workload = QueryBoxes(
        np.array(case.lower, np.int64),
        np.array(case.upper, np.int64),
        np.array(case.query, np.int64),
        np.array(case.asked, np.float64),
    )
    weights = case.weights or (1.0,) * len(case.positions)
    tree = grow(
        [np.array(column, np.int64) for column in case.positions],
        case.bits,
        case.files,
        tolerance=case.tolerance,
        weights=weights,
        leading=case.leading,
        workload=workload,
        workload_share=case.share,
    )
    nodes = [
        [node.column, node.start] if isinstance(node, Split) else [node.files, [*node.lower], [*node.upper]]
        for node in tree.nodes
    ]
    return {
        "name": case.name,
        "bits": case.bits,
        "positions": case.positions,
        "lower": case.lower,
        "upper": case.upper,
        "query": case.query,
        "asked": case.asked,
        "files": case.files,
        "tolerance": case.tolerance,
        "share": case.share,
        "weights": list(weights),
        "leading": case.leading,
        "nodes": nodes,
    }


def query_cases() -> list[QueryCase]:
    """Every case."""
    rng = random.Random(22)
    small = [
        _case(rng, f"small_{number}", rows=rng.randrange(1, 120), queries=rng.randrange(30)) for number in range(60)
    ]
    large = [_case(rng, f"large_{number}", rows=1_500, queries=120, files=70, bits=12) for number in range(4)]
    none = QueryCase("no_query", 4, [[1, 2, 3, 9]], [[]], [[]], [], [], files=2)
    return [*small, *large, none, _everything(), _no_row()]


def _case(
    rng: random.Random, name: str, *, rows: int, queries: int, files: int | None = None, bits: int = 6
) -> QueryCase:
    columns = rng.randrange(1, 5)
    most = [rng.choice([3, 1 << bits, 1 << bits]) for _ in range(columns)]
    positions = [[rng.randrange(below) for _ in range(rows)] for below in most]
    if rng.random() < 0.3:
        # One column follows the other.
        positions[-1] = [(each + rng.randrange(3)) % (1 << bits) for each in positions[0]]
    boxes = [(query, _box(rng, most, bits)) for query in range(queries) for _ in range(rng.choice([1, 1, 1, 2, 4]))]
    lower = [[box[column][0] for _, box in boxes] for column in range(columns)]
    upper = [[box[column][1] for _, box in boxes] for column in range(columns)]
    return QueryCase(
        name,
        bits,
        positions,
        lower,
        upper,
        [query for query, _ in boxes],
        [rng.choice([1.0, 1.0, 0.1, 2.5, 0.0]) if rng.random() < 0.5 else 1.0 for _ in range(queries)],
        files or rng.randrange(1, 20),
        rng.choice([0.25, 0.5, 0.6]),
        rng.choice([0.95, 0.95, 1.0, 0.4]),
        tuple(rng.choice([1.0, 0.3, 4.0]) for _ in range(columns)),
        rng.choice([0, 0, 0, 1]),
    )


def _box(rng: random.Random, most: list[int], bits: int) -> list[tuple[int, int]]:
    top = (1 << bits) - 1
    box = []
    for below in most:
        kind, low = rng.random(), rng.randrange(below)
        if kind < 0.4:
            box.append((0, top))
        elif kind < 0.6:
            box.append((low, low))
        elif kind < 0.9:
            box.append((low, min(top, low + rng.choice([1, 2, 1 << bits - 3]))))
        else:
            box.append((low, rng.randrange(below)))
    return box


def _everything() -> QueryCase:
    return QueryCase("everything", 4, [[1, 2, 3, 9], [4, 4, 5, 6]], [[0], [4]], [[15], [6]], [0], [1.0], files=3)


def _no_row() -> QueryCase:
    return QueryCase("no_row", 4, [[], []], [[3], [0]], [[5], [15]], [0], [1.0], files=3)
