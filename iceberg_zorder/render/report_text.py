"""A clustering report for the terminal, at most 100 columns wide."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from iceberg_zorder.figures import count, files_read, less, moment, number, one_file, percent, size
from iceberg_zorder.printable import all_printable

WIDTH = 100
_MOST_PARTITIONS = 10
_BAR_WIDTH = 40
_STYLES = {"error": "red", "warning": "yellow", "info": "cyan"}


def report_text(report: Mapping[str, Any]) -> str:
    """Return a report as plain text."""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    console.print(report_renderable(report), crop=False)
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in written.splitlines())


def snapshot_text(report: Mapping[str, Any]) -> str:
    """Return the snapshot of a report with its time."""
    if report["snapshot_id"] is None:
        return "no snapshot"
    when = report["snapshot_timestamp_ms"]
    return f"snapshot {report['snapshot_id']}{'' if when is None else f' of {moment(when)}'}"


def answer(report: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> str:
    r"""Return the reads of filters in a sentence, compared with an earlier report or with a full rewrite.

    Examples
    --------
    >>> column = {"name": "user_id", "scan_fraction": 1.0, "average_file_count": 64.0}
    >>> column |= {"attainable": 0.132, "attainable_file_count": 8.4}
    >>> found = {"columns": [column], "total_bytes": 310_000_000, "total_file_count": 64}
    >>> found["file_sizes"] = {"files_after_rewrite": 60}
    >>> print(answer(found).replace(". ", ".\n"))
    A filter on user_id reads 310.0 MB in 64 of 64 files (100.0%).
    A full rewrite is predicted to reduce this to 40.9 MB in 8.4 of 60 files (13.2%): 86.8% less.
    >>> column = column | {"scan_fraction": 0.132, "average_file_count": 8.4}
    >>> print(answer(found | {"columns": [column]}, found).replace(". ", ".\n"))
    A filter on user_id reads 40.9 MB in 8.4 of 64 files (13.2%): 86.8% less.
    It was 310.0 MB in 64 of 64 files (100.0%).
    """
    names = [each["name"] for each in report["columns"] if each["scan_fraction"] is not None]
    now = _mean_read(report, "scan_fraction", "average_file_count", report["total_file_count"])
    if now is None:
        return "No filter on these columns finds a value."
    one = len(names) == 1
    who = f"A filter on {names[0]} reads" if one else f"Filters on {', '.join(names[:-1])} or {names[-1]} read"
    said = f"{who} {now[1]}{'' if one else ' on average'}"
    if before is not None:
        was = _mean_read(before, "scan_fraction", "average_file_count", before["total_file_count"])
        return f"{said}: {less(now[0], was[0])}. It was {was[1]}." if was else f"{said}."
    after = _mean_read(report, "attainable", "attainable_file_count", report["file_sizes"]["files_after_rewrite"])
    if after is None:
        return f"{said}."
    if after[0] >= now[0]:
        cost, best = report["cost"], report["attainable_cost"]
        if cost is not None and best is not None and best < 0.95 * cost:  # predictions err by 5%
            return (
                f"{said}. A full rewrite is predicted not to reduce these bytes, but the cost, which counts opened "
                f"files, too: from {size(cost)} to {size(best)}."
            )
        return f"{said}. A full rewrite is predicted not to reduce this."
    return f"{said}. A full rewrite is predicted to reduce this to {after[1]}: {less(after[0], now[0])}."


def _mean_read(report: Mapping[str, Any], share: str, files: str, of: int) -> tuple[float, str] | None:
    """Return the bytes that a filter reads, averaged over columns, as a number and as text."""
    found = [(each[share], each[files]) for each in report["columns"] if each[share] is not None]
    if not found:
        return None
    read, count_read = (sum(each) / len(found) for each in zip(*found, strict=True))
    return read * report["total_bytes"], f"{files_read(read * report['total_bytes'], count_read, of)} ({percent(read)})"


def report_renderable(report: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> RenderableType:
    """Return a report as a rich renderable, compared with an earlier one if given."""
    report = all_printable(report)
    parts: list[RenderableType] = [_heading(report)]
    if report["total_file_count"]:
        parts.append(Text(f"\n{answer(report, None if before is None else all_printable(before))}"))
    if report["total_file_count"]:
        parts += [_columns(report), *_predicates(report), *_workload(report)]
        parts += [*_depths(report)]
        parts += [_files(report), *_partitions(report["partitions"])]
    return Group(*parts, *_findings(report["findings"]), *_nothing_to_do(report["recommendation"]))


def comparison_renderable(before: Mapping[str, Any], after: Mapping[str, Any]) -> RenderableType:
    """Return two reports on the same columns as a rich table."""
    before, after = all_printable(before), all_printable(after)
    table = _table(f"compared with snapshot {before['snapshot_id']}", "before", "now")
    both = (before, after)
    table.add_row("data files", *(f"{each['total_file_count']:,}" for each in both))
    table.add_row("size", *(size(each["total_bytes"]) for each in both))
    table.add_row("average depth", *(_number(each["average_depth"]) for each in both))
    table.add_row("average overlaps", *(_number(each["average_overlaps"]) for each in both))
    for old, new in zip(before["columns"], after["columns"], strict=True):
        row = (_read(*each) for each in ((before, old), (after, new)))
        table.add_row(Text(f"a filter on {new['name']} reads"), *row)
    for old, new in zip(before["predicates"], after["predicates"], strict=True):
        row = (_read(*each) for each in ((before, old), (after, new)))
        table.add_row(Text(f"{new['predicate']} reads"), *row)
    if all(each.get("workload") for each in both):
        table.add_row("the workload reads", *(_read(each, each["workload"]) for each in both))
    return Padding(table, (1, 0, 0, 0))


def _heading(report: Mapping[str, Any]) -> Text:
    snapshot = snapshot_text(report)
    where = "" if report["where"] is None else f" where {report['where']}"
    text = Text(f"{report['table']} (branch {report['branch']}, {snapshot}){where}\n", style="bold")
    partitions = f", {report['total_partition_count']:,} partitions" if report["total_partition_count"] > 1 else ""
    text.append(
        f"{count(report['total_file_count'], 'data file')} of {size(report['total_bytes'])} with "
        f"{report['total_rows']:,} rows{partitions}, by {', '.join(report['cluster_by_keys'])}",
        style="not bold",
    )
    if report["average_depth"] is not None:
        text.append(
            f"\naverage depth {report['average_depth']:.2f} (1: no file lies over another), average overlaps "
            f"{report['average_overlaps']:.2f}, {count(report['total_constant_file_count'], 'constant file')}",
            style="not bold",
        )
    return text


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", overflow="fold")
    return table


COLUMN_HEADINGS = ("a filter on", "reads", "of all", "files", "attainable", "of all", "files", "ratio")


def column_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the reads of a filter on each column, as cells of :data:`COLUMN_HEADINGS`."""
    for column in report["columns"]:
        share, attainable = column["scan_fraction"], column["attainable"]
        yield (
            column["name"],
            *(_bytes(report, share), percent(share), number(column["average_file_count"])),
            *(_bytes(report, attainable), percent(attainable), number(column["attainable_file_count"])),
            _ratio(share, attainable),
        )


