"""Plans of rewrites as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_MOST = 20
"""File groups that are shown: of a table with thousands of partitions nobody reads all."""


def plan_text(plan: Mapping[str, Any]) -> str:
    """Write a plan as a text of several lines, as the Spark engine writes it.

    Parameters
    ----------
    plan : mapping
        The plan, as :meth:`iceberg_zorder.pyiceberg.RewritePlan.to_dict` gives it.

    Returns
    -------
    str
        The text, without a line end.

    Examples
    --------
    >>> group = {
    ...     "partition": "p=1", "data_files_count": 6, "bytes": 6144, "rows": 60, "expected_data_files_count": 1,
    ...     "reason": "rewrite-all is true", "layout": {"scan_fractions": {"a": 0.125}},
    ... }
    >>> print(plan_text({
    ...     "table": "lake.db.t", "branch": "main", "snapshot_id": 7, "sort_order": "zorder(a)", "where": "p = 1",
    ...     "message": None, "file_groups": [group], "left": [], "scan_fractions": {"a": 0.125},
    ... }))
    Rewrite of lake.db.t (branch main, snapshot 7) by zorder(a) where p = 1
      rewrite p=1: 6 files (6,144 bytes, 60 rows) into 1 files: rewrite-all is true; \
predicted scan fraction a 12.5%
      predicted scan fraction of column = value among all new files: a 12.5%
    """
    where = "" if plan["where"] is None else f" where {plan['where']}"
    snapshot = "no snapshot" if plan["snapshot_id"] is None else f"snapshot {plan['snapshot_id']}"
    lines = [f"Rewrite of {plan['table']} (branch {plan['branch']}, {snapshot}) by {plan['sort_order']}{where}"]
    if plan["message"] is not None:
        lines.append(plan["message"])
    lines += _some([_chosen(group) for group in plan["file_groups"]], "file groups are rewritten")
    lines += _some([f"  leave {_files(group)}: {group['reason']}" for group in plan["left"]], "are left")
    if plan["scan_fractions"]:
        among = _fractions(plan["scan_fractions"])
        lines.append(f"  predicted scan fraction of column = value among all new files: {among}")
    return "\n".join(lines)


def _some(lines: Sequence[str], what: str) -> list[str]:
    more = [f"  ... and {len(lines) - _MOST:,} more {what}"] if len(lines) > _MOST else []
    return [*lines[:_MOST], *more]


def _chosen(group: Mapping[str, Any]) -> str:
    layout = group["layout"]
    predicted = "" if layout is None else f"; predicted scan fraction {_fractions(layout['scan_fractions'])}"
    count = group["expected_data_files_count"]
    return f"  rewrite {_files(group)} into {count:,} files: {group['reason']}{predicted}"


def _files(group: Mapping[str, Any]) -> str:
    partition = f"{group['partition']}: " if group["partition"] else ""
    return f"{partition}{group['data_files_count']:,} files ({group['bytes']:,} bytes, {group['rows']:,} rows)"


def _fractions(fractions: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * fraction:.1f}%" for name, fraction in fractions.items())
