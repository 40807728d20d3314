"""Results in a notebook: a sentence and a small table as HTML without colours, so that light and dark both fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from iceberg_zorder.figures import count, percent, scan_row, size
from iceberg_zorder.printable import printable_lines
from iceberg_zorder.render import advice_text, report_text

_MOST_ROWS = 10
_SCANS = ("a filter on", "read before", "reads after")


def report_fragment(report: Mapping[str, Any]) -> str:
    """Show a report: what a filter on each column reads, and the findings."""
    said = report_text.answer(report) if report["total_file_count"] else "The table has no data files."
    findings = [f"{each['severity'].capitalize()} {each['code']}: {each['message']}" for each in report["findings"]]
    rows = list(report_text.column_rows(report))
    return _fragment(report["table"], [said, *findings], report_text.COLUMN_HEADINGS, rows)


def advice_fragment(advice: Mapping[str, Any]) -> str:
    """Show advice: what to do, and what queries read of each layout."""
    rows = [
        (
            f"{advice_text.layout_text(each)}{' (advised)' if each == advice['pick'] else ''}",
            advice_text.read_text(each),
            percent(each["bytes_per_query"] / max(1, advice["table_bytes"])),
        )
        for each in advice_text.shown_layouts(advice)
    ]
    said = [advice_text.answer(advice), f"Why: {advice['reason']}."]
    return _fragment(advice["table"], said, ("layout", "a query reads", "of the table"), rows)


def plan_fragment(plan: Mapping[str, Any]) -> str:
    """Show a plan: its file groups with their reasons; for a sampled plan, the predictions."""
    groups, left = plan["file_groups"], sum(each["data_files_count"] for each in plan["left"])
    files, read = (sum(each[key] for each in groups) for key in ("data_files_count", "bytes"))
    expected = sum((each["layout"] or {}).get("data_files_count", each["expected_data_files_count"]) for each in groups)
    others = f" Leaves {count(left, 'data file')} as they are." if left else ""
    said = [plan["message"] or f"Rewrites {count(files, 'data file')} ({size(read)}) into about {expected:,}.{others}"]
    headings: Sequence[str] = ("partition", "data files", "size", "reason")
    rows: list[Sequence[str]] = [
        (each["partition"] or "-", f"{each['data_files_count']:,}", size(each["bytes"]), each["reason"])
        for each in groups
    ]
    if plan["scans"]:
        headings, rows = _SCANS, [scan_row(each, plan["before"], plan["after"]) for each in plan["scans"]]
    return _fragment(plan["table"], said, headings, rows)


def result_fragment(result: Mapping[str, Any]) -> str:
    """Show what a rewrite did, or would do."""
    did = "Would rewrite" if result["dry_run"] else "Rewrote"
    files, added = result["rewritten_data_files_count"], result["added_data_files_count"]
    said = (
        [f"{did} {count(files, 'data file')} ({size(result['rewritten_bytes_count'])}) into {added:,}."]
        if files
        else []
    )
    if failed := result["failed_data_files_count"]:
        said.append(f"{count(failed, 'data file')} could not be rewritten.")
    rows = [scan_row(each, result["before"], result["after"]) for each in result["scan_fractions"]]
    return _fragment("", [*said, *filter(None, [result["message"]])], _SCANS, rows)


def _fragment(title: str, said: Sequence[str], headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write HTML; every text is escaped.

    Examples
    --------
    >>> _fragment("<t>", ["Fine."], ["a"], [["1"]]).splitlines()[:2]
    ['<div><strong>&lt;t&gt;</strong>', '<p>Fine.</p>']
    """
    parts = [f"<strong>{_text(title)}</strong>"] if title else []
    parts += [f"<p>{_text(each)}</p>" for each in said]
    if rows:
        body = "\n".join(_row(row, "td") for row in rows[:_MOST_ROWS])
        parts.append(f"<table><thead>{_row(headings, 'th')}</thead><tbody>{body}</tbody></table>")
    if len(rows) > _MOST_ROWS:
        parts.append(f"<p>and {len(rows) - _MOST_ROWS:,} more</p>")
    return "<div>{}</div>".format("\n".join(parts))


def _row(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{_text(cell)}</{tag}>' for cell in cells)}</tr>"


def _text(text: str) -> str:
    return escape(printable_lines(text))
