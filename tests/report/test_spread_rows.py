"""Rows that are spread between bounds: judged by the values that their keys stand for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.report.spread_rows import spread_rows

ROWS = 1000


def spread(type_name: str, lower: pa.Array, upper: pa.Array) -> Any:
    """Spread rows between the bounds of one file; their keys."""
    bounds = ColumnBounds(
        ClusteringColumn(("a",), type_name), encode(lower, type_name), encode(upper, type_name), np.ones(1)
    )
    one = np.ones(1, np.int64)
    sample, _ = spread_rows(DataFiles(np.zeros(1, np.int64), ROWS * one, one, (bounds,)), ROWS)
    return sample.columns[0].keys


@pytest.mark.parametrize("precision", [19, 38])
def test_wide_decimals_are_spread_evenly_around_zero(precision: int) -> None:
    kind = pa.decimal128(precision, 2)
    ends = (pa.array([Decimal(each)], kind) for each in ("-10000.00", "10000.00"))
    keys = spread(f"decimal({precision}, 2)", *ends).to_pylist()
    assert {len(key) for key in keys} == {16}
    values = sorted(int.from_bytes(key, "big") - (1 << 127) for key in keys)
    assert -1_000_000 <= values[0] <= values[-1] <= 1_000_000
    for tenth in range(1, 10):
        assert abs(values[ROWS * tenth // 10] - (200_000 * tenth - 1_000_000)) < 10_000


def test_half_of_what_lies_between_infinities_is_above_zero() -> None:
    keys = spread("double", pa.array([-np.inf]), pa.array([np.inf])).tolist()
    assert 0.45 * ROWS < sum(key > 0 for key in keys) < 0.55 * ROWS
    assert len(set(keys)) > 0.9 * ROWS
