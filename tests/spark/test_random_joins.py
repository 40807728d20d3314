"""Random tables and joins: every statement gives the same rows with ``spark.iceberg-zorder.join-pruning`` and without it.

``ZORDER_FUZZ_SEED=17`` runs one seed again that failed, ``ZORDER_FUZZ_SEEDS=0:1000`` a range of them; ``make test-fuzz``
runs a thousand, and ``make test-fuzz-lines`` two hundred on each other line.
"""

import sys
import time
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.fuzz.seeds import seeds
from tests.spark.joins import cases
from tests.spark.joins.differential import Tally, run
from tests.spark.joins.values import PAIRS

SEEDS = seeds("joins", 6)


@pytest.fixture(scope="module")
def pairs() -> Iterator[Tally]:
    """Counts what the pairs of types and transforms come to, and holds them to skipping files."""
    tally = Tally()
    yield tally
    if tally.tables == len(PAIRS):
        # Most are partitioned by the key itself: Iceberg's own scans take its keys, and do not count.
        assert tally.skipping_tables >= 5, str(tally)


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """Counts what the seeds of this run come to, prints it, and holds them to skipping files and to few failures."""
    tally = Tally()
    yield tally
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n{tally}", file=sys.stderr)
    if tally.tables >= 100:
        assert tally.skipping_tables >= tally.tables / 10
        # Measured on 140 tables: 55 of 560. Sources are drawn without regard to the target's size.
        assert tally.skipping["changes"] >= tally.changes / 20
        assert tally.failed <= (tally.queries + tally.changes) / 20


@pytest.mark.parametrize("place", range(len(PAIRS)), ids=[" ".join(pair) for pair in PAIRS])
def test_keys_of_every_type_under_every_transform(spark: SparkSession, pairs: Tally, place: int) -> None:
    check(spark, cases.plain(place), pairs, queries=1)


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
def test_joins_give_the_same_rows(spark: SparkSession, tally: Tally, seed: int) -> None:
    check(spark, cases.draw(seed), tally, queries=4, changes=4)


def check(spark: SparkSession, case: cases.Case, tally: Tally, queries: int, changes: int = 1) -> None:
    started = time.monotonic()
    complaints = run(spark, case, tally, queries, changes)
    tally.seconds += time.monotonic() - started
    assert not complaints, "\n".join(complaints)
