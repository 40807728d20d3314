"""Policies for tests."""

from pathlib import Path
from typing import Any

import yaml

from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.read import parse_policy

HERE = Path(__file__).parent
FULL = (HERE / "full.yaml").read_text(encoding="utf-8")
"""Every setting that there is."""
ENVIRONMENT = {"LAKE_URI": "http://lake.internal:8181", "LAKE_CREDENTIAL": "maintainer:hunter2"}


def policy_of(**sections: Any) -> Policy:
    """A policy of two catalogs, lake and pond, and of sections."""
    said = {"version": 1, "catalogs": {"lake": {}, "pond": {}}, **sections}
    return parse_policy(yaml.safe_dump(said, sort_keys=False), "policy.yaml", {})
