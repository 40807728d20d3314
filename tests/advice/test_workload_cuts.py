"""Cuts from the workload among the candidates: what they are worth, and that they are not chosen for what they know."""

import numpy as np
import pyarrow as pa
import pytest

from iceberg_zorder.advice.advise import best_of
from iceberg_zorder.advice.candidates import candidates_of
from iceberg_zorder.advice.compression import Compression
from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.advice.simulation import Simulation
from iceberg_zorder.advice.workload_cuts import WorkloadCuts, workload_cuts
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.rewrite.predicate import parse_predicate
from iceberg_zorder.workload.boxes import boxes_of

ROWS, FILES = 6_000, 24
COLUMNS = tuple(ClusteringColumn((name,), "long") for name in "abc")
TYPES = {column.parts: "long" for column in COLUMNS}


def table(groups: int = 1) -> SampledTable:
    """Rows by chance; of several groups column a tells them apart, as a partition's column does."""
    rng = np.random.default_rng(1)
    of_groups = np.full(groups, ROWS // groups)
    rows = np.arange(ROWS) // (ROWS // groups)
    values = [rng.integers(0, 10_000, ROWS) if groups == 1 else rows, *rng.integers(0, 10_000, (2, ROWS))]
    sample = Sample(tuple(encode(pa.array(each), "long") for each in values))
    return SampledTable(COLUMNS, sample, (None,) * 3, (True,) * 3, rows, of_groups, of_groups * 100)


def query(text: str) -> JudgedQuery:
    kinds = tuple(((name,), "range") for name in "abc" if name in text)
    return JudgedQuery(text, 1.0, boxes_of(parse_predicate(text), TYPES), kinds)


def windows(most: int, count: int = 60, seed: int = 2) -> list[JudgedQuery]:
    starts = np.random.default_rng(seed).integers(0, most, (count, 2)).tolist()
    return [query(f"a BETWEEN {a} AND {a + 40} AND b BETWEEN {b} AND {b + 40}") for a, b in starts]


def simulation(rows: SampledTable, queries: list[JudgedQuery]) -> Simulation:
    today = np.full(len(queries), float(rows.bytes))
    return Simulation(rows, queries, today, 1.0, Compression(None))


def test_where_queries_are_files_are_small_and_that_is_chosen() -> None:
    judge = simulation(rows := table(), windows(1_000))
    (cuts,) = workload_cuts(rows, judge.queries, FILES)
    target = rows.bytes // FILES
    judged = [
        layout for _, layout in judge.best_first([*candidates_of(rows, judge.queries, target), cuts], lambda _: target)
    ]
    best = best_of(judged)
    assert best is not None
    assert (best.kind, set(best.columns), best.layout[:9]) == ("workload", {"a", "b"}, "workload(")
    assert best.bytes_per_query < 0.8 * min(each.bytes_per_query for each in judged if each.is_set)


def test_what_is_known_by_heart_has_no_part_in_the_choice() -> None:
    judge = simulation(rows := table(), windows(9_900))
    (cuts,) = workload_cuts(rows, judge.queries, FILES)
    judged = judge.judged(cuts, rows.bytes // FILES)
    by_heart = judge.judged(WorkloadCuts(cuts.columns, cuts.queries), rows.bytes // FILES)
    assert by_heart.chosen_by_cost < 0.95 * judged.chosen_by_cost
    others = simulation(rows, windows(9_900, seed=5)).judged(
        WorkloadCuts(cuts.columns, cuts.queries), rows.bytes // FILES
    )
    assert judged.bytes_per_query == pytest.approx(others.bytes_per_query, rel=0.15)
    unseen = [judge.queries[place] for fold in cuts.folds for place in fold.unseen.tolist()]
    assert sorted(each.filter for each in unseen) == sorted(each.filter for each in judge.queries)
    for fold in cuts.folds:
        assert isinstance(fold.candidate, WorkloadCuts)
        assert not {judge.queries[place] for place in fold.unseen.tolist()} & set(fold.candidate.queries)


def test_one_query_is_nothing_to_cut_for() -> None:
    assert list(workload_cuts(table(), [query("a < 100")], FILES)) == []


def test_a_group_is_cut_for_the_queries_that_may_find_rows_in_it() -> None:
    rows = table(groups=2)
    mine = [query(f"a = 1 AND b BETWEEN {start} AND {start + 50}") for start in range(0, 1_000, 50)]
    others = [query(f"a = 0 AND c BETWEEN {start} AND {start + 50}") for start in range(0, 9_000, 300)]
    judge = simulation(rows, mine)
    for_all, for_mine, for_others = (
        judge.judged(WorkloadCuts((1, 2), tuple(queries)), rows.bytes // FILES).bytes_per_query
        for queries in ([*mine, *others], mine, others)
    )
    assert for_all == for_mine < for_others
