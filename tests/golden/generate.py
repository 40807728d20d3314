"""Write what is expected in the golden files anew: ``make golden``, a deliberate act. Tests only read them.

A golden file holds inputs, and what the Python core computes of them. It is worth something because the Java core must
compute the same. Who adds a case writes its inputs into a file by hand, or by a few lines of his own; the rest comes from here.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.golden.cases import (
    column_weights,
    cuts_from_a_workload,
    golden,
    layout,
    metrics_check,
    row_groups,
    sort_order,
)
from tests.golden.group_cuts_cases import group_cuts_cases, group_cuts_document
from tests.golden.position_box_cases import position_boxes_of
from tests.golden.report_cases import report
from tests.golden.scan_cost_cases import scan_cost_document
from tests.golden.settled_cases import settled_document
from tests.golden.upkeep_cases import upkeep_cases, upkeep_document
from tests.golden.upkeep_query_cases import queries_cases, queries_document

DIRECTORY = Path(__file__).parent
ONE_BY_ONE: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "sort_order": sort_order,
    "column_weights": column_weights,
    "sampled_row_groups": row_groups,
    "metrics_check": metrics_check,
    "queries": cuts_from_a_workload,
    "position_boxes": position_boxes_of,
}
"""What comes of each case of the files that have several."""
DRAWN: dict[str, Callable[[], Any]] = {
    "scan_cost": scan_cost_document,
    "settled": settled_document,
    "upkeep": lambda: {"cases": [upkeep_document(case) for case in upkeep_cases()]},
    "upkeep_queries": lambda: {"cases": [queries_document(case) for case in queries_cases()]},
    "group_cuts": lambda: {"cases": [group_cuts_document(*case) for case in group_cuts_cases()]},
}
"""Files whose inputs are code."""


def names(*, reports: bool = False) -> list[str]:
    """The names of the golden files that have one layout, or one report, each."""
    found = sorted({file.stem for file in DIRECTORY.glob("*.json")} - set(ONE_BY_ONE) - set(DRAWN))
    return [name for name in found if name.startswith("report_") == reports]


def renewed(name: str) -> Any:
    """A golden file as it has to be."""
    if name in DRAWN:
        # By way of JSON, which has lists for tuples.
        return json.loads(json.dumps(DRAWN[name]()))
    content = golden(name)
    if name not in ONE_BY_ONE:
        return report(content) if name.startswith("report_") else layout(content)
    if isinstance(content, dict):
        return {"cases": [ONE_BY_ONE[name](each) for each in content["cases"]]}
    return [ONE_BY_ONE[name](each) for each in content]


def main() -> None:
    """Renew every golden file."""
    for name in [*ONE_BY_ONE, *DRAWN, *names(), *names(reports=True)]:
        text = json.dumps(renewed(name), ensure_ascii=True, indent=None, separators=(",", ":"))
        (DIRECTORY / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
