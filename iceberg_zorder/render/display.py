"""How results of each kind are shown; see :mod:`iceberg_zorder.displayed`."""

from __future__ import annotations

from iceberg_zorder.render.fragments import advice_fragment, plan_fragment, report_fragment, result_fragment
from iceberg_zorder.render.plan_text import plan_text
from iceberg_zorder.render.report_text import report_text

HTML = {"advice": advice_fragment, "plan": plan_fragment, "report": report_fragment, "result": result_fragment}
TEXT = {"plan": plan_text, "report": report_text}
