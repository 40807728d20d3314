"""What has no room in memory is written to disk, whatever is left there already."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from iceberg_zorder.rows.buckets import parted
from iceberg_zorder.rows.codecs import Codecs
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.spill import Spill


def test_room_is_made_of_the_bucket_that_is_wanted_if_no_other_has_rows_in_memory(tmp_path: Path) -> None:
    budget = MemoryBudget(10_000)
    with Spill(budget, Codecs(pa.schema([("a", pa.int64())])), str(tmp_path)) as spill:
        rows = np.arange(200)
        spill.add(parted([pa.array(rows)], rows, rows % 2))
        spill.complete()
        spill.flush(0)
        assert (spill.bucket(0).in_memory, spill.bucket(1).in_memory) == (0, spill.in_memory)
        assert spill.in_memory > 0
        budget.take(8_000)
        assert spill.make_room_for(1, lambda bucket: 10_000 - bucket.in_memory)
        assert spill.in_memory == 0
        assert spill.bucket(1).is_spilled
        budget.give_back(8_000)
    assert budget.used == 0
