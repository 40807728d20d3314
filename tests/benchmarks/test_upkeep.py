"""The benchmark of tables that grow: what it measures by."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.upkeep.delta_log import delta_files
from benchmarks.upkeep.figures import Files, scan_fractions
from benchmarks.upkeep.rows import BASE_PARTS, VALUES_OF_A_PART, values_after


def test_scan_fraction_of_every_value_looked_for() -> None:
    rng = np.random.default_rng(5)
    lower = rng.integers(0, 100, 30)
    upper = lower + rng.integers(0, 40, 30)
    sizes = rng.integers(1, 1_000, 30)
    values = rng.integers(0, 140, 200)
    files = Files({str(i): int(size) for i, size in enumerate(sizes)}, {"a": lower}, {"a": upper})
    met = [sizes[(lower <= value) & (value <= upper)].sum() / sizes.sum() for value in values]
    assert scan_fractions(files, {"a": values})["a"] == pytest.approx(np.mean(met))


def test_delta_log_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()

    def added(path: str, size: int, low: object, high: object) -> dict[str, object]:
        bounds = {"minValues": {"a": 1, "ts": low}, "maxValues": {"a": 7, "ts": high}}
        return {"add": {"path": path, "size": size, "stats": json.dumps({"numRecords": 5, **bounds})}}

    first = [{"commitInfo": {}}, added("x", 10, "1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.000Z")]
    second = [
        {"remove": {"path": "x"}},
        added("y", 20, "1970-01-01T00:00:03.005Z", "1970-01-01T00:00:04.000Z"),
    ]
    for number, version in enumerate((first, second)):
        log = tmp_path / "_delta_log" / f"{number:020d}.json"
        log.write_text("\n".join(json.dumps(action) for action in version))
    files = delta_files(tmp_path, ("a", "ts"))
    assert files.sizes == {"y": 20}
    assert (files.lower["a"].tolist(), files.upper["a"].tolist()) == ([1], [7])
    assert files.lower["ts"].tolist() == [3_005_000]
    # Bounds of timestamps are cut to milliseconds: the last microsecond of one may be meant.
    assert files.upper["ts"].tolist() == [4_000_999]


def test_values_are_of_the_rows_that_are_there() -> None:
    parts = [{"a": np.full(VALUES_OF_A_PART, number)} for number in range(BASE_PARTS + 3)]
    appended = values_after(2, parts, merges=False)["a"]
    assert (len(appended), appended.max()) == ((BASE_PARTS + 2) * VALUES_OF_A_PART, BASE_PARTS + 1)
    merged = values_after(6, parts, merges=True)["a"]
    assert len(merged) == (BASE_PARTS + 1) * VALUES_OF_A_PART + VALUES_OF_A_PART // 2
    assert merged.max() == BASE_PARTS + 1
