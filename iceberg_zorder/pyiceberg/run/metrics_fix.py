"""Give columns the metrics modes by which lower/upper bounds of new files tell their values apart."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.commit.table_properties import change_properties
from iceberg_zorder.pyiceberg.kept_bounds import serves
from iceberg_zorder.pyiceberg.metrics_config import metrics_config
from iceberg_zorder.request.metrics_check import WeakBounds


def fix_metrics(table: Table, weak: Sequence[WeakBounds]) -> list[WeakBounds]:
    """Set the properties that columns want, in one commit, unless columns have become good enough meanwhile."""
    now = copy(table)
    refresh(now)
    config = metrics_config(now)
    missing = [each for each in weak if not serves(config.mode(each.field), each)]
    if missing:
        change_properties(now, {each.key: each.wanted for each in missing if each.wanted})
    # What others changed of the schema meanwhile is for the commit of the files to judge.
    table.metadata = table.metadata.model_copy(update={"properties": dict(now.metadata.properties)})
    return missing
