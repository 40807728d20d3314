"""Layouts of appended rows: their files follow the boxes that are there."""

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from iceberg_zorder.layout.appended import Boxes, append_files, fit_appended
from iceberg_zorder.layout.box_tree import BoxTree
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import KeyColumn, encode
from iceberg_zorder.layout.sample import Sample

Longs = npt.NDArray[np.int64]
COLUMNS = [ClusteringColumn(("a",), "long"), ClusteringColumn(("b",), "long")]
ROWS = 20_000


def sample(*columns: Longs) -> Sample:
    return Sample(tuple(encode(pa.array(each), "long") for each in columns))


def bounds(columns: tuple[Longs, ...], file: Longs) -> tuple[Longs, Longs]:
    """The bounds of the files of rows, of shape (columns, files)."""
    files = int(file.max()) + 1
    lower, upper = (np.full((len(columns), files), end) for end in (2**62, -(2**62)))
    for place, column in enumerate(columns):
        np.minimum.at(lower[place], file, column)
        np.maximum.at(upper[place], file, column)
    return lower, upper


def boxes(columns: tuple[Longs, ...], file: Longs) -> Boxes:
    lower, upper = (
        tuple(KeyColumn(each, np.zeros(len(each), np.uint8)) for each in end) for end in bounds(columns, file)
    )
    return Boxes(lower, upper, np.bincount(file) * 10)


def touched(columns: tuple[Longs, ...], file: Longs, there: Boxes) -> float:
    """How many boxes a new file touches, on average."""
    lower, upper = bounds(columns, file)
    counts = [
        np.logical_and.reduce(
            [
                (low.keys <= upper[place, each]) & (high.keys >= lower[place, each])
                for place, (low, high) in enumerate(zip(there.lower, there.upper, strict=True))
            ]
        ).sum()
        for each in range(lower.shape[1])
    ]
    return float(np.mean(counts))


def draw(kind: str, rng: np.random.Generator, rows: int) -> tuple[Longs, Longs]:
    a = rng.integers(0, 10**6, rows)
    if kind == "skewed":
        return rng.zipf(1.3, rows) % 10**5, rng.normal(0, 1e5, rows).astype(np.int64)
    return (a, a + rng.integers(0, 2 * 10**5, rows)) if kind == "correlated" else (a, rng.integers(0, 10**6, rows))


@pytest.mark.parametrize("files", [5, 25])
@pytest.mark.parametrize("kind", ["uniform", "skewed", "correlated"])
def test_files_touch_fewer_boxes_than_those_of_a_layout_of_their_own(kind: str, files: int) -> None:
    rng = np.random.default_rng(files)
    old, new = draw(kind, rng, ROWS * 5), draw(kind, rng, ROWS)
    there = boxes(old, fit(COLUMNS, sample(*old), LayoutRequest(64)).file(sample(*old)))
    own = fit(COLUMNS, sample(*new), LayoutRequest(files)).file(sample(*new))
    layout = fit_appended(COLUMNS, sample(*new), LayoutRequest(files), there)
    file = layout.file(sample(*new))
    counts = np.bincount(file, minlength=files)
    assert layout.files == files
    assert counts.min() >= 0.7 * ROWS / files
    assert counts.max() <= 1.3 * ROWS / files
    # No file can touch fewer than its share of the boxes.
    assert 64 / files <= touched(new, file, there) < 0.9 * touched(new, own, there)


def test_rows_later_than_all_boxes_are_cut_by_the_other_column() -> None:
    rng = np.random.default_rng(1)
    old = rng.integers(0, 10**6, ROWS), rng.integers(0, 10**6, ROWS)
    new = rng.integers(0, 10**6, ROWS), rng.integers(10**6, 10**6 + 2 * 10**4, ROWS)
    there = boxes(old, fit(COLUMNS, sample(*old), LayoutRequest(16)).file(sample(*old)))
    file = fit_appended(COLUMNS, sample(*new), LayoutRequest(8), there).file(sample(*new))
    lower, upper = bounds(new, file)
    # Filters on b skip all of the rows or none, so a file has an eighth of a.
    assert np.all(upper[0] - lower[0] < 0.2 * 10**6)


TEXTS = [f"{'common prefix ' if i % 2 else ''}{i % 37}" for i in range(500)]


@pytest.mark.parametrize("leading", [(), ((False, False),), ((True, True),)])
def test_every_order_and_state_has_a_file(leading: tuple[tuple[bool, bool], ...]) -> None:
    rng = random.Random(3)
    texts: list[Any] = [rng.choice([*TEXTS, None]) for _ in range(3000)]
    floats = [rng.choice([float("nan"), None, *range(40)]) for _ in range(3000)]
    of_rows = Sample((encode(pa.array(texts), "string"), encode(pa.array(floats, pa.float64()), "double")))
    kinds = [ClusteringColumn(("s",), "string"), ClusteringColumn(("f",), "double")]
    request = LayoutRequest(6, leading_orders=leading)
    old = fit(kinds, of_rows, request).file(of_rows, np.arange(3000))
    lower: list[tuple[str, float]] = []
    upper: list[tuple[str, float]] = []
    for text, number in zip(texts, floats, strict=True):
        valued = text is not None and number is not None and number == number
        if valued and len(lower) < 6:
            lower.append((text, float(number)))
            upper.append((text + "~", float(number) + 5))
    ends = [
        (encode(pa.array([each[0] for each in end]), "string"), encode(pa.array([each[1] for each in end]), "double"))
        for end in (lower, upper)
    ]
    layout = fit_appended(kinds, of_rows, request, Boxes(ends[0], ends[1], np.arange(1, 7)))
    assert isinstance(layout.cuts, BoxTree)
    file = layout.file(of_rows, np.arange(3000))
    assert len(old) == len(file)
    assert set(file.tolist()) == set(range(layout.files))


@pytest.mark.parametrize("sizes", [[], [0], [9], [10], [10, 35, 100], [20] * 10, [10**6] * 16, [10**12]])
def test_few_partitions_get_a_file_for_each_least_size(sizes: list[int]) -> None:
    assert append_files(sizes, least=10, target=500) == [max(1, size // 10) for size in sizes]


@pytest.mark.parametrize("sizes", [[0] * 17, [20] * 1000, [1000] * 100, [10**6] * 24, [10**6, *[5] * 100]])
def test_many_partitions_get_a_quarter_more_files_at_most(sizes: list[int]) -> None:
    files = append_files(sizes, least=10, target=500)
    assert all(1 <= count <= max(1, size // 10) for count, size in zip(files, sizes, strict=True))
    without = sum(max(1, -(-size // 500)) for size in sizes)
    assert without <= sum(files) <= without + max(16, without // 4)
