"""Random tables and the PyIceberg engine.

``ZORDER_FUZZ_SEED=123`` runs one seed again that failed, ``ZORDER_FUZZ_SEEDS=0:2000`` a range of them; ``make test-fuzz``
runs two thousand.
"""

from pathlib import Path

import pytest

from tests.fuzz import appends, upkeep
from tests.fuzz.differential import run
from tests.fuzz.readers import Duck
from tests.fuzz.seeds import seeds


@pytest.fixture(scope="module")
def duck() -> Duck:
    return Duck()


@pytest.mark.parametrize("seed", seeds("pyiceberg", 12))
def test_no_reader_sees_another_table(tmp_path: Path, duck: Duck, seed: int) -> None:
    print(run(seed, tmp_path, readers=[duck] if seed % 5 == 0 else []))


@pytest.mark.parametrize("seed", seeds("pyiceberg", 12))
def test_upkeep_makes_nothing_worse(tmp_path: Path, duck: Duck, seed: int) -> None:
    print(upkeep.run(seed, tmp_path, readers=[duck] if seed % 5 == 0 else []))


@pytest.mark.parametrize("seed", seeds("pyiceberg", 12))
def test_appended_rows_are_all_there(tmp_path: Path, duck: Duck, seed: int) -> None:
    print(appends.run(seed, tmp_path, readers=[duck] if seed % 5 == 0 else []))
