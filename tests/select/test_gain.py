"""Which files of a partition are chosen, by bounds and sizes that nobody wrote."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.metrics.scan_cost import ideal_file_size
from iceberg_zorder.select.gain import Choice, UpkeepRequest, choose

MIB = 1024**2


def choice(
    boxes: Sequence[tuple[int, int, int, int]],
    size: int,
    target: int,
    open_cost: int = 4 * MIB,
    *,
    is_called: bool = False,
) -> Choice:
    """Choose among files of a size, each a box of user and ts."""
    users, times, last_users, last_times = (
        encode(pa.array(each, pa.int64()), "long") for each in zip(*boxes, strict=True)
    )
    count = len(boxes)
    columns = tuple(
        ColumnBounds(ClusteringColumn((name,), "long"), lower, upper, np.ones(count))
        for name, lower, upper in (("user", users, last_users), ("ts", times, last_times))
    )
    files = DataFiles(np.zeros(count, int), np.full(count, 100_000), np.full(count, size), columns)
    request = UpkeepRequest(1.2, 0, FileSizes.around(target), LayoutRequest(1), [None] * 2, [1.0] * 2, open_cost)
    return choose(files, np.full(count, is_called), np.zeros(count, bool), 10**15, 10_000, request)


@pytest.mark.parametrize(("open_cost", "chosen"), [(4 * MIB, []), (1, [0])])
def test_a_table_of_10_mb_in_one_file_is_done_because_files_cost_to_open(open_cost: int, chosen: list[int]) -> None:
    size, target = 10_000_000, ideal_file_size(10_000_000, 2, open_cost)
    assert choice([(0, 0, 10**6, 10**6)], size, target, open_cost, is_called=True).files.tolist() == chosen


def test_a_file_that_nothing_calls_for_is_left() -> None:
    assert choice([(0, 0, 10**6, 10**6)], 10_000_000, 100_000, 1).files.tolist() == []


def test_time_pays_for_users_if_filters_cost_less_on_average() -> None:
    days = [(0, 1_000 * day, 10**6, 1_000 * day + 999) for day in range(64)]
    found = choice(days, 32 * MIB, 128 * MIB)
    assert len(found.files) == 64
    assert found.expected == found.attainable < 0.5 * found.today
    assert not found.is_within


@pytest.mark.parametrize(("days", "chosen"), [(3, 0), (4, 3)])
def test_a_column_has_a_limit_of_its_own(days: int, chosen: int) -> None:
    """New files span all users, but few times: filters on times cost less for them, so that the average hides them."""
    clustered = [(125_000 * i, 1_000 * j, 125_000 * i + 124_999, 1_000 * j + 999) for i in range(8) for j in range(8)]
    new = [(0, 8_000 + 100 * day, 10**6, 8_000 + 100 * day + 99) for day in range(days)]
    found = choice(clustered + new, 32 * MIB, 32 * MIB)
    assert found.today < 1.2 * found.attainable
    assert (found.is_within, len(found.files)) == (not chosen, chosen)


@pytest.mark.parametrize("batches", [2, 4, 8, 10])
@pytest.mark.parametrize("must_rewrite", [False, True])
def test_no_set_is_chosen_that_costs_more(batches: int, must_rewrite: bool) -> None:
    """Appends with a batch of their own: only users are above their limit, while all together cost less than attainable."""
    clustered = [(15_625 * i, 0, 15_625 * i + 15_624, 0) for i in range(64)]
    boxes = clustered + [(0, batch, 10**6, batch) for batch in range(1, batches + 1) for _ in range(4)]
    users, times, last_users, last_times = (
        encode(pa.array(each, pa.int64()), "long") for each in zip(*boxes, strict=True)
    )
    sizes = np.array([65_536] * 64 + [20_000] * (len(boxes) - 64))
    columns = tuple(
        ColumnBounds(ClusteringColumn((name,), "long"), lower, upper, np.ones(len(boxes)))
        for name, lower, upper in (("user", users, last_users), ("batch", times, last_times))
    )
    files = DataFiles(np.zeros(len(boxes), int), sizes // 13, sizes, columns)
    request = UpkeepRequest(1.2, 5, FileSizes.around(65_536), LayoutRequest(1), [None] * 2, [1.0] * 2, 8_192)
    required = np.zeros(len(boxes), bool)
    required[0] = must_rewrite
    found = choose(files, (sizes < 49_152) | required, required, 2**63 - 1, 12_800, request)
    assert 0 < len(found.files) < len(boxes)
    assert found.expected < found.today
