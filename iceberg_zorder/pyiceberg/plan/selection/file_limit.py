"""Rewrite no more data files than are asked for at a time, and first what matters most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iceberg_zorder.pyiceberg.plan.selection.selection import Selected, SelectedFiles
from iceberg_zorder.pyiceberg.plan.selection.sizes import SizeRules
from iceberg_zorder.upkeep.limit_messages import of_cut_group, why_later, why_limited


@dataclass(frozen=True, eq=False)
class Limited:
    """What there is room for.

    Parameters
    ----------
    selected : Selected
        The same files, those past the limit left.
    is_all : bool
        Whether all files that were chosen are rewritten.
    message : str
        What is to be said of the limit should nothing be rewritten; may be empty.
    """

    selected: Selected
    is_all: bool = True
    message: str = ""


def limited(selected: Selected, rules: SizeRules, most: float) -> Limited:
    """Take no more files than option ``max-files-to-rewrite`` says.

    File groups that are due come first, then those that save most for their bytes, where that is known. Within a file
    group that is cut due files come first, so that the part is due.

    Parameters
    ----------
    selected : Selected
        What was chosen.
    rules : SizeRules
        The options, and which files are to be rewritten whatever it brings.
    most : float
        How many files there is room for besides.

    Returns
    -------
    Limited
        What is taken.
    """
    limit = rules.options.max_files_to_rewrite
    if limit is None:
        return Limited(selected)
    room, waiting = int(min(limit, most)), 0
    is_cut = False
    chosen: list[SelectedFiles] = []
    left: list[SelectedFiles] = []
    for files in _in_order(selected.chosen, rules, room):
        tasks, count = files.tasks, min(room, len(files.tasks))
        if 0 < count < len(tasks):
            is_cut = True
            tasks = tuple(sorted(tasks, key=lambda task: not rules.is_due(task)))
        if count:
            of_part = of_cut_group(count, len(tasks), limit) if count < len(tasks) else ""
            chosen.append(replace(files, tasks=tasks[:count], reason=files.reason + of_part))
        if count < len(tasks):
            left.append(replace(files, tasks=tasks[count:], reason=why_later(limit)))
        room -= count
        waiting += len(tasks) - count
    taken = replace(selected, chosen=tuple(chosen), left=(*selected.left, *left))
    return Limited(taken, not waiting, why_limited(waiting, limit, in_parts=is_cut))


def _in_order(groups: Sequence[SelectedFiles], rules: SizeRules, room: int) -> list[SelectedFiles]:
    if sum(len(files.tasks) for files in groups) <= room:
        return [*groups]
    return sorted(groups, key=lambda files: (not any(map(rules.is_due, files.tasks)), -files.worth))
