"""Halves of a workload."""

from __future__ import annotations

import random

import pytest

from iceberg_zorder.advice.judged_queries import JudgedQuery, halves
from iceberg_zorder.workload.boxes.box import Box
from iceberg_zorder.workload.boxes.key_ranges import KeyRange

BOX = Box.of({("a",): KeyRange((0, 1), (0, 2))})


def query(text: str, weight: float, *kinds: str) -> JudgedQuery:
    return JudgedQuery(text, weight, (BOX,), tuple(((kind,), "=") for kind in kinds))


def test_no_filter_is_in_both_and_all_shapes_are() -> None:
    queries = [query(f"{kind}{number}", float(number), kind) for kind in "abc" for number in range(1, 21)]
    choosing, judging = halves(queries)
    assert {each.filter for each in choosing} | {each.filter for each in judging} == {each.filter for each in queries}
    assert not {each.filter for each in choosing} & {each.filter for each in judging}
    for kind in "abc":
        one, other = (sum(each.weight for each in half if each.kinds[0][0] == (kind,)) for half in (choosing, judging))
        assert one == pytest.approx(other)


def test_what_comes_again_is_in_both_halves() -> None:
    rare = [query(f"a{number}", 1.0, "a") for number in range(20)]
    again = [query("often", 9.0, "a"), query("alone", 3.0, "b")]
    choosing, judging = halves([*rare, *again])
    assert {each.filter for each in choosing} & {each.filter for each in judging} == {"often", "alone"}
    assert [sum(each.weight for each in half) for half in (choosing, judging)] == pytest.approx([16.0, 16.0])
    assert [sorted({each.weight for each in half}) for half in (choosing, judging)] == [[1.0, 1.5, 4.5]] * 2


def test_the_order_of_queries_does_not_count() -> None:
    queries = [query(f"{number}", 1.0, "ab"[number % 2]) for number in range(31)]
    shuffled = random.Random(1).sample(queries, len(queries))
    assert halves(queries) == halves(shuffled)


def test_full_scans_are_in_neither_and_one_query_is_in_both() -> None:
    full = JudgedQuery("TRUE", 5.0, (Box(()),), ())
    one = query("a = 1", 1.0, "a")
    assert [[each.filter for each in half] for half in halves([full, one])] == [["a = 1"], ["a = 1"]]
    assert halves([full]) == ([], [])
