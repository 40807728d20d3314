"""However large rows lie, no more bytes are sorted or written together than the budget has room for."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from iceberg_zorder.sort.bucket_sorter import BucketSorter, PrefixColumns, SortKey, sort_permutation
from iceberg_zorder.sort.codecs import Codecs
from iceberg_zorder.sort.memory_budget import MemoryBudget
from iceberg_zorder.sort.spill import Spill, parted

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.large_string())])
LIMIT = 1_000_000
RANGES = 4
SMALL, LARGE = 20_000, 200
ROWS = SMALL + LARGE


class Sink:
    """Keeps the ids of row groups, and their bytes."""

    row_group_rows = 5000

    def __init__(self) -> None:
        self.ids: list[list[int]] = []
        self.sizes: list[int] = []

    def write(self, batches: list[pa.RecordBatch]) -> None:
        if batches:
            self.ids.append([each for batch in batches for each in batch.column(0).to_pylist()])
            self.sizes.append(sum(batch.nbytes for batch in batches))


def spilled(spill: Spill, codecs: Codecs, index: npt.NDArray[np.int64], ranges: npt.NDArray[np.int64]) -> None:
    """Add small rows to a bucket, then large ones, some at a time."""
    ids = np.arange(ROWS)
    for places in [*np.split(ids[:SMALL], 4), *np.split(ids[SMALL:], 50)]:
        texts = [("x" if place < SMALL else "y" * 20_000) + str(place) for place in places.tolist()]
        batch = pa.record_batch([pa.array(places), pa.array(texts, pa.large_string())], schema=SCHEMA)
        spill.add(parted(codecs.encoded(batch), index[places], ranges[places], spill.ranges))
    spill.complete()


@pytest.fixture
def sorted_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes are sorted at a time."""
    found: list[int] = []
    sort = BucketSorter._sort

    def noted(self: BucketSorter, parts: Any, *arguments: Any) -> None:
        found.append(sum(column.nbytes for columns, _ in parts for column in columns))
        sort(self, parts, *arguments)

    monkeypatch.setattr(BucketSorter, "_sort", noted)
    return found


def test_large_rows_that_lie_together(tmp_path: Path, sorted_sizes: list[int]) -> None:
    # All large rows are in the first range, which has few rows more than the others.
    index = np.concatenate([np.arange(SMALL) + LARGE, np.random.default_rng(1).permutation(LARGE)])
    codecs, budget, sink = Codecs(SCHEMA), MemoryBudget(LIMIT), Sink()
    with Spill(budget, codecs, tmp_path, RANGES) as spill:
        spilled(spill, codecs, index, index * RANGES // ROWS)
        assert max(spill.buckets[0].size_of_range) == spill.buckets[0].size_of_range[0] > LARGE * 20_000
        BucketSorter(codecs, PrefixColumns(), budget).write_bucket(spill, 0, sink)
    assert np.concatenate(sink.ids).tolist() == np.argsort(index).tolist()
    assert max(sink.sizes) <= LIMIT // 4
    assert max(sorted_sizes) <= LIMIT // 2
    assert budget.peak <= LIMIT
    assert budget.used == 0


def test_large_rows_among_those_of_a_bucket_in_memory(sorted_sizes: list[int]) -> None:
    index = np.concatenate([np.arange(SMALL) + LARGE, np.arange(LARGE)])
    codecs, budget, sink = Codecs(SCHEMA), MemoryBudget(12 * LIMIT), Sink()
    with Spill(budget, codecs) as spill:
        spilled(spill, codecs, index, np.zeros(ROWS, np.int64))
        BucketSorter(codecs, PrefixColumns(), budget).write_bucket(spill, 0, sink)
        assert not spill.flushes
    assert len(sorted_sizes) == 1
    assert np.concatenate(sink.ids).tolist() == np.argsort(index).tolist()
    assert max(sink.sizes) <= budget.limit // 4
    # Where rows are small their number ends a row group.
    assert [len(ids) for ids in sink.ids][2:-1] == [Sink.row_group_rows] * (len(sink.ids) - 3)


def test_large_rows_that_are_alike_in_their_keys(tmp_path: Path) -> None:
    codecs, budget, sink = Codecs(SCHEMA), MemoryBudget(LIMIT), Sink()
    with Spill(budget, codecs, tmp_path) as spill:
        spilled(spill, codecs, np.full(ROWS, 7), np.zeros(ROWS, np.int64))
        BucketSorter(codecs, PrefixColumns(), budget).write_bucket(spill, 0, sink)
    assert sorted(np.concatenate(sink.ids).tolist()) == list(range(ROWS))
    assert max(sink.sizes) <= LIMIT // 4
    assert budget.used == 0


def test_a_row_larger_than_a_row_group_is_one(tmp_path: Path) -> None:
    codecs, budget, sink = Codecs(SCHEMA), MemoryBudget(30_000), Sink()
    with Spill(budget, codecs, tmp_path) as spill:
        spilled(spill, codecs, np.arange(ROWS), np.zeros(ROWS, np.int64))
        BucketSorter(codecs, PrefixColumns(), budget).write_bucket(spill, 0, sink)
    assert np.concatenate(sink.ids).tolist() == list(range(ROWS))
    assert [len(ids) for ids, size in zip(sink.ids, sink.sizes, strict=True) if size > 30_000 // 4] == [1] * LARGE


def test_what_is_spilled_is_read_in_small_pieces(tmp_path: Path) -> None:
    index = np.concatenate([np.arange(SMALL) + LARGE, np.arange(LARGE)])
    codecs, budget = Codecs(SCHEMA), MemoryBudget(LIMIT)
    with Spill(budget, codecs, tmp_path, RANGES) as spill:
        spilled(spill, codecs, index, index * RANGES // ROWS)
        bucket = spill.pop(0)
        pieces = [sum(column.nbytes for column in columns) for columns, _ in spill.read(bucket)]
    assert max(pieces) <= LIMIT // 16
    assert sum(pieces) > LARGE * 20_000


@pytest.mark.parametrize("keys", [1, 2])
def test_rows_with_equal_keys_keep_their_order(keys: int) -> None:
    values = np.random.default_rng(0).integers(0, 50, 20_000)
    order = sort_permutation([SortKey(values)] * keys)
    assert order.tolist() == np.argsort(values, kind="stable").tolist()
