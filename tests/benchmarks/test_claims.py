from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmarks.claims import Claim, claims
from benchmarks.layouts import (
    BIN_PACK,
    DELTA_ZORDER,
    ICEBERG_HILBERT,
    ICEBERG_SORT,
    ICEBERG_ZORDER,
    KD_TREE,
    LIQUID,
    LIQUID_SORTED,
    OURS,
)
from benchmarks.results import PruningResult, Results
from benchmarks.sets import SETS
from tests.benchmarks.made_up import ZAMBONI, cost, good, measured, scanned, with_costs, with_pruning


def by_text(results: Results) -> dict[str, Claim]:
    return {claim.text: claim for claim in claims(results)}


def not_holding(results: Results) -> set[str]:
    return {claim.text for claim in claims(results) if claim.holds is not True}


def everywhere(layout: str, *, files: float = 50, row_groups: float = 30, pages: float = 12.5) -> Results:
    changed = [measured(of.name, layout, files=files, row_groups=row_groups, pages=pages) for of in SETS]
    return with_pruning(good(), *changed)


def test_all_hold() -> None:
    found = claims(good())
    assert len(found) == len({claim.text for claim in found}) == 21
    assert [claim for claim in found if claim.holds is not True] == []
    assert all(claim.figures for claim in found)


def test_nothing_is_measured() -> None:
    found = claims(Results({}, (), ()))
    assert {claim.holds for claim in found} == {None}
    assert {claim.verdict for claim in found} == {"not measured"}
    assert [claim.text for claim in found] == [claim.text for claim in claims(good())]


@pytest.mark.parametrize(
    ("results", "failing"),
    [
        (everywhere(ICEBERG_ZORDER, files=39), {"Files: on average at most half of Iceberg zorder"}),
        (everywhere(ICEBERG_HILBERT, row_groups=12), {"Row groups: on average below Iceberg hilbert"}),
        (everywhere(ICEBERG_HILBERT, pages=5), {"Pages: on average below Iceberg hilbert"}),
        (everywhere(DELTA_ZORDER, row_groups=12), {"Row groups: on average below Delta zorder"}),
        (everywhere(DELTA_ZORDER, pages=5), {"Pages: on average below Delta zorder"}),
        (everywhere(ZAMBONI, row_groups=12), {"Row groups: on average below zamboni"}),
        (everywhere(ZAMBONI, pages=5), {"Pages: on average below zamboni"}),
        (everywhere(LIQUID_SORTED, row_groups=12), set()),
        (
            everywhere(LIQUID_SORTED, row_groups=11.9),
            {"Row groups: on average no higher than Delta liquid with sorted files"},
        ),
        (everywhere(LIQUID_SORTED, pages=4.9), {"Pages: on average no higher than Delta liquid with sorted files"}),
        (everywhere(ICEBERG_ZORDER, row_groups=10.1), set()),
        (everywhere(ICEBERG_ZORDER, row_groups=9.9), {"Row groups: at most 2 points above Iceberg zorder on any set"}),
        (everywhere(ICEBERG_ZORDER, pages=2.9), {"Pages: at most 2 points above Iceberg zorder on any set"}),
    ],
)
def test_averages_and_points(results: Results, failing: set[str]) -> None:
    assert not_holding(results) == failing
    assert all(claim.holds is False for claim in claims(results) if claim.text in failing)


def test_sets_where_a_promise_fails_are_named() -> None:
    results = with_pruning(
        good(), *(measured(name, LIQUID, files=19, row_groups=30, pages=12.5) for name in ("uniform", "geo"))
    )
    claim = by_text(results)["Files: below Delta liquid on every set"]
    assert claim.holds is False
    assert claim.verdict == "does not hold"
    assert claim.figures.startswith("equality at worst 1.053x, on uniform (not on uniform, geo); all classes at worst")


@pytest.mark.parametrize(
    ("name", "files", "failing"),
    [
        ("iot", 19.9, set()),
        ("iot", 18.0, {"Files: at most 5% above the k-d tree on any set"}),
        ("geo", 20.0, {"Files: below the k-d tree on every skewed set"}),
    ],
)
def test_the_k_d_tree(name: str, files: float, failing: set[str]) -> None:
    results = with_pruning(good(), PruningResult(name, KD_TREE, files=32, by_files=scanned(files)))
    assert not_holding(results) == failing
    assert all(name in by_text(results)[text].figures for text in failing)


