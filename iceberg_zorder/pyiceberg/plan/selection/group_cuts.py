"""Cut what was chosen into file groups of no more than ``max-file-group-size-bytes``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.file_groups import size_of
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.selection.gain_selection import upkeep_request
from iceberg_zorder.pyiceberg.plan.selection.selection import Selected, SelectedFiles
from iceberg_zorder.pyiceberg.plan.selection.sizes import SizeRules
from iceberg_zorder.pyiceberg.scan.file_arrays import file_arrays
from iceberg_zorder.upkeep.group_cuts import cut_groups


def within_bound(table: Table, rules: SizeRules, order: RowOrder, selected: Selected) -> Selected:
    """Cut what was chosen; without the option a partition is one file group, whatever its size.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    rules : SizeRules
        The rules, with the option.
    order : RowOrder
        The columns to cut in; not in those of which new files get no bounds.
    selected : Selected
        What was chosen.

    Returns
    -------
    Selected
        The same files.
    """
    bound = rules.options.max_file_group_size
    if bound is None:
        return selected
    chosen = [part for files in selected.chosen for part in _parts(table, rules, order, files, bound)]
    return replace(selected, chosen=tuple(chosen))


def _parts(
    table: Table, rules: SizeRules, order: RowOrder, files: SelectedFiles, bound: int
) -> Iterator[SelectedFiles]:
    if len(files.tasks) < 2 or size_of(files.tasks) <= bound:
        yield files
        return
    # In an order that every engine finds.
    tasks = sorted(files.tasks, key=lambda task: task.data_file.file_path)
    fields = [table.schema().find_field(each) for each in order.field_ids]
    arrays = file_arrays([task.data_file for task in tasks], fields, order.named)
    request = upkeep_request(table, rules, order, 1.0)
    groups = cut_groups(arrays, bound, request.kept, request.weights)
    for number, places in enumerate(groups, 1):
        part = f"; part {number:,} of {len(groups):,}, cut for max-file-group-size-bytes {bound:,}"
        mine = tuple(tasks[place] for place in places.tolist())
        yield replace(files, tasks=mine, reason=files.reason + part)
