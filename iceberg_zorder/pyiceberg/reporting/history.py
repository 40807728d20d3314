"""The history of a table: its rewrites, and how much filters read of the whole table before and after each."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.maintain.past_rewrites import PastRewrite, rewrites_of
from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.pyiceberg.listing.listing import snapshots_to
from iceberg_zorder.pyiceberg.plan.rewrite_spec import branch_snapshot
from iceberg_zorder.pyiceberg.plan.sort_order import names_of_today
from iceberg_zorder.pyiceberg.reporting.report import report
from iceberg_zorder.rewrite.sort_order import parse_sort_order

_MOST_MEASURED = 5
"""Number of newest rewrites that are measured; each needs two reports from manifests."""


def rewrite_history(table: Table, branch: str | None = None, *, limit: int = 20) -> dict[str, Any]:
    """Return the newest rewrites of a table, oldest first, by the keys that ``docs/reference/json/other.md`` lists.

    Examples
    --------
    >>> from iceberg_zorder.pyiceberg import rewrite_data_files
    >>> table = lake.load_table("db.events")  # of five files
    >>> done = rewrite_data_files(table, ["user_id", "ts"], options={"rewrite-all": True})
    >>> (rewrite,) = rewrite_history(table)["rewrites"]
    >>> rewrite["before"]["files"], rewrite["after"]["files"], round(rewrite["before"]["scan_fraction"], 2)
    (5, 1, 0.2)
    """
    name = branch or MAIN_BRANCH
    head = branch_snapshot(table, name, "read the history")
    rewrites = [_with_names_of_today(table, each) for each in rewrites_of(snapshots_to(table, head))[-limit:]]
    newest = rewrites[-_MOST_MEASURED:]
    wanted = {each[key] for each in newest for key in ("parent_id", "snapshot_id")}
    states: dict[int, dict[str, Any]] = {}
    by: str | None = None
    if head is not None and newest:
        # The columns may have been dropped or may no longer be suitable.
        with suppress(InvalidInputError):
            now = report(table, branch=branch)
            by, states[head.snapshot_id] = now.sort_order, _state(now)
    if by is not None:
        kept = {each.snapshot_id for each in table.metadata.snapshots} & wanted
        states |= {each: _state(report(table, by, snapshot_id=each)) for each in kept - states.keys()}
    for each in rewrites:
        each |= {"before": states.get(each["parent_id"]), "after": states.get(each["snapshot_id"])}
    current = states.get(head.snapshot_id) if head is not None else None
    return {"branch": name, "measured_by": by, "rewrites": rewrites, "now": current}


def _with_names_of_today(table: Table, rewrite: PastRewrite) -> dict[str, Any]:
    """Return a rewrite for JSON, with its columns' current names; figures of dropped columns are left out."""
    described, today = rewrite.to_dict(), names_of_today(table, rewrite.layout)
    names = {quoted_name(then): now and quoted_name(now) for then, now in today.items()}
    order = parse_sort_order(described["sort_order"]).renamed(lambda parts: today.get(parts) or parts)
    for when in ("predicted", "actual"):
        of = {names.get(column, column): share for column, share in described[when].items()}
        described[when] = {column: share for column, share in of.items() if column is not None}
    return {**described, "sort_order": order.text}


def _state(measured: ClusteringReport) -> dict[str, Any]:
    """Return the table's files and the reads of ``column = value``, for JSON."""
    fractions = {each.name: each.scan_fraction for each in measured.columns if each.scan_fraction is not None}
    mean = sum(fractions.values()) / len(fractions) if fractions else None
    return {
        "snapshot_id": measured.snapshot_id,
        "files": measured.total_file_count,
        "bytes": measured.total_bytes,
        "scan_fraction": mean,
        "read_bytes": None if mean is None else round(mean * measured.total_bytes),
        "scan_fractions": fractions,
        "cost_ratio": measured.cost_ratio,
    }
