"""Random tables and joins: every statement gives the same rows with ``spark.iceberg-zorder.join-pruning`` and without it.

``ZORDER_FUZZ_SEED=17`` runs one seed again that failed, ``ZORDER_FUZZ_SEEDS=0:1000`` a range of them.
"""

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
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """Counts what the seeds of this run came to, prints it, and holds them to skipping files."""
    tally = Tally()
    yield tally
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n{tally}")
    if tally.tables >= 100:
        assert tally.skipping_tables >= tally.tables / 5


@pytest.mark.parametrize("place", range(len(PAIRS)), ids=[" ".join(pair) for pair in PAIRS])
def test_keys_of_every_type_under_every_transform(spark: SparkSession, place: int) -> None:
    complaints = run(spark, cases.plain(place), Tally(), queries=1)
    assert not complaints, "\n".join(complaints)


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
def test_joins_give_the_same_rows(spark: SparkSession, tally: Tally, seed: int) -> None:
    started = time.monotonic()
    complaints = run(spark, cases.draw(seed), tally)
    tally.seconds += time.monotonic() - started
    assert not complaints, "\n".join(complaints)
