"""The recipes, and where the tests have what they expect in a place of the system."""

import sys
from pathlib import Path

from tests.maintain.lake import Lake
from tests.pages import REPOSITORY

RECIPES = REPOSITORY / "recipes"
ENVIRONMENT = REPOSITORY / ".venv-recipes" / "bin"
"""The programs of the environment that `make test-recipes` sets up."""


def placed(text: str, lake: Lake) -> str:
    """A text of a recipe with the paths of a test, which also writes the file of secrets."""
    (lake.home / "environment").write_text(f"LAKE_URI={lake.uri}\n", encoding="utf-8")
    for path, instead in {
        "/opt/iceberg-zorder/bin/iceberg-zorder": Path(sys.executable).with_name("iceberg-zorder"),
        "/etc/iceberg-zorder/policy.yaml": lake.policy,
        "/etc/iceberg-zorder/environment": lake.home / "environment",
        "/var/lib/iceberg-zorder/lock": lake.home / "lock",
        "/var/log/iceberg-zorder/passes.jsonl": lake.home / "passes.jsonl",
    }.items():
        text = text.replace(path, str(instead))
    assert "iceberg-zorder/" not in text.replace(str(REPOSITORY), ""), "a path has no place in the tests"
    return text
