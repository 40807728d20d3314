"""Golden cases of file groups: files as plain JSON values, and the groups that they are cut into."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from iceberg_zorder.select.group_cuts import cut_groups
from tests.golden.report_cases import BoundsOf
from tests.golden.upkeep_cases import UpkeepCase, partition_document, upkeep_cases


def group_cuts_document(group: UpkeepCase, most_bytes: int, most_files: int) -> dict[str, Any]:
    """A case, and what must come of it."""
    request = group.request()
    # Not all files of the partition are cut if the case is one of few files.
    chosen = np.array([place for place in range(len(group.sizes)) if most_files > len(group.sizes) or place % 5])
    found = cut_groups(group.files(), chosen, most_bytes, most_files, request.kept, request.weights)
    return {
        **partition_document(group),
        "chosen": chosen.tolist(),
        "most_bytes": most_bytes,
        "most_files": most_files,
        "expected": [places.tolist() for places, _ in found],
        "extents": [extents for _, extents in found],
    }


def group_cuts_cases() -> list[tuple[UpkeepCase, int, int]]:
    """Every case, cut into two, eight, as small as can be, and into groups of a few files."""
    return [
        (group, *most)
        for group in (*upkeep_cases()[::4], *_grids(), *_corners())
        for size in [max(8, sum(group.sizes))]
        for most in ((size // 2, 2**63 - 1), (size // 8, 2**63 - 1), (1, 2**63 - 1), (size // 2, 10))
        if most[0] > 1 or len(group.sizes) < 40
    ]


def _grids() -> Iterator[UpkeepCase]:
    """Boxes that touch nowhere, and some of different sizes, in no order: a layout of ours, and days of appends."""
    draw = random.Random("grids")
    boxes = [(x, y, x + 99, y + 99) for x in range(0, 800, 100) for y in range(0, 400, 100)]
    days = [(0, 1000 * day, 800, 1000 * day + draw.randrange(400, 999)) for day in range(32)]
    for name, extents in (("boxes", boxes), ("days", days)):
        draw.shuffle(extents)
        x, y, u, v = (list(each) for each in zip(*extents, strict=True))
        ones, count = [1.0] * 32, 32
        columns = (BoundsOf(("x",), "long", x, u, ones), BoundsOf(("y",), "int", y, v, ones))
        sizes = [draw.randrange(50_000, 150_000) for _ in range(count)]
        yield UpkeepCase(name, columns, [1_000] * count, sizes, [], 20_000, 5_000, [1.0, 1.0], [None, None])


def _corners() -> Iterator[UpkeepCase]:
    """Bounds that touch, are the same, are missing, or cross; and columns that do not count."""
    columns: dict[str, tuple[list[Any], list[Any], list[float]]] = {
        "touching": ([0, 5, 10, 15], [5, 10, 15, 20], [1.0] * 4),
        "the same": ([0] * 4, [9] * 4, [1.0] * 4),
        "points": ([3] * 4, [3] * 4, [1.0] * 4),
        "without values": ([0, None, 7, None], [5, None, 9, None], [1.0, 0.0, 0.5, 0.0]),
        "without bounds": ([0, None, 7, 20], [5, None, 9, 30], [1.0, 1.0, 1.0, 1.0]),
        "crossed": ([9, 1, 30, 20], [3, 0, 40, 25], [1.0] * 4),
    }
    for name, (lower, upper, valued) in columns.items():
        column = BoundsOf(("x",), "long", lower, upper, valued)
        other = BoundsOf(("y",), "string", ["a"] * 4, ["b", "c", "d", "a"], [1.0] * 4)
        for cut, weights in ((None, [1.0, 1.0]), (1, [1.0, 0.0]), (None, [0.0, 0.0])):
            kept = [None, cut]
            yield UpkeepCase(
                f"{name} {kept} {weights}", (column, other), [10, 20, 30, 40], [100, 200, 300, 0], [], 50, 500, weights,
                kept,
            )  # fmt: skip
    one = BoundsOf(("x",), "long", [3], [9], [1.0])
    yield UpkeepCase("one", (one,), [10], [1_000], [], 50, 500, [1.0], [None])
