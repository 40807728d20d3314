"""The findings of a report: problems of a layout, their evidence, and commands that fix them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from iceberg_zorder.figures import size
from iceberg_zorder.metrics.clustering_report import ClusteringReport, Finding
from iceberg_zorder.rewrite.metrics_check import least_mode, longest_mode, set_mode

_MANY = 0.05


def find(report: ClusteringReport, table_in_sql: str) -> tuple[Finding, ...]:
    """Return the findings of a report."""
    found = [
        *_of_columns(report, table_in_sql),
        *_of_rewrite(report),
        *_of_history(report),
        *_of_files(report),
    ]
    severities = ("error", "warning", "info")
    return tuple(sorted(found, key=lambda each: severities.index(each.severity)))


def _of_columns(report: ClusteringReport, table: str) -> Iterator[Finding]:
    for column in report.columns:
        mode = {"column": column.name, "metrics_mode": column.metrics_mode}
        if column.metrics_mode in ("none", "counts"):
            yield Finding(
                "bounds-not-kept",
                "error",
                f"The table keeps no lower/upper bounds of {column.name}, so filters on it skip no file.",
                mode,
                set_mode(table, column.field, least_mode(column.type)),
            )
            continue
        longer = longest_mode(column.metrics_mode) if column.metrics_mode != "full" else None
        command = None if longer is None else set_mode(table, column.field, longer)
        how = "keep longer bounds, then rewrite" if longer else "longer bounds would fill the manifests"
        if column.files_with_alike_bounds:
            yield Finding(
                "bounds-alike",
                "error",
                f"The bounds of {column.name} end before its values differ in "
                f"{_files(column.files_with_alike_bounds)}, so filters on it cannot skip these files: {how}.",
                {**mode, "files": column.files_with_alike_bounds, "bytes": column.bytes_with_alike_bounds},
                command,
            )
        endless, bytes_endless = column.files_without_upper_bounds, column.bytes_without_upper_bounds
        if endless:
            yield Finding(
                "bounds-missing",
                "warning",
                f"{_files(endless)} have no upper bounds of {column.name}, because their values begin with U+10FFFF or "
                f"0xFF, and no value of the bounds' length lies above: {how}.",
                {**mode, "files": endless, "bytes": bytes_endless},
                command,
            )
        if missing := column.files_without_bounds - endless:
            yield Finding(
                "bounds-missing",
                "warning",
                f"{_files(missing)} have no lower/upper bounds of {column.name}, though the table keeps such "
                "bounds: the files' writer left them out, or wrote before the setting.",
                {"column": column.name, "files": missing, "bytes": column.bytes_without_bounds - bytes_endless},
            )


def _of_rewrite(report: ClusteringReport) -> Iterator[Finding]:
    rewrite = report.recommendation
    if rewrite is not None and rewrite.command:
        yield Finding(
            "rewrite-pays",
            "warning",
            f"A rewrite of {_files(rewrite.files)} ({size(rewrite.bytes)}) into {rewrite.expected_files:,} is "
            f"predicted to save a filter {size(rewrite.saved_bytes)} on average, in bytes read and open "
            f"costs: {rewrite.reason}.",
            {key: of for key, of in asdict(rewrite).items() if key != "command"},
            rewrite.command,
        )


def _of_history(report: ClusteringReport) -> Iterator[Finding]:
    history = report.history
    if history.undone_by_snapshot_id is not None:
        yield Finding(
            "layout-undone",
            "warning",
            f"Snapshot {history.undone_by_snapshot_id} rewrote files of iceberg-zorder's layout: another compaction "
            "of the table undoes the layout.",
            {"snapshot_id": history.undone_by_snapshot_id, "timestamp_ms": history.undone_by_timestamp_ms},
        )
    if history.newer_files:
        share = history.newer_bytes / report.total_bytes if report.total_bytes else 0.0
        yield Finding(
            "newer-files",
            "warning" if share > _MANY else "info",
            f"{_files(history.newer_files)}, {100 * share:.1f}% of the bytes, were added since the last layout.",
            {"files": history.newer_files, "bytes": history.newer_bytes},
        )
    elif history.last_layout_snapshot_id is None and report.total_file_count:
        yield Finding("never-laid-out", "info", "The table's snapshots have no rewrite by iceberg-zorder.", {})


def _of_files(report: ClusteringReport) -> Iterator[Finding]:
    if report.files_of_old_specs:
        yield Finding(
            "old-partition-specs",
            "warning",
            f"{_files(report.files_of_old_specs)} are of another partition spec than the table's current one.",
            {"files": report.files_of_old_specs},
        )
    if report.files_without_rows:
        yield Finding(
            "files-without-rows",
            "warning",
            f"{_files(report.files_without_rows)} have no rows by their manifest entries, so filters and rewrites skip "
            "them. If they hold rows, the entries are wrong: append these rows again.",
            {"files": report.files_without_rows},
        )
    if report.files_with_deletes:
        yield Finding(
            "delete-files",
            "info",
            f"{_files(report.files_with_deletes)} have deletes, which queries must read, too.",
            {
                "files": report.files_with_deletes,
                "position_delete_files": report.position_delete_files,
                "equality_delete_files": report.equality_delete_files,
            },
        )


def _files(count: int) -> str:
    return f"{count:,} file" if count == 1 else f"{count:,} files"
