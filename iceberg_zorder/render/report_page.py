"""A clustering report as one page for a browser, with everything inside; two of them side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from iceberg_zorder.printable import printable_lines
from iceberg_zorder.render.charts import boxes_chart, depth_chart, scan_chart, sizes_chart
from iceberg_zorder.render.page import template

_MOST_PARTITIONS = 30


def report_page(reports: Sequence[tuple[Mapping[str, Any], Any | None]]) -> str:
    """Write a page."""
    page = template("report_page.html").render(
        reports=[report for report, _ in reports],
        charts=[_charts(report, boxes) for report, boxes in reports],
        most_partitions=_MOST_PARTITIONS,
    )
    # Charts have names and values, too.
    return printable_lines(page)


def _charts(report: Mapping[str, Any], boxes: Any | None) -> list[tuple[str, str]]:
    if boxes is None:
        return []
    return [
        ("Boxes of the data files, by the share of the rows below", boxes_chart(boxes.axes)),
        ("What filters read", scan_chart(report["columns"])),
        ("Depth", depth_chart(report["file_depth_histogram"])),
        ("File sizes", sizes_chart(boxes.sizes, report["file_sizes"]["target_file_size_bytes"])),
    ]
