"""Golden cases of upkeep by the queries of a workload: which files of a partition are rewritten."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.layout.keys import VALUE
from iceberg_zorder.select.branch_history import NO_CAP
from iceberg_zorder.select.gain import AskedQueries, UpkeepRequest, choose
from iceberg_zorder.workload.boxes import Box, KeyRange
from tests.golden.cases import Column
from tests.golden.position_box_cases import VALUES, box_as_json, random_box
from tests.golden.report_cases import BoundsOf
from tests.golden.upkeep_cases import UpkeepCase, choice_document, partition_document


@dataclass(frozen=True)
class QueriesCase:
    """A partition, and the queries that are asked of it."""

    partition: UpkeepCase
    boxes: tuple[tuple[Box, ...], ...]
    weights: list[float]
    may_find: list[bool]
    share: float = 0.95

    @property
    def weight(self) -> float:
        """The weight of all queries, added up in order."""
        return float(np.cumsum(self.weights)[-1])

    def request(self) -> UpkeepRequest:
        """How they are chosen."""
        queries = zip(self.boxes, self.weights, self.may_find, strict=True)
        asked = [(boxes, weight) for boxes, weight, may_find in queries if may_find]
        return replace(self.partition.request(), workload=AskedQueries(asked, self.weight, self.share))


def queries_document(case: QueriesCase) -> dict[str, Any]:
    """A case, and what must come of it."""
    partition = case.partition
    choice = choose(partition.files(), *partition.flags(), partition.budget, partition.spread, case.request())
    return {
        **partition_document(partition),
        "due": list(partition.due),
        "budget": partition.budget,
        "queries": {
            "boxes": [[box_as_json(box) for box in boxes] for boxes in case.boxes],
            "weights": case.weights,
            "may_find": case.may_find,
            "weight": case.weight,
            "share": case.share,
        },
        "expected": choice_document(choice),
    }


def queries_cases() -> list[QueriesCase]:
    """Every case."""
    return [*_grids(), *(_random(seed) for seed in range(24))]


def _grids() -> Iterator[QueriesCase]:
    """A base of disjoint boxes and appends that lie across it, with queries of one corner, one column, or everything."""
    cells = [(x, y, x + 99, y + 99) for x in range(0, 600, 100) for y in range(0, 600, 100)]
    corner = [_box(x=(5 * start, 5 * start + 9), y=(7 * start % 90, 7 * start % 90 + 3)) for start in range(30)]
    column = [_box(x=(start, start + 40)) for start in range(0, 600, 17)]
    for name, boxes in (("corner", corner), ("column", column), ("everything", [Box(())] * 3)):
        for appends in (0, 2, 6):
            bounds = [*cells, *[(0, 0, 599, 599)] * appends]
            x, y, u, v = (list(each) for each in zip(*bounds, strict=True))
            ones, count = [1.0] * len(bounds), len(bounds)
            columns = (BoundsOf(("x",), "long", x, u, ones), BoundsOf(("y",), "int", y, v, ones))
            sizes = [100_000] * 36 + [20_000] * appends
            called = list(range(36, count)) if appends == 6 else []
            yield QueriesCase(
                UpkeepCase(
                    f"{name} {appends}", columns, [size // 100 for size in sizes], sizes, called, 100_000, 4_000,
                    [1.0, 1.0], [None, None], LayoutRequest(1, size_tolerance=0.5),
                    budget=1_000_000 if appends == 2 else NO_CAP,
                ),
                tuple((box,) for box in boxes), [1.0 + place % 3 for place in range(len(boxes))], [True] * len(boxes),
            )  # fmt: skip


def _box(**ranges: tuple[int, int]) -> Box:
    return Box.of({(name,): KeyRange((VALUE, low), (VALUE, high + 1)) for name, (low, high) in ranges.items()})


def _random(seed: int) -> QueriesCase:
    """Bounds of every type, some of them missing, and boxes between their values."""
    chance = random.Random(f"queries {seed}")
    kinds = chance.sample(list(VALUES), 1 + seed % 3)
    columns = tuple(Column((kind,), kind, VALUES[kind]) for kind in kinds)
    count = chance.randrange(2, 30)
    bounds = tuple(_bounds(chance, column, count) for column in columns)
    sizes = [chance.randrange(1_000, 3_000) for _ in range(count)]
    leading = ((chance.random() < 0.5, False),) if len(kinds) > 1 and seed % 4 == 0 else ()
    kept = [chance.choice([None, 1, 2]) if kind in ("string", "binary") else None for kind in kinds]
    weights = [chance.choice([0.0, 1.0, 2.0]) if seed % 5 == 4 else 1.0 for _ in kinds]
    queries = range(chance.randrange(1, 40))
    partition = UpkeepCase(
        f"random {seed}", bounds, [size // 10 for size in sizes], sizes, list(range(0, count, 3)) if seed % 2 else [],
        (4_000, 200, 1_000)[seed % 3], (60, 900)[seed % 2], weights, kept,
        LayoutRequest(1, leading_orders=leading, size_tolerance=0.5),
        due=(0,) if seed % 6 == 1 else (),
        budget=20_000 * (seed % 2) if seed % 3 == 1 else NO_CAP,
    )  # fmt: skip
    return QueriesCase(
        partition,
        tuple(tuple(random_box(chance, columns) for _ in range(chance.choice([0, 1, 1, 1, 3]))) for _ in queries),
        [chance.choice([0.25, 1.0, 3.7]) for _ in queries],
        [chance.random() < 0.9 for _ in queries],
        (0.95, 1.0, 0.5)[seed % 3],
    )


def _bounds(chance: random.Random, column: Column, count: int) -> BoundsOf:
    known = [each for each in column.values if each not in (None, "NaN")]
    keys = Column(column.name, column.type, known).keys().keys.tolist()
    pairs = [sorted(chance.choices(range(len(known)), k=2), key=lambda place: keys[place]) for _ in range(count)]
    missing = [chance.random() < 0.1 for _ in range(count)]
    lower, upper = (
        [None if is_missing else known[pair[end]] for pair, is_missing in zip(pairs, missing, strict=True)]
        for end in range(2)
    )
    valued = [chance.choice([1.0, 1.0, 0.5, 0.0]) for _ in range(count)]
    return BoundsOf(column.name, column.type, lower, upper, valued)
