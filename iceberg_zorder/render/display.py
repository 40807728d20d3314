"""How results of each kind are shown; see :mod:`iceberg_zorder.displayed`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iceberg_zorder.render.fragments import advice_fragment, plan_fragment, report_fragment, result_fragment
from iceberg_zorder.render.plan_text import plan_text
from iceberg_zorder.render.report_text import report_text

_FRAGMENTS = {
    "advice": advice_fragment,
    "plan": plan_fragment,
    "report": report_fragment,
    "result": result_fragment,
}
_TEXTS = {"plan": plan_text, "report": report_text}


def html(kind: str, result: Mapping[str, Any]) -> str:
    """Return a result as HTML for notebooks."""
    return _FRAGMENTS[kind](result)


def text(kind: str, result: Mapping[str, Any]) -> str:
    """Return a result as text."""
    return _TEXTS[kind](result)
