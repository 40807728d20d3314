"""A catalog for recipes; those that need an environment of their own are left alone where that is not set up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.maintain.lake import Lake, lake_in
from tests.recipes.places import ENVIRONMENT

collect_ignore = (
    [] if (ENVIRONMENT.parent / ".installed").exists() else ["test_dagster.py", "test_dbt.py", "test_kubernetes.py"]
)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with lake_in(tmp_path) as lake:
        yield lake