def _columns(report: Mapping[str, Any]) -> RenderableType:
    table = _table(*COLUMN_HEADINGS)
    for row in column_rows(report):
        table.add_row(*map(Text, row))
    guessed = any(each["attainable"] is not None for each in report["columns"])
    hint = [Text("attainable: predicted from bounds; for skewed columns plan --sampled is right")] if guessed else []
    return Padding(Group(table, *hint), (1, 0, 0, 0))


def _predicates(report: Mapping[str, Any]) -> Iterator[RenderableType]:
    if not report["predicates"]:
        return
    table = _table("predicate", "reads", "of all", "files", "attainable", "of all", "ratio")
    for each in report["predicates"]:
        share, attainable = each["scan_fraction"], each["attainable"]
        table.add_row(
            Text(each["predicate"]),
            *(_bytes(report, share), percent(share), f"{each['total_file_count']:,}"),
            *(_bytes(report, attainable), percent(attainable), _ratio(share, attainable)),
        )
    yield Padding(table, (1, 0, 0, 0))


def _workload(report: Mapping[str, Any]) -> Iterator[RenderableType]:
    if not (found := report.get("workload")):
        return
    files = f"{number(found['average_file_count'])} of {count(report['total_file_count'], 'file')}"
    yield Text(
        f"\nthe {count(found['queries'], 'query', 'queries')} of the workload read "
        f"{_bytes(report, found['scan_fraction'])} in {files} on average ({percent(found['scan_fraction'])})"
    )
    table = _table("those that read most in all", "of the queries", "reads", "files")
    for each in found["costliest"]:
        share, reads = percent(each["share"]), percent(each["scan_fraction"])
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
        f"\nfile sizes {size(sizes['smallest_bytes'])} to {size(sizes['largest_bytes'])}, median "
        f"{size(sizes['median_bytes'])}",
        f"a rewrite makes {count(sizes['files_after_rewrite'], 'file')} of about "
        f"{size(sizes['target_file_size_bytes'])} at most",
        f"{sizes['files_below_min']:,} below {size(sizes['min_file_size_bytes'])}, {sizes['files_above_max']:,} above "
        f"{size(sizes['max_file_size_bytes'])}, not counting files of such a rewrite",
    ]
    if sizes["files_after_rewrite"] <= (partitions := max(1, report["total_partition_count"])):
        lines += one_file(partitions, report["total_bytes"], sizes["target_file_size_bytes"])
    if report["files_with_deletes"] or report["files_of_old_specs"]:
        lines.append(
            f"{count(report['files_with_deletes'], 'file')} with deletes (by position in "
            f"{count(report['position_delete_files'], 'file')}, by equality in {report['equality_delete_files']:,}), "
            f"{report['files_of_old_specs']:,} of old partition specs"
        )
    if history["last_layout_snapshot_id"] is not None:
        lines.append(
            f"laid out by {history['last_layout_columns']} in snapshot {history['last_layout_snapshot_id']}: "
            f"{count(history['laid_out_files'], 'file')} of {size(history['laid_out_bytes'])}; since then "
            f"{count(history['newer_files'], 'file')} of {size(history['newer_bytes'])}"
        )
    return Text("\n".join(lines))


