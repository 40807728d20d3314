"""Leave file groups whose rewrite has brought nothing, and have their table remember them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from iceberg_zorder.pyiceberg.commit.table_properties import change_properties
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.plan.plan_request import PlanRequest
from iceberg_zorder.pyiceberg.plan.planner import Plan
from iceberg_zorder.pyiceberg.plan.selection.selection import SelectedFiles
from iceberg_zorder.upkeep.left_groups import PROPERTY, WHY, WRITE, group_key, remembered, why_nothing, with_keys

_LOG = logging.getLogger(__name__)


def without_left(request: PlanRequest, plan: Plan) -> Plan:
    """Leave the file groups that the table remembers, unless they have to be rewritten."""
    known = remembered(request.table.properties)
    if not known or request.options.rewrite_all:
        return plan
    again = [group for group in plan.groups if not group.is_for_deletes and _key(request, group) in known]
    if not again:
        return plan
    kept = tuple(group for group in plan.groups if group not in again)
    left = tuple(SelectedFiles(group.key, group.tasks, WHY) for group in again)
    message = plan.message if kept else why_nothing(display_name(request.table), len(again))
    return replace(plan, groups=kept, left=(*plan.left, *left), message=message)


def remember_left(request: PlanRequest, groups: Sequence[FileGroup]) -> None:
    """Have a table remember file groups that were left; if it cannot, that is warned of."""
    if not groups:
        return
    try:
        keys = [_key(request, group) for group in groups]
        change_properties(request.table, {PROPERTY: with_keys(request.table.properties, keys)})
    except Exception as error:  # whatever it is, what was rewritten stands
        _LOG.warning("The next rewrite writes what this one left again: %s", error)


def _key(request: PlanRequest, group: FileGroup) -> str:
    way = f"{request.sort_order}, {group.max_output_file_size} bytes, spec {group.spec_id}"
    written = {name: value for name, value in request.table.properties.items() if name.startswith(WRITE)}
    paths = (task.data_file.file_path for task in group.tasks)
    return group_key(way, {**request.written_options, **written}, paths)
