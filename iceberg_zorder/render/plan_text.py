"""A plan as text of several lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from iceberg_zorder.figures import count
from iceberg_zorder.printable import printable
from iceberg_zorder.rewrite.messages import one_file_each
from iceberg_zorder.rewrite.result import ColumnScan, TableFiles

_MOST = 20
"""The maximum number of file groups that are shown."""


def plan_text(plan: Mapping[str, Any]) -> str:
    """Return a plan as text of several lines; the Spark engine writes the same text.

    Examples
    --------
    >>> group = {
    ...     "partition": "p=1", "data_files_count": 6, "bytes": 6144, "rows": 60, "expected_data_files_count": 1,
    ...     "reason": "rewrite-all is true",
    ...     "layout": {"scan_fractions": {"a": 0.125}, "scan_fractions_before": {"a": 0.5}},
    ... }
    >>> print(plan_text({
    ...     "table": "lake.db.t", "branch": "main", "snapshot_id": 7, "sort_order": "zorder(a)", "where": "p = 1",
    ...     "target_file_size_bytes": 16777216, "target_file_size_from": "data",
    ...     "message": None, "file_groups": [group], "left": [], "expected_seconds": 12.34,
    ...     "before": {"files": 6, "bytes": 6144}, "after": {"files": 2, "bytes": 6144},
    ...     "scans": [{"column": "a", "before": 0.5, "predicted": 0.25, "files_before": 3, "files_predicted": 1}],
    ... }))
    Rewrite of lake.db.t (branch main, snapshot 7) by zorder(a) where p = 1
      target file size 16,777,216 bytes, from the data
      rewrite p=1: 6 files (6,144 bytes, 60 rows) into 1 file: rewrite-all is true; \
predicted scan fraction a 12.5% (50.0% today)
      a filter on a reads 1.5 kB in 1 of 2 files (was 3.1 kB in 3 of 6 files)
      expected to take 12.3 seconds, judging by earlier rewrites
    """
    where = "" if plan["where"] is None else f" where {plan['where']}"
    snapshot = "no snapshot" if plan["snapshot_id"] is None else f"snapshot {plan['snapshot_id']}"
    lines = [f"Rewrite of {plan['table']} (branch {plan['branch']}, {snapshot}) by {plan['sort_order']}{where}"]
    if plan["message"] is not None:
        lines.append(plan["message"])
    if plan["target_file_size_bytes"] is not None:
        source = plan["target_file_size_from"]
        lines.append(f"  target file size {plan['target_file_size_bytes']:,} bytes, from the {source}")
    lines += _some([_chosen(group) for group in plan["file_groups"]], "file groups are rewritten")
    lines += _some([f"  leave {_files(group)}: {group['reason']}" for group in plan["left"]], "are left")
    if not plan["left"]:
        keys = "partition", "expected_data_files_count", "bytes"
        groups = [tuple(group[key] for key in keys) for group in plan["file_groups"]]
        lines += [f"  {each}" for each in one_file_each(groups, plan["target_file_size_bytes"])]
    lines += [f"  {each}" for each in _scan_texts(plan, plan["scans"])]
    lines += [f"  predicted share read by {each['predicate']}: {_shares(each)}" for each in plan.get("predicates", [])]
    if workload := plan.get("workload"):
        queries = f"the {workload['queries']:,} queries of the workload on average"
        lines.append(f"  predicted share read by {queries}: {_shares(workload)}")
    if plan["expected_seconds"] is not None:
        lines.append(f"  expected to take {plan['expected_seconds']:,.1f} seconds, judging by earlier rewrites")
    return "\n".join(map(printable, lines))


def _scan_texts(found: Mapping[str, Any], scans: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what filters read of a table, before and after, a line for each column."""
    if not scans:
        return []
    before, after = TableFiles(**found["before"]), TableFiles(**found["after"])
    return [ColumnScan(**{"actual": None, **each}).text(before, after) for each in scans]


def _some(lines: Sequence[str], what: str) -> list[str]:
    more = [f"  ... and {len(lines) - _MOST:,} more {what}"] if len(lines) > _MOST else []
    return [*lines[:_MOST], *more]


def _chosen(group: Mapping[str, Any]) -> str:
    layout = group["layout"]
    predicted = "" if layout is None else f"; predicted scan fraction {_fractions(layout)}"
    new = count(group["expected_data_files_count"], "file")
    return f"  rewrite {_files(group)} into {new}: {group['reason']}{predicted}"


def _files(group: Mapping[str, Any]) -> str:
    partition = f"{group['partition']}: " if group["partition"] else ""
    return f"{partition}{count(group['data_files_count'], 'file')} ({group['bytes']:,} bytes, {group['rows']:,} rows)"


def _shares(found: Mapping[str, Any]) -> str:
    predicted, before = (
        "?" if found[each] is None else f"{100 * found[each]:.1f}%" for each in ("predicted", "before")
    )
    return f"{predicted} ({before} today)"


def _fractions(found: Mapping[str, Any]) -> str:
    before = found["scan_fractions_before"]
    return ", ".join(
        f"{name} {100 * fraction:.1f}%" + (f" ({100 * before[name]:.1f}% today)" if name in before else "")
        for name, fraction in found["scan_fractions"].items()
    )
