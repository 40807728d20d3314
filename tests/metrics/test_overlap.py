"""Depths, overlaps and scan fractions equal what loops over all files and values find."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import VALUE, Beginning, KeyColumn, encode
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles
from iceberg_zorder.metrics.overlap import measure_overlap
from iceberg_zorder.metrics.scan_fraction import (
    BoundedRows,
    filter_read,
)
from iceberg_zorder.metrics.spread_rows import middles

Value = Any
Make = Callable[[random.Random], Value]

TYPES: dict[str, tuple[Make, pa.DataType]] = {
    "int": (lambda rng: rng.randint(-9, 9), pa.int32()),
    "long": (lambda rng: rng.choice([-(2**63), 2**63 - 1, rng.randint(-(2**40), 2**40)]), pa.int64()),
    "double": (lambda rng: rng.choice([-1e308, 1e308, -0.0, 0.0, rng.gauss(0, 1)]), pa.float64()),
    "string": (lambda rng: rng.choice(["", "a", "ab", "é", "\U0001f600x"]) * rng.randint(1, 3), pa.large_string()),
    "decimal(30, 0)": (lambda rng: rng.randint(-(10**29), 10**29), pa.decimal128(30, 0)),
    "boolean": (lambda rng: rng.random() < 0.5, pa.bool_()),
}
"""Values of each type, and how Arrow holds them."""


class Box:
    """A column's bounds of one file: nothing known, no value, or two values."""

    def __init__(self, rng: random.Random, make: Make) -> None:
        kind = rng.choice(["known"] * 6 + ["unknown", "no value"])
        self.has_values, self.known = kind != "no value", kind == "known"
        self.lower: Value
        self.upper: Value
        self.lower, self.upper = sorted((make(rng), make(rng))) if self.known else (None, None)

    def meets(self, other: Box) -> bool:
        if not self.has_values or not other.has_values:
            # A file of unknown bounds may be like one without values, too.
            return self.is_unknown or other.is_unknown or self.has_values == other.has_values
        if not self.known or not other.known:
            return True
        return bool(self.lower <= other.upper and other.lower <= self.upper)

    @property
    def is_unknown(self) -> bool:
        return self.has_values and not self.known


def bounds_of(boxes: Sequence[Box], type_name: str, arrow: pa.DataType) -> ColumnBounds:
    lower = encode(pa.array([box.lower for box in boxes], arrow), type_name)
    upper = encode(pa.array([box.upper for box in boxes], arrow), type_name)
    valued = np.array([1.0 if box.has_values else 0.0 for box in boxes])
    return ColumnBounds(ClusteringColumn(("c",), type_name), lower, upper, valued)


@pytest.mark.parametrize("seed", range(40))
def test_depths_and_overlaps_equal_those_of_loops(seed: int) -> None:
    rng = random.Random(seed)
    files = rng.randint(1, 30)
    types = [rng.choice(list(TYPES)) for _ in range(rng.randint(1, 3))]
    columns = [[Box(rng, TYPES[each][0]) for _ in range(files)] for each in types]
    partitions = np.array([rng.randrange(3) for _ in range(files)])
    bounds = tuple(bounds_of(boxes, each, TYPES[each][1]) for boxes, each in zip(columns, types, strict=True))
    found = measure_overlap(DataFiles(partitions, np.ones(files, np.int64), np.ones(files, np.int64), bounds))
    assert found.measured.all()
    for file in range(files):
        others = [other for other in range(files) if partitions[other] == partitions[file]]
        assert found.overlaps[file] == sum(
            all(boxes[file].meets(boxes[other]) for boxes in columns) for other in others if other != file
        )
        assert found.depths[file] == sum(all(holds(each, other, file) for each in bounds) for other in others)


def holds(bounds: ColumnBounds, other: int, file: int) -> bool:
    """Whether a box holds the middle of a file, by keys one by one."""
    middle = key(middles(bounds), file)
    if not bounds.has_values[other]:
        return not bounds.has_values[file]
    if not bounds.bounded[other]:
        return True
    if not bounds.has_values[file]:
        return False
    if middle is None:  # no file has bounds
        return True
    return bool(key(bounds.lower, other) <= middle <= key(bounds.upper, other))


def key(keys: KeyColumn, place: int) -> Any:
    if keys.states[place] != VALUE:
        return None
    return int(keys.keys[place]) if isinstance(keys.keys, np.ndarray) else keys.keys[place].as_py()


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kept", [None, 1])
def test_filter_read_is_that_of_every_value_in_every_file(seed: int, kept: int | None) -> None:
    rng = random.Random(seed)
    name = "string" if kept else rng.choice([each for each in TYPES if not each.startswith("decimal")])
    make, arrow = TYPES[name]

    def beginning(value: Value) -> Value:
        return value.encode()[:kept] if kept else value

    groups: list[BoundedRows] = []
    files: list[tuple[Box, int]] = []
    looked_for: list[tuple[Value, float]] = []
    for _ in range(rng.randint(1, 4)):
        boxes = [Box(rng, make) for _ in range(rng.randint(0, 8))]
        sizes = [rng.randint(0, 50) for _ in boxes]
        values = [make(rng) if rng.random() < 0.8 else None for _ in range(rng.randint(0, 12))]
        rows = rng.randint(len(values), 100)
        keys = encode(pa.array(values, arrow), name)
        groups.append(BoundedRows(bounds_of(boxes, name, arrow), np.array(sizes, np.int64), keys, rows))
        files += zip(boxes, sizes, strict=True)
        # Each sampled row stands for as many rows of its group, whether it has a value or not.
        looked_for += [(value, rows / len(values)) for value in values if value is not None]
    read = filter_read(groups, None if kept is None else Beginning(kept, is_text=False))
    total = sum(size for _, size in files)
    if not looked_for or not total:
        assert read is None
        return
    total_read = files_read = 0.0
    for value, weight in looked_for:
        for box, size in files:
            within = box.known and beginning(box.lower) <= beginning(value) <= beginning(box.upper)
            total_read += weight * size * (box.is_unknown or within)
            files_read += weight * (box.is_unknown or within)
    weights = sum(weight for _, weight in looked_for)
    assert read is not None
    assert read.fraction == pytest.approx(total_read / total / weights, rel=1e-9, abs=1e-12)
    assert read.files == pytest.approx(files_read / weights, rel=1e-9, abs=1e-12)
