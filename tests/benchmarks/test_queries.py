"""Queries are measured in turns on every variant."""

from collections.abc import Sequence

from benchmarks.queries.engines import JOINED, JOINS, Looked, Ran, SparkEngine
from benchmarks.queries.measure import measured


class Joining:
    """An engine whose variants with joins read half, and take a time that depends on the query."""

    counts_every_run = True

    def __init__(self, differs: bool = False) -> None:
        self.runs: list[tuple[str, str]] = []
        self._differs = differs
        self._variant = ""

    def variants(self, layouts: Sequence[str]) -> tuple[str, ...]:
        """List what Spark measures."""
        return SparkEngine.variants(self, layouts)  # type: ignore[arg-type]

    def use(self, variant: str) -> None:
        """Keep the variant."""
        self._variant = variant

    def run(self, query: str) -> Ran:
        """Keep what ran."""
        self.runs.append((query, self._variant))
        on = self._variant.endswith(JOINS)
        looked = Looked(1, 500_000 if on else 1_000_000, None)
        return Ran([(1 + (on and self._differs),)], 2.0 if on and query == "SELECT 2" else 1.0, 0.5, looked)

    def look(self, query: str) -> Looked:
        """Count in a run."""
        looked = self.run(query).looked
        assert looked is not None
        return looked


QUERIES = {"Q1": "SELECT 1", "Q2": "SELECT 2"}


def test_the_variants_take_turns() -> None:
    engine = Joining()
    measured(engine, QUERIES, list(JOINED), 1, lambda _: None)
    ran = [[variant for query, variant in engine.runs if query == each] for each in QUERIES.values()]
    assert ran[0] == ["ingested", "ingested+joins", "workload+joins"]
    assert ran[1] == [*ran[0][1:], ran[0][0]]


def test_several_rounds_come_after_one_that_is_not_timed() -> None:
    engine = Joining()
    measured(engine, {"Q1": "SELECT 1"}, ["ingested", "ours"], 2, lambda _: None)
    assert len(engine.runs) == 3 * len(engine.variants(["ingested", "ours"])) == 9


def test_results_that_differ_by_joins_are_told() -> None:
    found = measured(Joining(differs=True), QUERIES, list(JOINED), 1, lambda _: None)
    assert not any(each.alike for each in found)
