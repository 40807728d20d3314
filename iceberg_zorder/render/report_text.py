"""A clustering report for the terminal, at most 100 columns wide."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.filesize import decimal
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from iceberg_zorder.printable import all_printable

WIDTH = 100
_MOST_PARTITIONS = 10
_BAR_WIDTH = 40
_STYLES = {"error": "red", "warning": "yellow", "info": "cyan"}


def report_text(report: Mapping[str, Any]) -> str:
    """Write a report as plain text."""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    console.print(report_renderable(report), crop=False)
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in written.splitlines())


def report_renderable(report: Mapping[str, Any]) -> RenderableType:
    """Make of a report what rich shows."""
    report = all_printable(report)
    parts: list[RenderableType] = [_heading(report)]
    if report["total_file_count"]:
        parts += [_columns(report), *_predicates(report["predicates"]), *_workload(report)]
        parts += [*_depths(report)]
        parts += [_files(report), *_partitions(report["partitions"])]
    return Group(*parts, *_findings(report["findings"]), *_nothing_to_do(report["recommendation"]))


def comparison_renderable(before: Mapping[str, Any], after: Mapping[str, Any]) -> RenderableType:
    """Make of two reports on the same columns a table that rich shows."""
    before, after = all_printable(before), all_printable(after)
    table = _table(f"compared with snapshot {before['snapshot_id']}", "before", "now")
    both = (before, after)
    table.add_row("data files", *(f"{each['total_file_count']:,}" for each in both))
    table.add_row("size", *(decimal(each["total_bytes"]) for each in both))
    table.add_row("average depth", *(_number(each["average_depth"]) for each in both))
    table.add_row("average overlaps", *(_number(each["average_overlaps"]) for each in both))
    for old, new in zip(before["columns"], after["columns"], strict=True):
        table.add_row(Text(f"{new['name']} = value reads"), *(_percent(each["scan_fraction"]) for each in (old, new)))
    for old, new in zip(before["predicates"], after["predicates"], strict=True):
        table.add_row(Text(f"{new['predicate']} reads"), *(_percent(each["scan_fraction"]) for each in (old, new)))
    if all(each.get("workload") for each in both):
        table.add_row("the workload reads", *(_percent(each["workload"]["scan_fraction"]) for each in both))
    return Padding(table, (1, 0, 0, 0))


def _heading(report: Mapping[str, Any]) -> Text:
    snapshot = "no snapshot" if report["snapshot_id"] is None else f"snapshot {report['snapshot_id']}"
    where = "" if report["where"] is None else f" where {report['where']}"
    text = Text(f"{report['table']} (branch {report['branch']}, {snapshot}){where}\n", style="bold")
    partitions = f", {report['total_partition_count']:,} partitions" if report["total_partition_count"] > 1 else ""
    text.append(
        f"{_count(report['total_file_count'], 'data file')} of {decimal(report['total_bytes'])} with "
        f"{report['total_rows']:,} rows{partitions}, by {', '.join(report['cluster_by_keys'])}",
        style="not bold",
    )
    if report["average_depth"] is not None:
        text.append(
            f"\naverage depth {report['average_depth']:.2f} (1: no file lies over another), average overlaps "
            f"{report['average_overlaps']:.2f}, {_count(report['total_constant_file_count'], 'constant file')}",
            style="not bold",
        )
    return text


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", overflow="fold")
    return table


def _columns(report: Mapping[str, Any]) -> RenderableType:
    table = _table("a filter on", "reads", "in files", "attainable", "in files", "bounds kept", "files without")
    for column in report["columns"]:
        table.add_row(
            Text(column["name"]),
            _read(report, column["scan_fraction"]),
            _files_read(column["average_file_count"]),
            _read(report, column["attainable"]),
            _files_read(column["attainable_file_count"]),
            Text(column["metrics_mode"]),
            f"{column['files_without_bounds']:,}",
        )
    return Padding(table, (1, 0, 0, 0))


def _read(report: Mapping[str, Any], share: float | None) -> str:
    return "-" if share is None else f"{decimal(round(share * report['total_bytes']))} ({_percent(share)})"


def _files_read(files: float | None) -> str:
    return "-" if files is None else f"{files:,.1f}"


def _predicates(predicates: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    if not predicates:
        return
    table = _table("predicate", "reads", "attainable", "ratio", "files")
    for each in predicates:
        table.add_row(
            Text(each["predicate"]),
            _percent(each["scan_fraction"]),
            _percent(each["attainable"]),
            _ratio(each["scan_fraction"], each["attainable"]),
            f"{each['total_file_count']:,}",
        )
    yield Padding(table, (1, 0, 0, 0))


def _workload(report: Mapping[str, Any]) -> Iterator[RenderableType]:
    if not (found := report.get("workload")):
        return
    yield Text(
        f"\nthe {_count(found['queries'], 'query', 'queries')} of the workload read "
        f"{_percent(found['scan_fraction'])} of the bytes on average, {found['average_file_count']:,.1f} files"
    )
    table = _table("those that read most in all", "of the queries", "reads", "files")
    for each in found["costliest"]:
        share, reads = _percent(each["share"]), _percent(each["scan_fraction"])
        table.add_row(Text(each["filter"]), share, reads, f"{each['total_file_count']:,}")
    yield Padding(table, (1, 0, 0, 0))


def _depths(report: Mapping[str, Any]) -> Iterator[RenderableType]:
    histogram = report["file_depth_histogram"]
    most = max(histogram.values(), default=0)
    table = _table("depth up to", "files", "")
    table.columns[2].justify = "left"
    for depth, files in histogram.items():
        table.add_row(f"{int(depth):,}", f"{files:,}", Bar(most, 0, files, width=_BAR_WIDTH))
    yield Padding(table, (1, 0, 0, 0))


def _files(report: Mapping[str, Any]) -> Text:
    sizes, history = report["file_sizes"], report["history"]
    lines = [
        f"\nfile sizes {decimal(sizes['smallest_bytes'])} to {decimal(sizes['largest_bytes'])}, median "
        f"{decimal(sizes['median_bytes'])}; {sizes['files_below_min']:,} below "
        f"{decimal(sizes['min_file_size_bytes'])}, {sizes['files_above_max']:,} above "
        f"{decimal(sizes['max_file_size_bytes'])}",
        f"a rewrite makes {_count(sizes['files_after_rewrite'], 'file')} of about "
        f"{decimal(sizes['target_file_size_bytes'])} at most",
    ]
    if report["files_with_deletes"] or report["files_of_old_specs"]:
        lines.append(
            f"{_count(report['files_with_deletes'], 'file')} with deletes (by position in "
            f"{_count(report['position_delete_files'], 'file')}, by equality in {report['equality_delete_files']:,}), "
            f"{report['files_of_old_specs']:,} of old partition specs"
        )
    if history["last_layout_snapshot_id"] is not None:
        lines.append(
            f"laid out by {history['last_layout_columns']} in snapshot {history['last_layout_snapshot_id']}: "
            f"{_count(history['laid_out_files'], 'file')} of {decimal(history['laid_out_bytes'])}; since then "
            f"{_count(history['newer_files'], 'file')} of {decimal(history['newer_bytes'])}"
        )
    return Text("\n".join(lines))


def _partitions(partitions: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    if len(partitions) < 2:
        return
    table = _table("partition, worst first", "files", "size", "depth", "reads (attainable)")
    for each in partitions[:_MOST_PARTITIONS]:
        reads = (
            f"{name} {_percent(fraction)} ({_percent(each['attainable'].get(name))})"
            for name, fraction in each["scan_fractions"].items()
        )
        table.add_row(
            Text(each["partition"]),
            f"{each['total_file_count']:,}",
            decimal(each["bytes"]),
            _number(each["average_depth"]),
            Text("\n".join(reads)),
        )
    yield Padding(table, (1, 0, 0, 0))
    if len(partitions) > _MOST_PARTITIONS:
        yield Text(f"... and {len(partitions) - _MOST_PARTITIONS:,} more partitions")


def _findings(findings: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    for each in findings:
        text = Text("\n")
        text.append(f"{each['severity']} {each['code']}", style=_STYLES[each["severity"]])
        text.append(f": {each['message']}")
        yield text
        if each["command"]:
            # A command that is wrapped cannot be copied.
            yield Text(f"  {each['command']}", style="bold", no_wrap=True, overflow="ignore")


def _nothing_to_do(rewrite: Mapping[str, Any] | None) -> Iterator[RenderableType]:
    if rewrite is not None and rewrite["command"] is None:
        yield Text(f"\n{rewrite['reason']}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _ratio(share: float | None, attainable: float | None) -> str:
    return f"{share / attainable:.1f}x" if share is not None and attainable else "-"


def _count(count: int, what: str, several: str | None = None) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {several or f'{what}s'}"
