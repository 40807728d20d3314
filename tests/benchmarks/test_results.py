from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.layouts import KD_TREE, OURS
from benchmarks.results import MemoryResult, PageFilterResult, PruningResult, Results
from tests.benchmarks.made_up import good


def test_json_round_trip(tmp_path: Path) -> None:
    results = good()
    failed = PruningResult("uniform", "broken", error="Error: no “such” thing")
    results = replace(
        results,
        pruning=(*results.pruning, failed),
        page_filters=(PageFilterResult("store_sales", OURS, "ss_customer_sk", 600, 97.5, None),),
        memory=MemoryResult(1 << 30, 10 << 30, 80, 10**8, unchanged=True, cost=results.costs[0].cost),
    )
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results


def test_nothing_makes_the_round_trip_too(tmp_path: Path) -> None:
    Results({}, (), ()).write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == Results({}, (), ())


def test_names_are_in_order_and_failures_are_not_found() -> None:
    failed = PruningResult("b", OURS, error="no")
    found = PruningResult("b", KD_TREE, files=2)
    results = Results({}, (PruningResult("a", KD_TREE), found, failed), ())
    assert results.sets() == ["a", "b"]
    assert results.layouts() == [KD_TREE, OURS]
    assert results.of("b", KD_TREE) is found
    assert results.of("b", OURS) is None
    assert results.of("a", OURS) is None
