"""The findings of a report: what is wrong with a layout, the evidence, and the command that fixes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from iceberg_zorder.metrics.clustering_report import ClusteringReport, Finding
from iceberg_zorder.rewrite.metrics_check import least_mode, longest_mode, set_mode

LOOSE = 1.2
"""How many times the attainable scan fraction is found fault with."""
_MANY = 0.05

RewriteCommand = Callable[[Mapping[str, str]], str]
"""From options to the command that rewrites the table by the columns of the report."""


def find(report: ClusteringReport, rewrite: RewriteCommand, table_in_sql: str) -> tuple[Finding, ...]:
    """Look through a report."""
    found = [
        *_of_columns(report, rewrite, table_in_sql),
        *_of_layout(report, rewrite),
        *_of_history(report, rewrite),
        *_of_files(report, rewrite),
    ]
    severities = ("error", "warning", "info")
    return tuple(sorted(found, key=lambda each: severities.index(each.severity)))


def _of_columns(report: ClusteringReport, rewrite: RewriteCommand, table: str) -> Iterator[Finding]:
    for column in report.columns:
        mode = {"column": column.name, "metrics_mode": column.metrics_mode}
        if column.metrics_mode in ("none", "counts"):
            yield Finding(
                "bounds-not-kept",
                "error",
                f"The table keeps no lower/upper bounds of {column.name}, so that no file can be skipped by it.",
                mode,
                set_mode(table, column.field, least_mode(column.type)),
            )
            continue
        longer = longest_mode(column.metrics_mode) if column.metrics_mode != "full" else None
        command = None if longer is None else set_mode(table, column.field, longer)
        how = "keep longer ones, then rewrite" if longer else "longer ones would fill the manifests"
        if column.files_with_alike_bounds:
            yield Finding(
                "bounds-alike",
                "error",
                f"The bounds of {column.name} are cut before its values differ in "
                f"{_files(column.files_with_alike_bounds)}, which cannot be skipped by it: {how}.",
                {**mode, "files": column.files_with_alike_bounds, "bytes": column.bytes_with_alike_bounds},
                command,
            )
        endless, bytes_endless = column.files_without_upper_bounds, column.bytes_without_upper_bounds
        if endless:
            yield Finding(
                "bounds-missing",
                "warning",
                f"{_files(endless)} have no upper bounds of {column.name}, because nothing as short as these are cut "
                f"lies above their values, which begin with U+10FFFF or 0xFF: {how}.",
                {**mode, "files": endless, "bytes": bytes_endless},
                command,
            )
        if missing := column.files_without_bounds - endless:
            yield Finding(
                "bounds-missing",
                "warning",
                f"{_files(missing)} have no lower/upper bounds of {column.name}, though the table keeps them: who "
                "wrote these did not, or before it was set.",
                {"column": column.name, "files": missing, "bytes": column.bytes_without_bounds - bytes_endless},
                rewrite({"rewrite-all": "true"}),
            )


def _of_layout(report: ClusteringReport, rewrite: RewriteCommand) -> Iterator[Finding]:
    known = {
        column.name: (column.scan_fraction, column.attainable)
        for column in report.columns
        if column.scan_fraction is not None and column.attainable is not None
    }
    loose = {
        name: {"scan_fraction": scan_fraction, "attainable": attainable}
        for name, (scan_fraction, attainable) in known.items()
        if scan_fraction > LOOSE * attainable
    }
    # What is attainable is an estimate by bounds alone, which the very rewrite may have missed.
    is_settled = report.history.settled_files == report.total_file_count
    # With few files another layout that is as good may favour another column.
    is_loose = sum(now for now, _ in known.values()) > LOOSE * sum(attainable for _, attainable in known.values())
    if is_loose and not is_settled:
        names = ", ".join(
            f"{name} {100 * each['scan_fraction']:.1f}% instead of {100 * each['attainable']:.1f}%"
            for name, each in loose.items()
        )
        yield Finding(
            "loose-layout",
            "warning",
            f"Filters read more than they would after a rewrite: {names}.",
            {"columns": loose},
            rewrite({"rewrite-all": "true"}),
        )
    if report.file_sizes.files_after_rewrite == report.total_partition_count and report.total_file_count > 1:
        yield Finding(
            "one-file-each",
            "info",
            f"At target-file-size-bytes {report.file_sizes.target_file_size_bytes:,} every partition is one file, so "
            "that nothing can be skipped inside a partition: a smaller size makes more files.",
            {"partitions": report.total_partition_count, "bytes": report.total_bytes},
        )


def _of_history(report: ClusteringReport, rewrite: RewriteCommand) -> Iterator[Finding]:
    history = report.history
    if history.undone_by_snapshot_id is not None:
        yield Finding(
            "layout-undone",
            "warning",
            f"Snapshot {history.undone_by_snapshot_id} rewrote files that were laid out by a rewrite of ours: whatever "
            "compacts the table undoes its layout.",
            {"snapshot_id": history.undone_by_snapshot_id, "timestamp_ms": history.undone_by_timestamp_ms},
            rewrite({"rewrite-all": "true"}),
        )
    if history.newer_files:
        share = history.newer_bytes / report.total_bytes if report.total_bytes else 0.0
        yield Finding(
            "newer-files",
            "warning" if share > _MANY else "info",
            f"{_files(history.newer_files)}, {100 * share:.1f}% of the bytes, have come since the last layout.",
            {"files": history.newer_files, "bytes": history.newer_bytes},
            rewrite({"rewrite-all": "true"}),
        )
    elif history.last_layout_snapshot_id is None and report.total_file_count:
        yield Finding("never-laid-out", "info", "No rewrite of ours is among the snapshots that are kept.", {})


def _of_files(report: ClusteringReport, rewrite: RewriteCommand) -> Iterator[Finding]:
    sizes = report.file_sizes
    if sizes.badly_sized_files:
        yield Finding(
            "badly-sized-files",
            "warning",
            f"A rewrite would choose {_files(sizes.badly_sized_files)} for their size: {sizes.files_below_min:,} of "
            f"all are below {sizes.min_file_size_bytes:,} bytes, {sizes.files_above_max:,} above "
            f"{sizes.max_file_size_bytes:,}.",
            {
                "files": sizes.badly_sized_files,
                "below_min": sizes.files_below_min,
                "above_max": sizes.files_above_max,
            },
            rewrite({"rewrite-all": "true"}),
        )
    if report.files_of_old_specs:
        yield Finding(
            "old-partition-specs",
            "warning",
            f"{_files(report.files_of_old_specs)} are of another partition spec than the table's current one.",
            {"files": report.files_of_old_specs},
            rewrite({"rewrite-all": "true"}),
        )
    if report.files_with_deletes:
        yield Finding(
            "delete-files",
            "info",
            f"{_files(report.files_with_deletes)} have deletes, which every query reads, too.",
            {
                "files": report.files_with_deletes,
                "position_delete_files": report.position_delete_files,
                "equality_delete_files": report.equality_delete_files,
            },
            rewrite({"delete-file-threshold": "1"}),
        )


def _files(count: int) -> str:
    return f"{count:,} file" if count == 1 else f"{count:,} files"
