"""The simulation of tables that are larger than one job, small."""

import numpy as np
import pytest

from benchmarks.upkeep import large_tables as large


def test_groups_along_narrow_columns_hardly_cost_more_than_one_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "_ROWS", 40_000)
    case = large.Case(2, 32 * large.GIB)
    found = dict(large.passes(case, (case.target,), case.target // 2))
    spanning, times = ({each.name: each.cost_after(1) for each in found[name]} for name in found)
    one, own = spanning[large.ONE_JOB], spanning[f"{large.OWN}, {case.target // large.MIB} MiB"]
    assert own > 2 * one
    assert spanning[large.NARROW] < 1.25 * one
    assert times[large.WEIGHTED] < 1.1 * one
    assert times[large.WEIGHTED] < times[large.TIMES]


def test_groups_are_even_and_follow_the_column_that_fewest_bytes_span() -> None:
    files = large.Case(2, large.GIB).today(is_time_ordered=True)
    groups = large.groups_of(files, large.TIB)
    assert {len(each) for each in groups} == {1024}
    assert all((np.diff(each) == 1).all() for each in groups)


def test_a_killed_rewrite_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "_ROWS", 40_000)
    case = large.Case(2, 32 * large.GIB)
    spanning = dict(large.passes(case, (), case.target))[large.SPANNING]
    own = spanning[1]
    for groups in (2, 6):
        call = large.next_call(case, own, groups)
        assert call.chosen == pytest.approx((10 - groups) * large.TIB, rel=0.1)
        assert (call.again, call.expected < 1.5 * own.cost_after(1)) == (0, True)
