"""The benchmark of tables that grow: what it measures by, what it keeps, and the page, from made-up figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.upkeep.delta_log import delta_files
from benchmarks.upkeep.figures import ICEBERG, OURS, Figures, Files, History, Step, scan_fractions
from benchmarks.upkeep.page import page
from benchmarks.upkeep.rows import BASE_PARTS, VALUES_OF_A_PART, values_after


def step(number: int, scan: float, written: int, full: float | None = None, predicted: float | None = None) -> Step:
    columns = {"a": scan - 0.02, "b": scan + 0.02}
    of_full = None if full is None else {"a": full, "b": full}
    told = None if predicted is None else {"a": predicted, "b": predicted}
    before = {"a": 0.5, "b": 0.5}
    return Step(
        number, str(number), 1_000, before, columns, written, written, 60 + number, 0, of_full, told, 0, "it pays"
    )


def made_up() -> Figures:
    ours = [step(0, 0.1, 1_000, 0.1), step(1, 0.11, 60, None, 0.1), step(2, 0.13, 20, 0.1, 0.104)]
    theirs = [step(0, 0.4, 1_000, 0.4), step(1, 0.5, 10), step(2, 0.5, 30, 0.4)]
    histories = [History("events", OURS, 30, ours), History("events", ICEBERG, 30, theirs)]
    return Figures(3_000, 2, "a machine", histories)


def test_scan_fraction_of_every_value_looked_for() -> None:
    rng = np.random.default_rng(5)
    lower = rng.integers(0, 100, 30)
    upper = lower + rng.integers(0, 40, 30)
    sizes = rng.integers(1, 1_000, 30)
    values = rng.integers(0, 140, 200)
    files = Files({str(i): int(size) for i, size in enumerate(sizes)}, {"a": lower}, {"a": upper})
    met = [sizes[(lower <= value) & (value <= upper)].sum() / sizes.sum() for value in values]
    assert scan_fractions(files, {"a": values})["a"] == pytest.approx(np.mean(met))


def test_page_holds_figures_against_promises() -> None:
    text = page(made_up())
    assert "| events | reads after each run, beside a full rewrite | 1.25x | 1.300x | **does not hold** |" in text
    assert "| events | the mean of these | 1.15x | 1.200x | **does not hold** |" in text
    assert "| events | written, beside rewriting everything each time | 0.10x | 0.040x | holds |" in text
    assert f"| events | {OURS} | 2 | 12.0% | 1.20x | 1.30x | 0.040x | 60, 62 |  |" in text
    assert f"| events | {ICEBERG} | 2 | 50.0% | 5.00x | 5.00x | 0.020x | 60, 62 |  |" in text
    assert "| events | Iceberg zorder, rewrite-all | 2 | 40.0% | 4.00x | 4.00x | 1.000x |  |  |" in text
    assert "off by 4.0% at most" in text
    assert "| 1 | 50.00% | 11.00% | 10.00% predicted | 1.100x | 0.0 | 6.0% | 61 | it pays |" in text
    assert "these have 0 MB" in text


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