def test_on_average_no_higher_than_the_k_d_tree() -> None:
    changed = [PruningResult(of.name, KD_TREE, files=32, by_files=scanned(19.99)) for of in SETS]
    assert "Files: on average no higher than the k-d tree of all rows" in not_holding(with_pruning(good(), *changed))


def test_a_promise_is_for_equality_and_for_all_classes() -> None:
    ours = good().of("uniform", OURS)
    assert ours is not None
    assert ours.by_files is not None
    for worse in (replace(ours.by_files, equality=60.0), replace(ours.by_files, ranges=(90.0, 95.0))):
        results = with_pruning(good(), replace(ours, by_files=worse))
        claim = by_text(results)["Files: below Delta liquid on every set"]
        assert claim.holds is False
        assert "equality" in claim.figures
        assert "all classes" in claim.figures


def test_file_counts() -> None:
    text = "File counts: those of all layouts but bin-pack within 10% of each other, on every set"
    more = good().of("geo", LIQUID)
    packed = good().of("geo", BIN_PACK)
    assert more is not None
    assert packed is not None
    assert by_text(with_pruning(good(), replace(packed, files=60)))[text].holds is True
    assert by_text(with_pruning(good(), replace(more, files=35)))[text].holds is True
    claim = by_text(with_pruning(good(), replace(more, files=36)))[text]
    assert claim.holds is False
    assert claim.figures == "at worst 32 to 36 files, on geo (not on geo)"


def test_without_zamboni_it_is_not_measured() -> None:
    results = good()
    results = replace(results, pruning=tuple(each for each in results.pruning if each.layout != ZAMBONI))
    assert not_holding(results) == {"Row groups: on average below zamboni", "Pages: on average below zamboni"}
    assert by_text(results)["Pages: on average below zamboni"].holds is None


def test_a_rival_that_fails_is_left_out_by_name() -> None:
    results = with_pruning(good(), PruningResult("mixed", ICEBERG_HILBERT, error="no"))
    claim = by_text(results)["Pages: on average below Iceberg hilbert"]
    assert claim.holds is True
    assert claim.figures.endswith("; without mixed")


def test_our_own_failure_keeps_no_promise() -> None:
    results = with_pruning(good(), PruningResult("mixed", OURS, error="no"))
    found = claims(results)
    pruning = [claim for claim in found if claim.text.startswith(("File", "Row", "Pages"))]
    assert {claim.holds for claim in pruning} == {None}


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        (lambda name: cost(name, ICEBERG_ZORDER, cpu=17.7, wall=15), {"CPU: on average at most 0.45x Iceberg zorder"}),
        (lambda name: cost(name, BIN_PACK, cpu=5.3, wall=3), {"CPU: on average at most 1.5x Iceberg bin-pack"}),
        (lambda name: cost(name, ICEBERG_SORT, cpu=8.0, wall=6), set()),
        (lambda name: cost(name, ICEBERG_SORT, cpu=7.9, wall=6), {"CPU: on average not above Iceberg sort"}),
        (
            lambda name: cost(name, ICEBERG_ZORDER, cpu=30, wall=8.8),
            {"Wall time: on average at most 0.45x Iceberg zorder"},
        ),
        (lambda name: cost(name, OURS, cpu=8, wall=4, read=1.4), {"Bytes read: on average at most 1.3x the table"}),
    ],
)
def test_costs(changed: Callable[[str], object], failing: set[str]) -> None:
    results = with_costs(good(), *(changed(name) for name in ("uniform", "iot")))  # type: ignore[arg-type]
    assert not_holding(results) == failing


def test_costs_are_averages_of_ratios_and_name_the_worst_set() -> None:
    results = with_costs(good(), cost("iot", OURS, cpu=18.0, wall=4))
    claim = by_text(results)["CPU: on average at most 0.45x Iceberg zorder"]
    assert claim.holds is True
    assert claim.figures == "0.433x on average, at worst 0.600x, on iot (not on iot)"
