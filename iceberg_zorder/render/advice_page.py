"""Advice on the layout of a table as one page for a browser, with everything inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iceberg_zorder.printable import printable_lines
from iceberg_zorder.render.advice_text import basis, cost_text, headline, layout_text, shown_layouts
from iceberg_zorder.render.page import template


def advice_page(advice: Mapping[str, Any]) -> str:
    """Write a page."""
    whole = max(1, advice["table_bytes"])
    layouts = [{**each, "name": layout_text(each)} for each in (advice["today"], *advice["candidates"])]
    shares = [(each, each["bytes_per_query"] / whole) for each in shown_layouts(advice)]
    page = template("advice_page.html").render(
        advice=advice,
        headline=headline(advice),
        basis=basis(advice),
        cost=cost_text(advice) if advice["cost"] else "",
        whole=whole,
        layouts=layouts,
        shares=[
            (layout_text(each), share, f"{100 * share:.1f}%", "" if each["kind"] == "today" else "other")
            for each, share in shares
        ],
    )
    return printable_lines(page)
