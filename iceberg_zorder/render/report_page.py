"""A clustering report as one page for a browser, with everything inside; two of them side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich.filesize import decimal

from iceberg_zorder.printable import printable_lines
from iceberg_zorder.render.charts import boxes_chart
from iceberg_zorder.render.page import template

_MOST_PARTITIONS = 30
_SIZE_CLASSES = 12
Bar = tuple[str, float, str, str]
"""The name of a bar, its length as a share, what stands behind it, and its class."""


def report_page(reports: Sequence[tuple[Mapping[str, Any], Any | None]]) -> str:
    """Write a page."""
    page = template("report_page.html").render(
        reports=[report for report, _ in reports],
        charts=[[] if boxes is None else _charts(report, boxes) for report, boxes in reports],
        most_partitions=_MOST_PARTITIONS,
    )
    # Charts have names and values, too.
    return printable_lines(page)


def _charts(report: Mapping[str, Any], boxes: Any) -> list[tuple[str, str, list[Bar]]]:
    depths = report["file_depth_histogram"]
    most = max(depths.values(), default=1)
    return [
        ("Boxes of the data files, by the share of the rows below", boxes_chart(boxes.axes), []),
        ("What column = value reads, and what is attainable", "", list(_scans(report["columns"]))),
        ("Data files by depth, up to", "", [(f"{int(at):,}", n / most, f"{n:,}", "") for at, n in depths.items()]),
        ("Data files by size, up to", "", list(_sizes(boxes.sizes, report["file_sizes"]["target_file_size_bytes"]))),
    ]


def _scans(columns: Sequence[Mapping[str, Any]]) -> Iterator[Bar]:
    for column in columns:
        for name, share, kind in ((column["name"], column["scan_fraction"], ""), ("", column["attainable"], "other")):
            yield name, share or 0.0, "–" if share is None else f"{100 * share:.1f}%", kind


def _sizes(sizes: Any, target: int) -> Iterator[Bar]:
    """Count the files of each class; that of the target is marked."""
    sizes = np.maximum(sizes, 1)
    edges = np.geomspace(
        min(int(sizes.min()), target) * 0.999, max(int(sizes.max()), target) * 1.001, _SIZE_CLASSES + 1
    )
    counts, _ = np.histogram(sizes, edges)
    for low, high, count in zip(edges.tolist(), edges[1:].tolist(), counts.tolist(), strict=False):
        is_target = low <= target < high
        text = f"{count:,}{' (target)' if is_target else ''}"
        yield decimal(round(high)), count / max(1, int(counts.max())), text, "other" if is_target else ""