def _partitions(partitions: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    if len(partitions) < 2:
        return
    table = _table("partition, worst first", "files", "size", "depth", "reads (attainable)")
    for each in partitions[:_MOST_PARTITIONS]:
        reads = (
            f"{name} {percent(fraction)} ({percent(each['attainable'].get(name))})"
            for name, fraction in each["scan_fractions"].items()
        )
        table.add_row(
            Text(each["partition"]),
            f"{each['total_file_count']:,}",
            size(each["bytes"]),
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
            # Wrapped commands cannot be copied.
            yield Text(f"  {each['command']}", style="bold", no_wrap=True, overflow="ignore")


def _nothing_to_do(rewrite: Mapping[str, Any] | None) -> Iterator[RenderableType]:
    if rewrite is not None and rewrite["command"] is None:
        yield Text(f"\n{rewrite['reason']}")


def _read(report: Mapping[str, Any], of: Mapping[str, Any]) -> str:
    share = of["scan_fraction"]
    return "-" if share is None else f"{_bytes(report, share)} ({percent(share)})"


def _bytes(report: Mapping[str, Any], share: float | None) -> str:
    return "-" if share is None else size(share * report["total_bytes"])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _ratio(share: float | None, attainable: float | None) -> str:
    return f"{share / attainable:.1f}x" if share is not None and attainable else "-"
